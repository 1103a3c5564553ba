"""Provides `check`, `hint`, `retry` and `trace` for the answers in a notebook."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ..course.manifest import MANIFEST, Manifest, read_afterwards, read_manifest, read_ways
from ..course.points import points_of
from ..errors import AutograderError, SubmissionError, UserError
from ..escaping import for_html
from ..submission.near_names import closest
from ..suite import LocalImplementation
from ..suite.names import definitions_reached
from .answers import answer_of, unfinished
from .assignment_folder import assignment_folder
from .check_results import CheckedQuestion, Standing, with_graded
from .display import NotebookOutput, as_html, as_text, folded, notice, preformatted, unfolding
from .explaining import AnswerContext
from .hints import next_hint
from .last_call import NO_CALL, RecordedCall, again
from .misnamed import may_be_missing, other_name, start_with, wrong_import
from .missing_names import explain_missing_names
from .runner import run_checks, step_to_trace
from .stale import EDITED, given, run_of, stale, stub_again, unsaved
from .stars import star_line
from .tracing import traced

#: the environment variable that nbgrader sets to "autograde" or "validate" when it runs a notebook
_NBGRADER = "NBGRADER_EXECUTION"
_RUN_FIRST = "run the cell that defines it first"
_FAILED_FIRST = "the last run of this cell failed: its error says what to fix"
_STUCK = (Standing.FIX, Standing.TOO_SLOW)
_COMPARE = "compare with the reference solution"
#: this package's folder; students should not see its lines in tracebacks
_PACKAGE = Path(__file__).resolve().parents[1]
_WAYS = "other ways to write it, and what they cost"
#: a result of `retry` with more lines is shortened below its cell, to so many at each end
_MOST_LINES, _AT_EACH_END = 40, 10

explain_missing_names()


def check(question: object = "", rule: str = "") -> None:
    """Runs the public checks of one question on the answer defined in this notebook.

    The question is given by name (`"query_scores"`), or as the function or class itself. Shows
    which checks pass, and how to fix those that fail. `rule` is the constraint of a second star, an
    ungraded challenge: "one line", "no loop" or "no @". A mistake in the answer raises an error
    only if nbgrader runs the notebook, because nbgrader ignores what is displayed but counts
    errors.
    """
    namespace = sys._getframe(1).f_globals
    mode = os.environ.get(_NBGRADER)
    if mode == "autograde":
        raise UserError("public checks give no points: grade with `autograder grade`")
    name = _name_of(question)
    try:
        folder = _here(name)
        result = check_namespace(name, namespace, folder)
        below = _below(result, namespace, folder, rule)
    except AutograderError as error:
        if mode:
            raise
        _show(notice("✗", str(error)))
        return
    if mode and result.standing is not Standing.PASSED:
        raise AssertionError(as_text(result, everything=True))
    text, html = below
    _show(NotebookOutput(result_text(result) + text, as_html(result, html)))


def hint(question: object, *, again: bool = False) -> None:
    """Shows the next hint for a question, as `autograder hint` does.

    With `again`, starts with the first hint. A file in the folder records which hints have been
    shown.
    """
    name = _name_of(question)
    try:
        found = next_hint(_here(name), name, again=again)
    except AutograderError as error:
        _show(notice("✗", str(error)))
        return
    if not found.text:
        start = f'\nfrom the start: hint("{name}", again=True)' * bool(found.of)
        _show(notice("○", f"{found.question or found.exercise}: {found.why}{start}"))
        return
    more = (
        "Try this hint first; the same call shows the next one." if found.number < found.of else ""
    )
    head = f"{found.question}: hint {found.number} of {found.of}"
    _show(notice("?", "\n".join([head, found.text, *[more] * bool(more)])))


def trace(question: object) -> None:
    """Shows the shapes in each line of your function, for the call that makes its check fail.

    Marks the first line whose shape differs from the shape in the docstring or in your comment.
    """
    name = _name_of(question)
    try:
        step, around = _failing(name, sys._getframe(1).f_globals)
        text = traced(step, around.namespace, around.locate) if step is not None else NO_CALL
    except AutograderError as error:
        _show(notice("✗", str(error)))
        return
    _show(NotebookOutput(text, preformatted(text)))


def retry(question: object) -> Any:
    """Repeats the call that makes a check fail, with the same numbers and weights.

    Returns what your answer returns, and raises what your answer raises; you can also use
    `breakpoint()`. If a long result is displayed below the cell, lines in the middle are left out.
    """
    __tracebackhide__ = True  # IPython leaves this function out of tracebacks
    name, namespace = _name_of(question), sys._getframe(1).f_globals
    try:
        step, _ = _failing(name, namespace)
        if step is None:
            raise UserError(NO_CALL)
        value = again(step)
    except AutograderError as error:
        _show(notice("✗", str(error)))
        return None
    except Exception as error:
        raise error.with_traceback(_from_answer(error.__traceback__, namespace)) from None
    _shorten_below_this_cell(value, name)
    return value


def _shorten_below_this_cell(value: Any, question: str) -> None:
    """Leaves out lines in the middle if the running cell displays a long value.

    The value is not changed, and `print` and later cells show all of it.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:  # no notebook displays the value
        return
    formatter = shell.display_formatter.formatters["text/plain"]
    lines = str(formatter(value)).splitlines()
    if len(lines) <= _MOST_LINES:
        return
    more = f'... {len(lines) - 2 * _AT_EACH_END} more lines: print(retry("{question}")) shows them'
    text = "\n".join([*lines[:_AT_EACH_END], more, *lines[-_AT_EACH_END:]])
    printers = formatter.singleton_printers
    printers[id(value)] = lambda value, printer, cycle: printer.text(text)

    def restore(_: object) -> None:
        printers.pop(id(value), None)
        shell.events.unregister("post_run_cell", restore)

    shell.events.register("post_run_cell", restore)


