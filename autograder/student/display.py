"""Shows results as text for a terminal, and as HTML for a notebook.

The HTML uses the notebook's colors, so that it is readable in light and dark themes; a sign and a
word accompany every color. All text from a student's code is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..escaping import for_html
from .check_results import CheckedQuestion, CheckedTest, Progress, Standing, failures_to_show


@dataclass(frozen=True, slots=True)
class StandingStyle:
    """The sign, color and text for a standing; `plain` is used if a stream can't show the sign."""

    sign: str
    plain: str
    colour: str
    style: str
    text: str


_BEHIND_AN_ERROR = "can't be checked until the error is fixed"
_GREEN, _ORANGE, _GREY = "#2e9e4f", "#d9480f", "#8a8f98"
LOOKS = {
    Standing.PASSED: StandingStyle("✓", "ok", _GREEN, "green", "all checks passed"),
    Standing.FIX: StandingStyle("✗", "x", _ORANGE, "red", "something to fix"),
    Standing.STALE: StandingStyle(
        "!", "!", _ORANGE, "yellow", "the cell differs from the code that was checked"
    ),
    Standing.NOT_IMPLEMENTED: StandingStyle("○", "-", _GREY, "dim", "not implemented yet"),
    Standing.MISSING: StandingStyle("○", "-", _GREY, "yellow", "not defined"),
    Standing.HIDDEN: StandingStyle("○", "-", _GREY, "yellow", _BEHIND_AN_ERROR),
    Standing.STOPPED: StandingStyle("■", "!", _ORANGE, "yellow", "stopped while it was running"),
    Standing.TOO_SLOW: StandingStyle("■", "!", _ORANGE, "red", "took too long"),
}
#: in JupyterLab and Notebook 7, a cell that was edited after it ran has a special CSS class; the
#: result below it then says so, and is not green
_IF_EDITED = (
    "<style>.jp-mod-dirty + .jp-Cell div:has(> div > .autograder-ran)"
    f"{{border-left-color:{_ORANGE} !important}}"
    ".jp-mod-dirty + .jp-Cell .autograder-ran::after{display:block;font-weight:bold;"
    "content:'! The cell above was edited after it ran: this result is for the earlier code.'}"
    "</style>"
)
_STOPPED_HINT = "Is there a loop that never ends?"
#: the standings for which a question's individual checks are shown
_SHOWN = (Standing.PASSED, Standing.FIX, Standing.STALE, Standing.TOO_SLOW)
_LABEL = "to try it:"
_PRINTED = "your code printed:"
#: the most lines to show for a failing check, and of printed text, so that one cause fits on a
#: screen
_MOST_LINES, _MOST_PRINTED = 14, 6
#: the most checks to name in one line
_MOST_NAMES = 4


def readable(name: str) -> str:
    """Returns a test's name as text: `test_rows_sum_to_one` becomes "rows sum to one"."""
    head, bracket, case = name.removeprefix("test_").partition("[")
    text = head.replace("_", " ")
    return f"{text} [{case}" if bracket else text


def headline(question: CheckedQuestion) -> str:
    """Returns one line: sign, question, standing, and the number of passing checks if some fail."""
    look = LOOKS[question.standing]
    return f"{look.sign} {question.question}: {look.text}{_count(question)}{_ran(question)}"


def _ran(question: CheckedQuestion) -> str:
    return f", as it ran in {question.ran}" if question.ran else ""


def remarks(question: CheckedQuestion) -> list[str]:
    """Returns the remarks about the question as a whole, which are shown above its checks."""
    stopped = [_STOPPED_HINT] if question.standing is Standing.STOPPED else []
    return [*stopped, *question.note.splitlines(), *question.mistake.splitlines()]


