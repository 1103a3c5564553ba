"""Shows a student's results in a terminal; uses colors and symbols only if it can show them."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ..counts import number_of
from ..escaping import visible

if TYPE_CHECKING:
    from ..student import CheckedExercise, CheckedQuestion, Progress

_BAR = 20
#: the number of minutes in each unit of time
_AGES = ((24 * 60, "days"), (60, "hours"), (1, "minutes"))
_NARROW = 60
#: the smallest width of wrapped sentences, however narrow a terminal claims to be
_LETTERS = 20
#: lines with at most this indentation describe a question or a check; deeper ones contain its
#: output
_ABOUT_A_CHECK = 2
#: a failing check's lines that begin with one of these are sentences, and may be wrapped
_SENTENCES = ("likely: ", "next step: ", "remember: ", "the same in ")


class Screen:
    """Writes results; if `is_plain` is true, uses only plain text, for screen readers."""

    def __init__(self, console: Console, is_plain: bool = False) -> None:
        self.console = console
        self.is_plain = is_plain
        # NO_COLOR is mostly set for logs, in which codes for bold and dim text would show, too
        self._is_styled = not is_plain and not console.no_color
        self._shows_signs = not is_plain and _can_show("✓✗○■★☆", console)

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        """Writes lines, escaped so that text from a student's file can't control the terminal."""
        for line in text.split("\n"):
            safe = " " * indent + visible(self._signs(line).rstrip())
            shown = Text(safe, style=style if self._is_styled else "")
            self.console.print(shown, soft_wrap=True, highlight=False)

    def prose(self, text: str, style: str = "", indent: int = 0) -> None:
        """Writes sentences; in a terminal, wraps long lines between words."""
        width = max(self.console.width - indent, _LETTERS)
        for line in text.split("\n"):
            fits = not self.console.is_terminal or len(line) <= width
            self.say(line if fits else textwrap.fill(line, width), style, indent)

    def exercise(self, result: CheckedExercise, everything: bool = False) -> None:
        """Writes one exercise: its file, any problem with the file, and its questions."""
        file = f" ({result.file}{_saved(result.saved)})" if result.file else ""
        self.say(f"{result.exercise}{file}", "bold")
        if result.problem:
            self.prose(result.problem, "red", 2)
        if result.note:
            self.prose(result.note, "dim", 2)
        if result.printed and not result.finished:
            self.say(f"{result.file} printed:", "dim", 2)
            self.say(result.printed.rstrip(), indent=6)
        for question in result.questions:
            self.question(question, everything)

    def question(self, result: CheckedQuestion, everything: bool = False) -> None:
        """Writes one question, its failing checks, and the command that shows a hint."""
        from ..student import LOOKS, as_text

        head, *rest = as_text(result, everything).split("\n")
        self.prose(head, LOOKS[result.standing].style, 2)
        for line in rest:
            text = line.strip()
            indent = len(line) - len(line.lstrip())
            style = {"✗": "red", "✓": "green"}.get(text[:1], "")
            if indent <= _ABOUT_A_CHECK or text.startswith(_SENTENCES):
                self.prose(text, style, 2 + indent)
            else:
                self.say(line, style, 2)
        if result.standing.value in ("fix", "too_slow"):
            self.say(f"stuck? autograder hint {result.question}", "dim", 4)

    def bar(self, passed: int, total: int) -> str:
        """Returns a progress bar as text, or an empty string for screen readers."""
        if self.is_plain:
            return ""
        full = round(_BAR * passed / total) if total else 0
        return f"[{'#' * full}{'.' * (_BAR - full)}] "

    def progress(self, progress: Progress) -> None:
        """Writes all exercises with their points, and then the next step or what to submit."""
        from ..student import what_to_submit

        due = f"  due {progress.due}" if progress.due else ""
        self.say(progress.title + due, "bold")
        narrow = self.console.width < _NARROW
        for item in progress.exercises:
            name = f"  {item.exercise}" if narrow else f"  {item.exercise:28}"
            bar = "" if narrow else self.bar(item.passed, len(item.questions))
            self.say(f"{name} {bar}{item.passed} of {len(item.questions)}{_points(progress, item)}")
        passes = f"{progress.passed} of {progress.questions} questions pass their public checks"
        got = [progress.worth(item) for item in progress.exercises]
        total = f"{sum(a for _, a in got):g}"
        reach = f", for up to {sum(g for g, _ in got):g} of {number_of(total, 'point')}"
        self.prose(passes + reach * bool(progress.points))
        if progress.next:
            name = progress.next.exercise
            self.prose(f"next: autograder check {name} (stuck? autograder hint {name})")
        for line in what_to_submit(progress):
            self.prose(line, "green")

    def _signs(self, line: str) -> str:
        from ..student import LOOKS, SIGNS

        if self._shows_signs:
            return line
        for sign, plain in [*((look.sign, look.plain) for look in LOOKS.values()), *SIGNS.items()]:
            line = line.replace(sign, plain)
        return line


def listed(results: Sequence[CheckedExercise]) -> list[tuple[str, CheckedQuestion]]:
    """Returns every question with its exercise, in teaching order."""
    return [(result.exercise, item) for result in results for item in result.questions]


def _points(progress: Progress, item: CheckedExercise) -> str:
    if not progress.points:
        return ""
    got, of = progress.worth(item)
    return f", {got:g} of {number_of(f'{of:g}', 'point')}"


def _can_show(signs: str, console: Console) -> bool:
    try:
        signs.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _saved(at: float | None) -> str:
    """Says how long ago a notebook was saved, because edits since then have not been checked."""
    if at is None:
        return ""
    minutes = int((time.time() - at) / 60)
    for size, unit in _AGES:
        if minutes >= 2 * size:
            return f", saved {minutes // size} {unit} ago"
    return ", just saved"
