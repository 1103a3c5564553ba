"""Implements `autograder watch`: shows a question to fix, and reads the keys that are pressed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from .showing import Screen, listed

if TYPE_CHECKING:
    from ..student import CheckedExercise, CheckedQuestion, Standing


import os
import time
from typing import Any

#: the seconds between two looks at the files, so that the results of a save appear within 0.3 s
PAUSE = 0.05
KEYS = "h hint   n next   l list   q quit"


class _Quit(Exception):
    pass


class Watch:
    """The state of a session of `autograder watch`: the results, and the question that is shown."""

    def __init__(self, screen: Screen, folder: Path, exercises: tuple[str, ...]) -> None:
        self._screen, self._folder, self._exercises = screen, folder, exercises
        self._results: dict[str, CheckedExercise] = {}
        # remembered here, because `sys.stdout` is replaced during checks to catch an answer's
        # output
        self._terminal = sys.stdout if screen.console.is_terminal and not screen.is_plain else None
        self._width = min(screen.console.width - 1, 79)
        self._focus: str | None = None
        self._passed: set[str] = set()

    def run(self) -> None:
        """Checks all files, then each file that is saved, until the user presses q or Ctrl-C."""
        from ..student import saved_exercises

        try:
            with KeyReader() as keys:
                self._check(self._exercises)
                self._passed = self._passing()
                self._show()
                pause = lambda: self._press(keys.read(PAUSE))  # noqa: E731 - one line
                for saved in saved_exercises(self._folder, tuple(self._results), pause):
                    before = self._standings()
                    self._check(saved)
                    self._follow(before)
                    self._show()
        except (_Quit, KeyboardInterrupt):
            self._screen.say("")

    def _check(self, exercises: tuple[str, ...]) -> None:
        from ..student import check_folder

        for result in check_folder(self._folder, exercises, self._running):
            self._results[result.exercise] = result

    def _running(self, question: str) -> None:
        from ..student.time_limit import SECONDS

        if self._terminal is not None:
            text = f"running {question} ... (at most {SECONDS:g} s per check)"
            self._terminal.write(f"{text:{self._width}.{self._width}}\r")
            self._terminal.flush()

    def _press(self, key: str) -> None:
        actions = {"h": self._hint, "n": self._next, "l": self._list, "q": self._quit}
        if key in actions:
            actions[key]()

    def _hint(self) -> None:
        from ..student import next_hint

        question = self._shown()
        if question is None:
            return
        try:
            found = next_hint(self._folder, question.question)
        except UserError as error:
            self._screen.say(str(error))
            return
        text = f"hint {found.number} of {found.of}: {found.text}" if found.text else found.why
        self._screen.prose(f"{question.question}, {text}")

    def _next(self) -> None:
        names = [item.question for item in self._open()]
        if names:
            shown = self._shown()
            at = names.index(shown.question) if shown is not None else -1
            self._focus = names[(at + 1) % len(names)]
        self._show()

    def _list(self) -> None:
        from ..student import headline

        for exercise, item in listed(list(self._results.values())):
            self._screen.say(f"{headline(item)}  [{exercise}]")

    def _quit(self) -> None:
        raise _Quit

    def _open(self) -> list[CheckedQuestion]:
        """Returns the questions that do not pass: failing ones first, then those not started."""
        items = [item for _, item in listed(list(self._results.values()))]
        left = [item for item in items if item.standing.value != "passed"]
        return sorted(left, key=lambda item: item.standing.value in ("not_implemented", "missing"))

    def _shown(self) -> CheckedQuestion | None:
        left = self._open()
        return next((item for item in left if item.question == self._focus), next(iter(left), None))

    def _show(self) -> None:
        screen = self._screen
        if not screen.is_plain:
            screen.console.clear()
        questions = listed(list(self._results.values()))
        passed = self._passing()
        self._report_passed(passed)
        for result in self._results.values():
            if result.problem:
                screen.prose(f"{result.exercise}: {result.problem}", "red")
        shown = self._shown()
        if shown is not None:
            screen.question(shown)
            rest = [item.question for item in self._open() if item is not shown]
            screen.prose(f"then: {', '.join(rest)}" if rest else "the last one", "dim")
        bar = screen.bar(len(passed), len(questions))
        screen.say(f"{bar}{len(passed)} of {len(questions)} questions pass their public checks")
        screen.prose(f"Save a file to check it again.   {KEYS}", "dim")

    def _standings(self) -> dict[str, Standing]:
        questions = listed(list(self._results.values()))
        return {item.question: item.standing for _, item in questions}

    def _follow(self, before: dict[str, Standing]) -> None:
        """Selects a question whose outcome has changed, even if the user has selected another."""
        changed = [item for item in self._open() if before.get(item.question) != item.standing]
        if changed:
            self._focus = changed[0].question

    def _passing(self) -> set[str]:
        questions = listed(list(self._results.values()))
        return {item.question for _, item in questions if item.standing.value == "passed"}

    def _report_passed(self, passed: set[str]) -> None:
        """Reports the questions that have passed since the last call, and completed exercises."""
        from ..student import afterwards, status, what_to_submit

        new, self._passed = passed - self._passed, passed
        for result in self._results.values():
            for question in (item.question for item in result.questions):
                if question in new:
                    self._screen.say(f"✓ {question}: all checks passed", "green")
                    self._screen.prose(afterwards(self._folder, question), "dim", 2)
            if result.finished and any(item.question in new for item in result.questions):
                self._screen.say(f"{result.exercise} is done.", "green")
        if new and all(result.finished for result in self._results.values()):
            for line in what_to_submit(status(self._folder)):
                self._screen.prose(line, "green")


class KeyReader:
    """Reads keys as they are pressed; if the input is not a terminal, only waits."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._before: Any = None

    def __enter__(self) -> KeyReader:
        if self._is_terminal and os.name != "nt":
            import termios  # does not exist on Windows
            import tty

            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def read(self, seconds: float) -> str:
        """Returns the key pressed within `seconds`, in lower case, or "" if no key is pressed."""
        if not self._is_terminal:
            time.sleep(seconds)
            return ""
        return (_windows_key(seconds) if os.name == "nt" else _unix_key(seconds)).lower()


def _unix_key(seconds: float) -> str:
    import select

    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") if ready else ""


def _windows_key(seconds: float) -> str:
    import importlib

    console = importlib.import_module("msvcrt")  # exists only on Windows
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if console.kbhit():
            return str(console.getwch())
        time.sleep(0.01)
    return ""