def as_text(question: CheckedQuestion, everything: bool = False) -> str:
    """Returns the result for a terminal: the first failure, and the number of other failures.

    If `everything` is true, shows all failures, and also the checks that pass.
    """
    lines = [headline(question), *(f"  {line}" for line in remarks(question))]
    failed, passed = _to_show(question)
    opened = failed if everything else failed[:1]
    for test, same in opened:
        lines.append(f"  ✗ {readable(test.name)}")
        lines += [f"      {line}" for line in body_of(test, same)]
    if left := failed[len(opened) :]:
        lines.append(f"  {_more(left)}: {_names([test.name for test, _ in left])}")
    if everything or not failed:
        lines += [f"  ✓ {readable(name)}" for name in passed]
    if question.printed:
        lines += [f"  {_PRINTED}", *(f"      {line}" for line in _printed(question))]
    return "\n".join(lines)


def body_of(test: CheckedTest, same: Sequence[str]) -> list[str]:
    """Returns the lines below a failing check's name: message, call, and similar failures."""
    lines = _cut(test.message.splitlines(), _MOST_LINES)
    if test.call:
        first, *rest = test.call.splitlines()
        lines += [f"{_LABEL} {first}", *(" " * (len(_LABEL) + 1) + line for line in rest)]
    if same:
        lines.append(_same(same))
    return lines


def _printed(question: CheckedQuestion) -> list[str]:
    lines = question.printed.splitlines()
    is_cut = len(lines) > _MOST_PRINTED and lines[-1] == "..."
    return [*lines[: _MOST_PRINTED - 1], "..."] if is_cut else _cut(lines, _MOST_PRINTED)


def _cut(lines: list[str], most: int) -> list[str]:
    """Cuts lines from the middle if there are too many.

    Keeps the last line, because it says what to do.
    """
    return lines if len(lines) <= most else [*lines[: most - 2], "...", lines[-1]]


def _more(left: Sequence[object]) -> str:
    return f"and {len(left)} more to fix after this one"


def _same(names: Sequence[str]) -> str:
    checks = "check" if len(names) == 1 else "checks"
    return f"the same in {len(names)} more {checks}: {_names(names)}"


def _names(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST_NAMES} more"] * (len(names) > _MOST_NAMES)
    return ", ".join([*map(readable, names[:_MOST_NAMES]), *more])


def as_html(question: CheckedQuestion, below: Sequence[str] = ()) -> str:
    """Returns the question's result as HTML for a notebook; `below` is HTML that is appended."""
    look = LOOKS[question.standing]
    parts = [
        f"<div><b>{look.sign} <code>{for_html(question.question)}</code></b> "
        f'{for_html(look.text + _count(question))}<span class="autograder-ran">'
        f"{for_html(_ran(question))}</span></div>",
        _IF_EDITED,
    ]
    parts += [f"<div>{for_html(line)}</div>" for line in remarks(question)]
    failed, passed = _to_show(question)
    parts += [_test_html(test, same) for test, same in failed[:1]]
    if left := failed[1:]:
        parts.append(unfolding(_more(left), [_test_html(test, same) for test, same in left]))
    lines = [_line_html("✓", _GREEN, name) for name in passed]
    is_short = not failed or not lines
    parts += lines if is_short else [unfolding(_count_passed(passed), lines)]
    if question.printed:
        opened = "" if question.standing is Standing.PASSED else " open"
        printed = "\n".join(_printed(question))
        parts.append(f"<details{opened}>{_summary(_PRINTED)}{preformatted(printed)}</details>")
    return box(look.colour, [*parts, *below])


def folded(summary: str, text: str) -> str:
    """Returns HTML that shows `text` when a reader clicks the summary."""
    return unfolding(summary, [for_html(text)])


def unfolding(summary: str, parts: Sequence[str]) -> str:
    """Returns HTML that shows `parts`, which are also HTML, when a reader clicks the summary."""
    return (
        f"<details>{_summary(summary)}"
        f'<div style="margin:.3em 0 .3em 1.2em">{"".join(parts)}</div></details>'
    )


def _summary(text: str) -> str:
    """Returns the line that shows or hides what follows, tall enough to tap on a phone."""
    return f'<summary style="padding:.35em 0;cursor:pointer">{for_html(text)}</summary>'


