"""How results look: as text for a terminal, and as HTML for a notebook.

The HTML takes its colours from the notebook around it, so it reads in light and dark themes; a sign
and a word stand beside every colour. All text from a student's code is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .results import CheckedQuestion, CheckedTest, Standing


@dataclass(frozen=True, slots=True)
class _Look:
    sign: str
    colour: str
    words: str


_LOOKS = {
    Standing.PASSED: _Look("✓", "#2e9e4f", "all checks passed"),
    Standing.MEND: _Look("✗", "#d9480f", "something to mend"),
    Standing.NOT_IMPLEMENTED: _Look("○", "#8a8f98", "not implemented yet"),
    Standing.MISSING: _Look("○", "#8a8f98", "not defined yet: run the cell that defines it first"),
    Standing.STOPPED: _Look("■", "#d9480f", "stopped while it was running"),
}
_STOPPED_HINT = "Is there a loop that never ends?"


def readable(name: str) -> str:
    """A test's name as words: `test_rows_sum_to_one` is "rows sum to one"."""
    head, bracket, case = name.removeprefix("test_").partition("[")
    words = head.replace("_", " ")
    return f"{words} [{case}" if bracket else words


def headline(question: CheckedQuestion) -> str:
    """One line: sign, question, standing, and how many checks pass where some do not."""
    look = _LOOKS[question.standing]
    return f"{look.sign} {question.question}: {look.words}{_count(question)}"


def as_text(question: CheckedQuestion) -> str:
    """The question's result for a terminal."""
    lines = [headline(question)]
    if question.standing is Standing.STOPPED:
        lines.append(f"  {_STOPPED_HINT}")
    for test in _to_show(question):
        lines.append(f"  {'✓' if test.passed else '✗'} {readable(test.name)}")
        lines += [f"      {line}" for line in test.message.splitlines()]
    if question.printed:
        lines += ["  your code printed:", *(f"      {s}" for s in question.printed.splitlines())]
    return "\n".join(lines)


def as_html(question: CheckedQuestion) -> str:
    """The question's result for a notebook."""
    look = _LOOKS[question.standing]
    parts = [
        f"<div><b>{look.sign} <code>{escape(question.question)}</code></b> "
        f"{escape(look.words + _count(question))}</div>"
    ]
    if question.standing is Standing.STOPPED:
        parts.append(f"<div>{_STOPPED_HINT}</div>")
    parts += [_test_html(test) for test in _to_show(question)]
    if question.printed:
        parts.append(
            "<details><summary>your code printed</summary>"
            f"{_preformatted(question.printed)}</details>"
        )
    return _box(look.colour, parts)


def notice(sign: str, text: str) -> Shown:
    """A remark that belongs to no question."""
    return Shown(f"{sign} {text}", _box("#d9480f", [f"<div>{sign} {escape(text)}</div>"]))


class Shown:
    """What a notebook displays: HTML where it can, text elsewhere."""

    def __init__(self, text: str, html: str) -> None:
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def shown(question: CheckedQuestion) -> Shown:
    """The question's result, ready to display."""
    return Shown(as_text(question), as_html(question))


def _count(question: CheckedQuestion) -> str:
    if question.standing is not Standing.MEND:
        return ""
    passed = sum(test.passed for test in question.tests)
    return f" ({passed} of {len(question.tests)} checks passed)"


def _to_show(question: CheckedQuestion) -> Sequence[CheckedTest]:
    """The checks that say something: those to mend first; none for a stub."""
    if question.standing in (Standing.NOT_IMPLEMENTED, Standing.MISSING, Standing.STOPPED):
        return ()
    return sorted(question.tests, key=lambda test: test.passed)


def _test_html(test: CheckedTest) -> str:
    sign, colour = ("✓", "#2e9e4f") if test.passed else ("✗", "#d9480f")
    line = f'<span style="color:{colour}">{sign}</span> {escape(readable(test.name))}'
    body = _preformatted(test.message) if test.message else ""
    return f'<div style="margin-top:.35em">{line}{body}</div>'


def _preformatted(text: str) -> str:
    return (
        '<pre style="margin:.2em 0 .2em 1.2em;padding:.4em .6em;white-space:pre-wrap;'
        "word-break:normal;overflow-wrap:anywhere;color:inherit;background:rgba(128,128,128,.12);"
        f'border-radius:4px;font-size:.93em;line-height:1.4">{escape(text)}</pre>'
    )


def _box(colour: str, parts: Sequence[str]) -> str:
    return (
        f'<div style="border-left:4px solid {colour};padding:.35em .2em .35em .8em;'
        f'margin:.2em 0;max-width:52em;line-height:1.45">{"".join(parts)}</div>'
    )