def _from_answer(
    traceback: TracebackType | None, namespace: Mapping[str, Any]
) -> TracebackType | None:
    """Shortens a traceback to the student's own lines and the library code that they call.

    Drops all frames above the student's lines. Also drops the frames below these lines if they
    include this package's frames, which are there because the package watches an answer's
    operations. If no frame belongs to the student, drops only this package's frames at both ends.
    """
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    places = [frame for frame in frames if not _is_of_package(frame)]
    if not places:
        return frames[0] if frames else None
    own = [frame for frame in places if frame.tb_frame.f_globals is namespace] or places
    if any(map(_is_of_package, frames[frames.index(own[-1]) :])):
        own[-1].tb_next = None
    return own[0]


def _is_of_package(traceback: TracebackType) -> bool:
    return Path(traceback.tb_frame.f_code.co_filename).is_relative_to(_PACKAGE)


def _failing(name: str, namespace: Mapping[str, Any]) -> tuple[RecordedCall | None, AnswerContext]:
    """Returns the call that makes a question's check fail, and the context of the answer."""
    folder = _here(name)
    suite, (answers, around) = find_suite(name, folder), _ready(namespace, folder)
    if name not in namespace:
        raise UserError(f"{name} is not defined: {_RUN_FIRST}")
    return step_to_trace(suite, answers, around, name), around


def check_namespace(question: str, namespace: Mapping[str, Any], folder: Path) -> CheckedQuestion:
    """Runs a question's public checks on the definitions in a namespace.

    Raises `UserError` if the folder has no checks for that question.
    """
    suite = find_suite(question, folder)
    exercises = _manifest(folder).exercises
    if leaning := wrong_import(question, _source(namespace), folder, exercises):
        return leaning
    (result,) = run_checks(suite, *_ready(namespace, folder), {question})
    return _annotated(result, namespace, folder)


def _name_of(question: object) -> str:
    return str(getattr(question, "__name__", question))


def _ready(namespace: Mapping[str, Any], folder: Path) -> tuple[LocalImplementation, AnswerContext]:
    manifest = _manifest(folder)
    around = AnswerContext(namespace, signatures=manifest.signatures, exercises=manifest.exercises)
    return LocalImplementation(namespace, _source(namespace)), around


def _annotated(
    result: CheckedQuestion, namespace: Mapping[str, Any], folder: Path
) -> CheckedQuestion:
    """Adds notes, such as why the answer is missing, or that the cell was edited after it ran."""
    if result.standing is Standing.MISSING:
        known = _manifest(folder).points
        note = other_name(result.question, namespace, known, given(known, folder))
        note = note or _missing(result.question, namespace)
        return replace(result, note=note)
    ran = run_of(result.question, namespace)
    note = stale(result.question, namespace, folder, _manifest(folder).points)
    if result.standing is Standing.NOT_IMPLEMENTED:
        note = note or _unfinished(result.question, namespace)
        return replace(result, note=note, ran=f"{ran} ({EDITED})" if ran and not note else "")
    passes = result.standing is Standing.PASSED
    found = replace(
        result,
        note=note or result.note,
        ran=f"{ran} ({EDITED})" if ran and not note else ran,
        standing=Standing.STALE if note and passes else result.standing,
    )
    missing = may_be_missing(result.question, _source(namespace))
    found = with_graded(found, _manifest(folder).graded.get(result.question, ""), missing)
    not_saved = _not_submitted(result.question, namespace, folder) if passes and not note else ""
    first = _first_to_fix(result.question, namespace, folder) if result.standing in _STUCK else ""
    return replace(found, note="\n".join(filter(None, (found.note, not_saved, first))))


def _not_submitted(question: str, namespace: Mapping[str, Any], folder: Path) -> str:
    """Returns why a correct answer would not count if it were submitted now, or ""."""
    suite = find_suite(question, folder)
    exercise = suite.stem.removeprefix("test_")
    with suppress(SubmissionError):
        answer = answer_of(folder, exercise, tuple(points_of(suite)))
        if answer is not None and answer.path.suffix == ".py" and answer.note:
            return answer.note
    return unsaved(question, exercise, namespace, folder)


def _first_to_fix(question: str, namespace: Mapping[str, Any], folder: Path) -> str:
    """Returns a note if an answer calls another answer that is not correct yet, otherwise ""."""
    suite, source = find_suite(question, folder), _source(namespace)
    called = {name for name in definitions_reached(source, question) if name in points_of(suite)}
    if called <= {question}:
        return ""
    others = run_checks(suite, *_ready(namespace, folder), called - {question})
    return start_with(question, source, others)


