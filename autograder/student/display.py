"""How results look: as text for a terminal, and as HTML for a notebook.

The HTML takes its colours from the notebook around it, so it reads in light and dark themes; a sign
and a word stand next to every colour. All text from a student's code is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..escaping import for_html
from .grouping import grouped
from .results import CheckedQuestion, CheckedTest, Standing


@dataclass(frozen=True, slots=True)
class Look:
    """Sign, colour and text of a standing; `plain` is the sign where a stream can't show it."""

    sign: str
    plain: str
    colour: str
    style: str
    text: str


_BEHIND_AN_ERROR = "can't be checked before the error is fixed"
_GREEN, _ORANGE, _GREY = "#2e9e4f", "#d9480f", "#8a8f98"
LOOKS = {
    Standing.PASSED: Look("✓", "ok", _GREEN, "green", "all checks passed"),
    Standing.FIX: Look("✗", "x", _ORANGE, "red", "something to fix"),
    Standing.STALE: Look("!", "!", _ORANGE, "yellow", "what was checked is not what the cell says"),
    Standing.NOT_IMPLEMENTED: Look("○", "-", _GREY, "dim", "not implemented yet"),
    Standing.MISSING: Look("○", "-", _GREY, "yellow", "not defined"),
    Standing.HIDDEN: Look("○", "-", _GREY, "yellow", _BEHIND_AN_ERROR),
    Standing.STOPPED: Look("■", "!", _ORANGE, "yellow", "stopped while it was running"),
    Standing.TOO_SLOW: Look("■", "!", _ORANGE, "red", "took too long"),
}
_STOPPED_HINT = "Is there a loop that never ends?"
#: without one of these there is nothing to show of single checks
_SHOWN = (Standing.PASSED, Standing.FIX, Standing.STALE, Standing.TOO_SLOW)
_LABEL = "to try it:"
_PRINTED = "your code printed:"


def readable(name: str) -> str:
    """A test's name as text: `test_rows_sum_to_one` is "rows sum to one"."""
    head, bracket, case = name.removeprefix("test_").partition("[")
    text = head.replace("_", " ")
    return f"{text} [{case}" if bracket else text


def headline(question: CheckedQuestion) -> str:
    """One line: sign, question, standing, and how many checks pass where some do not."""
    look = LOOKS[question.standing]
    return f"{look.sign} {question.question}: {look.text}{_count(question)}"


def remarks(question: CheckedQuestion) -> list[str]:
    """What is to be said of the question itself, above its checks."""
    stopped = [_STOPPED_HINT] if question.standing is Standing.STOPPED else []
    return [*stopped, *question.note.splitlines(), *question.mistake.splitlines()]


def as_text(question: CheckedQuestion, only_first: bool = False) -> str:
    """The question's result for a terminal; `only_first` leaves out all failures but one."""
    lines = [headline(question), *(f"  {line}" for line in remarks(question))]
    failed = 0
    for test, same in _to_show(question):
        failed += not test.passed
        if only_first and (test.passed or failed > 1):
            continue
        lines.append(f"  {'✓' if test.passed else '✗'} {readable(test.name)}")
        lines += [f"      {line}" for line in body_of(test, same)]
    if only_first and failed > 1:
        lines.append(f"  and {failed - 1} more to fix after this one")
    if question.printed:
        lines += [f"  {_PRINTED}", *(f"      {s}" for s in question.printed.splitlines())]
    return "\n".join(lines)


def body_of(test: CheckedTest, same: Sequence[str]) -> list[str]:
    """The lines below a failing check: what differs, the call to try, where else it is the same."""
    lines = test.message.splitlines()
    if test.call:
        first, *rest = test.call.splitlines()
        lines += [f"{_LABEL} {first}", *(" " * (len(_LABEL) + 1) + line for line in rest)]
    if same:
        lines.append(f"the same in {len(same)} more: {', '.join(map(readable, same))}")
    return lines


def as_html(question: CheckedQuestion, below: Sequence[str] = ()) -> str:
    """The question's result for a notebook; `below` is HTML that ends it."""
    look = LOOKS[question.standing]
    parts = [
        f"<div><b>{look.sign} <code>{for_html(question.question)}</code></b> "
        f"{for_html(look.text + _count(question))}</div>"
    ]
    parts += [f"<div>{for_html(line)}</div>" for line in remarks(question)]
    parts += [_test_html(test, same) for test, same in _to_show(question)]
    if question.printed:
        opened = "" if question.standing is Standing.PASSED else " open"
        parts.append(
            f"<details{opened}><summary>{_PRINTED}</summary>"
            f"{preformatted(question.printed)}</details>"
        )
    return box(look.colour, [*parts, *below])


def folded(summary: str, text: str) -> str:
    """HTML that shows its text after a click."""
    return (
        f'<details style="margin-top:.35em"><summary>{for_html(summary)}</summary>'
        f'<div style="margin:.3em 0 .3em 1.2em">{for_html(text)}</div></details>'
    )


def notice(sign: str, text: str) -> Shown:
    """A remark that belongs to no question; its sign says whether something is to be done."""
    lines = "<br>".join(map(for_html, text.splitlines()))
    colour = {"✓": _GREEN, "○": _GREY}.get(sign, _ORANGE)
    return Shown(f"{sign} {text}", box(colour, [f"<div>{sign} {lines}</div>"]))


class Shown:
    """What a notebook displays: HTML where it can, text elsewhere."""

    def __init__(self, text: str, html: str) -> None:
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def _count(question: CheckedQuestion) -> str:
    if question.standing is not Standing.FIX:
        return ""
    passed = sum(test.passed for test in question.tests)
    return f" ({passed} of {len(question.tests)} checks passed)"


def _to_show(question: CheckedQuestion) -> Sequence[tuple[CheckedTest, tuple[str, ...]]]:
    """The checks that say something: those to fix first; none for a stub."""
    if question.standing not in _SHOWN:
        return ()
    return grouped(sorted(question.tests, key=lambda test: test.passed))


def _test_html(test: CheckedTest, same: Sequence[str]) -> str:
    sign, colour = ("✓", _GREEN) if test.passed else ("✗", _ORANGE)
    line = f'<span style="color:{colour}">{sign}</span> {for_html(readable(test.name))}'
    body = preformatted(test.message) if test.message else ""
    if test.call:
        body += f'<div style="margin-left:1.2em">{_LABEL}</div>{preformatted(test.call)}'
    if same:
        others = for_html(", ".join(map(readable, same)))
        body += f'<div style="margin-left:1.2em">the same in {len(same)} more: {others}</div>'
    return f'<div style="margin-top:.35em">{line}{body}</div>'


def preformatted(text: str) -> str:
    """HTML of text whose lines and spaces count; long lines wrap."""
    return (
        '<pre style="margin:.2em 0 .2em 1.2em;padding:.4em .6em;white-space:pre-wrap;'
        "word-break:normal;overflow-wrap:anywhere;color:inherit;background:rgba(128,128,128,.12);"
        f'border-radius:4px;font-size:.93em;line-height:1.4">{for_html(text)}</pre>'
    )


def box(colour: str, parts: Sequence[str]) -> str:
    """HTML with a coloured bar at its left."""
    return (
        f'<div style="border-left:4px solid {colour};padding:.35em .2em .35em .8em;'
        f'margin:.2em 0;max-width:52em;line-height:1.45">{"".join(parts)}</div>'
    )