def notice(sign: str, text: str) -> NotebookOutput:
    """Returns a remark that does not concern a particular question; `sign` determines the color."""
    lines = "<br>".join(map(for_html, text.splitlines()))
    colour = {"✓": _GREEN, "○": _GREY}.get(sign, _ORANGE)
    return NotebookOutput(f"{sign} {text}", box(colour, [f"<div>{sign} {lines}</div>"]))


class NotebookOutput:
    """A value that a notebook displays as HTML if possible, otherwise as text."""

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


def _count_passed(passed: Sequence[str]) -> str:
    return f"{len(passed)} {'check passes' if len(passed) == 1 else 'checks pass'}"


def _to_show(
    question: CheckedQuestion,
) -> tuple[list[tuple[CheckedTest, tuple[str, ...]]], list[str]]:
    """Returns the failures, in the order in which to show them, and the names of passed checks."""
    if question.standing not in _SHOWN:
        return [], []
    passed = [test.name for test in question.tests if test.passed]
    return grouped(failures_to_show(question.tests)), passed


def _line_html(sign: str, colour: str, name: str, body: str = "") -> str:
    line = f'<span style="color:{colour}">{sign}</span> {for_html(readable(name))}'
    return f'<div style="margin-top:.35em">{line}{body}</div>'


def _test_html(test: CheckedTest, same: Sequence[str]) -> str:
    body = preformatted(test.message) if test.message else ""
    if test.call:
        body += f'<div style="margin-left:1.2em">{_LABEL}</div>{preformatted(test.call)}'
    if same:
        body += f'<div style="margin-left:1.2em">{for_html(_same(same))}</div>'
    return _line_html("✗", _ORANGE, test.name, body)


def preformatted(text: str) -> str:
    """Returns text as HTML that keeps line breaks and spaces, and wraps long lines."""
    return (
        '<pre style="margin:.2em 0 .2em 1.2em;padding:.4em .6em;white-space:pre-wrap;'
        "word-break:normal;overflow-wrap:anywhere;color:inherit;background:rgba(128,128,128,.12);"
        f'border-radius:4px;font-size:.93em;line-height:1.4">{for_html(text)}</pre>'
    )


def box(colour: str, parts: Sequence[str]) -> str:
    """Returns HTML with a colored bar on the left."""
    return (
        f'<div style="border-left:4px solid {colour};padding:.35em .2em .35em .8em;'
        f"margin:.2em 0;max-width:52em;line-height:1.45;overflow-wrap:anywhere"
        f'">{"".join(parts)}</div>'
    )


def grouped(tests: Sequence[CheckedTest]) -> list[tuple[CheckedTest, tuple[str, ...]]]:
    """Returns the tests to show, each with the names of later tests that have the same cause."""
    names: dict[str, list[str]] = {}
    first: list[CheckedTest] = []
    for test in tests:
        if test.cause and test.cause in names:
            names[test.cause].append(test.name)
            continue
        first.append(test)
        if test.cause:
            names[test.cause] = []
    return [(test, tuple(names.get(test.cause, ()))) for test in first]


#: what to tell students about the parts of grading that public checks don't cover
BEYOND = (
    "Grading also tries what these checks do not: other sizes, batches, other number types, "
    "gradients. The docstring of each question says what is required."
)


def what_to_submit(progress: Progress) -> tuple[str, ...]:
    """Returns lines that say what to submit, or () unless all questions pass."""
    if progress.next is not None or not progress.exercises:
        return ()
    files = [item.file for item in progress.exercises if item.file]
    notebooks = [name for name in files if name.endswith(".ipynb")]
    lines = [f"All questions of {progress.title} pass their public checks. Well done!"]
    if notebooks:
        lines.append(
            "Before you submit: save each notebook, then Kernel > Restart Kernel and Run All Cells."
        )
    when = f" (due {progress.due})" if progress.due else ""
    lines.append(f"Submit these files{when}: {', '.join(files)}")
    lines.append(
        "How to submit depends on your course: upload them where it collects work, commit and push "
        "them to GitHub or GitLab, or press Submit in JupyterHub's assignment list."
    )
    return (*lines, BEYOND)