def _unfinished(question: str, namespace: Mapping[str, Any]) -> str:
    """Returns why an answer is "not implemented" although it has code, or "" for a mere stub."""
    cells = _defining(question, namespace)
    note = unfinished(question, cells[-1]) if cells else ""
    return note or stub_again(question, namespace)


def _missing(question: str, namespace: Mapping[str, Any]) -> str:
    return _FAILED_FIRST if _defining(question, namespace) else _RUN_FIRST


def _defining(question: str, namespace: Mapping[str, Any]) -> list[str]:
    """Returns the executed cells that contain the question's definition, even cells that failed."""
    words = (f"def {question}(", f"class {question}(", f"class {question}:")
    cells = [cell for cell in namespace.get("In", ()) if isinstance(cell, str)]
    return [cell for cell in cells if any(word in cell for word in words)]


def _below(
    result: CheckedQuestion, namespace: Mapping[str, Any], folder: Path, rule: str
) -> tuple[str, list[str]]:
    """Returns the help below a result as text and HTML: how to get a hint, or what to read next."""
    name = result.question
    if result.standing in _STUCK:
        call = for_html(_hint(name))
        return "", [f'<div style="margin-top:.4em">stuck? run <code>{call}</code></div>']
    if result.standing is not Standing.PASSED:
        return "", []
    star = star_line(folder, name, rule, _source(namespace), 'check("{}", rule="{}")')
    html = [f'<div style="margin-top:.4em">{for_html(star)}</div>'] * bool(star)
    if text := read_afterwards(folder).get(name):
        html.append(folded(_COMPARE, text))
    ways = read_ways(folder).get(name, ())
    parts = [f"<div>{for_html(text)}</div>{preformatted(code)}" for text, code in ways]
    html += [unfolding(_WAYS, parts)] * bool(parts)
    return f"\n  {star}" * bool(star), html


def result_text(result: CheckedQuestion) -> str:
    """Returns the result as text and, if a hint may help, the call that shows one."""
    stuck = f"\n  stuck? run  {_hint(result.question)}" if result.standing in _STUCK else ""
    return as_text(result) + stuck


def _hint(question: str) -> str:
    return f'hint("{question}")'


def _here(question: str) -> Path:
    """Returns the assignment's folder; raises `UserError` if it has been moved or deleted."""
    try:
        return assignment_folder(Path.cwd(), question)
    except FileNotFoundError:
        raise UserError(
            "this notebook's folder is gone: it was moved or replaced. "
            "Close the notebook, open it again, and restart the kernel."
        ) from None


def _show(result: NotebookOutput) -> None:
    from IPython.display import display  # slow to load

    display(result)  # type: ignore[no-untyped-call]  # IPython has no types


def find_suite(question: str, folder: Path) -> Path:
    """Returns the file with a question's checks; raises `UserError` if there is none."""
    taught = [f"test_{name}.py" for name in _manifest(folder).exercises]
    found = sorted((folder / "checks").glob("test_*.py"))
    suites = sorted(found, key=lambda suite: (*taught, suite.name).index(suite.name))
    if not suites:
        raise UserError(
            f"no checks in {folder / 'checks'}: keep the notebook in the folder that you unzipped, "
            "or unzip the assignment's bundle next to it"
        )
    known: list[str] = []
    for suite in suites:
        questions = points_of(suite)
        if question in questions:
            return suite
        if suite.stem == f"test_{question}":
            raise UserError(
                f"{question} is an exercise; name one of its questions: {', '.join(questions)}"
            )
        known += questions
    if not question:
        raise UserError(f"name a question, as in check({known[0]!r}); known: {', '.join(known)}")
    near = closest(question, known)
    guess = f"did you mean {near}? The" if near else "the"
    raise UserError(
        f"no question is called {question!r} here; {guess} questions are: {', '.join(known)}"
    )


def _manifest(folder: Path) -> Manifest:
    """Returns the bundle's manifest, or an empty one if the folder contains only checks."""
    if (folder / "checks" / MANIFEST).is_file():
        return read_manifest(folder)
    return Manifest("", (), {})


def _source(namespace: Mapping[str, Any]) -> str:
    """Returns the executed cells as one string, in which an answer's code can be examined.

    Leaves out earlier attempts: cells that only define names that a later cell defines again.
    """
    cells = namespace.get("In", [])
    if not isinstance(cells, list):
        return ""
    kept: list[str] = []
    later: set[str] = set()
    for cell in reversed([cell for cell in cells if isinstance(cell, str)]):
        names = _defined_by(cell)
        if names is not None and not (names and names <= later):
            kept.append(cell)
            later |= names
    return "\n".join(reversed(kept))


def _defined_by(cell: str) -> set[str] | None:
    """Returns the names that a cell defines, or an empty set if the cell also does something else.

    Returns None if the cell is not valid Python.
    """
    try:
        body = ast.parse(cell).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return names if len(names) == len(body) else set()
