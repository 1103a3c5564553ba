"""Runs the public checks in a whole folder, for `autograder check` and `autograder status`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ..course.manifest import Manifest, read_manifest
from ..course.points import points_of
from ..errors import SubmissionError, UserError
from ..suite import LocalImplementation
from ..suite.message import place_lines
from .advice import exception_text
from .answers import Answer, ExecutedAnswer, answer_of, execute, unfinished
from .assignment_folder import questions_of, unknown
from .check_results import (
    CheckedExercise,
    CheckedQuestion,
    CheckedTest,
    Progress,
    Standing,
    with_graded,
)
from .explaining import AnswerContext, call_with_shapes
from .last_call import NO_CALL, RecordedCall, again
from .misnamed import (
    answered_in,
    may_be_missing,
    nearly_named,
    other_name,
    start_with,
    wrong_import,
)
from .runner import OnQuestion, run_checks, step_to_trace
from .source_lines import locator
from .stars import star_line


def check_folder(
    folder: Path, names: Sequence[str] = (), on_question: OnQuestion = lambda question: None
) -> tuple[CheckedExercise, ...]:
    """Runs the public checks for all or some exercises and questions in an assignment's folder.

    `on_question` is called with each question before its checks run. If Ctrl-C interrupts the
    checks of a question, no later question is checked. Raises `UserError` if the folder is not an
    assignment, or a name is unknown.
    """
    manifest = read_manifest(folder)
    results: list[CheckedExercise] = []
    for exercise, questions in _chosen(folder, manifest, names).items():
        dtype = torch.get_default_dtype()  # a file's settings affect no other file in grading
        try:
            with torch.set_grad_enabled(torch.is_grad_enabled()):
                results.append(_check(folder, manifest, exercise, questions, on_question))
        finally:
            torch.set_default_dtype(dtype)
        if any(item.standing is Standing.STOPPED for item in results[-1].questions):
            break
    return tuple(results)


def status(folder: Path) -> Progress:
    """Returns the progress in an assignment's folder; raises `UserError` for any other folder."""
    manifest = read_manifest(folder)
    return Progress(manifest.title, check_folder(folder), dict(manifest.points), manifest.due)


def _chosen(
    folder: Path, manifest: Manifest, names: Sequence[str]
) -> dict[str, tuple[str, ...] | None]:
    """Returns the exercises that `names` selects, each with its chosen questions (None for all)."""
    chosen: dict[str, tuple[str, ...] | None] = {}
    known: dict[str, tuple[str, ...]] = {}
    for name in names:
        stem = Path(name).stem  # a shell completes `scores.py` and `scores.ipynb`
        if stem in manifest.exercises:
            chosen[stem] = None
            continue
        known = known or questions_of(folder, manifest)
        exercise = next((e for e, questions in known.items() if name in questions), None)
        if exercise is None:
            raise unknown(name, known)
        if chosen.get(exercise, ()) is not None:
            chosen[exercise] = (*(chosen.get(exercise) or ()), name)
    return chosen or dict.fromkeys(manifest.exercises)


def _check(
    folder: Path,
    manifest: Manifest,
    name: str,
    wanted: tuple[str, ...] | None,
    on_question: OnQuestion,
) -> CheckedExercise:
    suite = folder / "checks" / f"test_{name}.py"
    questions = tuple(points_of(suite))
    try:
        answer = answer_of(folder, name, questions)
    except SubmissionError as error:
        return CheckedExercise(name, None, _all(Standing.HIDDEN, questions), problem=str(error))
    if answer is None:
        problem = f"no {name}.ipynb and no {name}.py here{nearly_named(folder, name)}"
        return CheckedExercise(name, None, _all(Standing.MISSING, questions), problem=problem)
    executed = execute(answer, manifest.exercises)
    if not executed.runs:
        hidden = f"\nuntil that is fixed, there is no result for {', '.join(questions)}"
        return CheckedExercise(
            name,
            answer.path.name,
            _all(Standing.HIDDEN, wanted or questions),
            executed.problem + hidden,
            answer.note,
        )
    leaning = {
        question: found
        for question in wanted or questions
        if (found := wrong_import(question, answer.text, folder, manifest.exercises))
    }
    others = [question for question in wanted or questions if question not in leaning]
    checked = run_checks(suite, *_ready(manifest, answer, executed), others, on_question)
    done = {
        item.question: _with_notes(item, manifest, answer, executed, questions) for item in checked
    }
    done |= leaning
    for question, item in done.items():
        if item.standing is Standing.FIX and not item.note:
            done[question] = replace(item, note=start_with(question, answer.text, done.values()))
    saved = answer.path.stat().st_mtime if answer.path.suffix == ".ipynb" else None
    results = tuple(done[question] for question in questions if question in done)
    note = answer.note
    if wanted is None and all(item.standing is Standing.NOT_IMPLEMENTED for item in results):
        note = note or answered_in(folder, name, questions, manifest.exercises)
    return CheckedExercise(
        name, answer.path.name, results, executed.problem, note, executed.printed, saved
    )


def _with_notes(
    result: CheckedQuestion,
    manifest: Manifest,
    answer: Answer,
    executed: ExecutedAnswer,
    questions: Sequence[str],
) -> CheckedQuestion:
    reasoned = _with_reason(result, answer, executed, questions)
    missing = may_be_missing(result.question, answer.text)
    return with_graded(reasoned, manifest.graded.get(result.question, ""), missing)


def _ready(
    manifest: Manifest, answer: Answer, executed: ExecutedAnswer
) -> tuple[LocalImplementation, AnswerContext]:
    around = AnswerContext(
        executed.namespace,
        locator(answer.path, answer.text),
        manifest.signatures,
        manifest.exercises,
        "autograder retry {}",
    )
    return LocalImplementation(executed.namespace, answer.text), around


def star_of(folder: Path, question: str, rule: str) -> str:
    """Returns a line about a passed question's second star, which is an optional challenge.

    Raises `UserError` for an unknown question or rule.
    """
    ((exercise, _),) = _chosen(folder, read_manifest(folder), [question]).items()
    answer = answer_of(folder, exercise, (question,))
    call = 'autograder check {} --rule "{}"'
    return star_line(folder, question, rule, answer.text if answer else "", call)


def trace_folder(folder: Path, question: str) -> str:
    """Returns the lines that a question's failing call runs, with the shapes in each line.

    Raises `UserError` if the folder has no such question, or if the question's file does not run.
    """
    from .tracing import traced

    step, around = _failing(folder, question)
    return traced(step, around.namespace, around.locate) if step else NO_CALL


def retry_folder(folder: Path, question: str) -> tuple[str, bool]:
    """Repeats a question's failing call; returns its result or error, and whether it succeeded.

    Raises `UserError` in the same cases as `trace_folder`.
    """
    step, around = _failing(folder, question)
    if step is None:
        return NO_CALL, False
    try:
        return f"{call_with_shapes(step)}:\n{again(step)!r}", True
    except Exception as error:
        places = place_lines(around.places(error))
        return "\n".join([f"{call_with_shapes(step)}:", exception_text(error), *places]), False


def _failing(folder: Path, question: str) -> tuple[RecordedCall | None, AnswerContext]:
    """Returns the call that makes a question's check fail, and the context of the answer."""
    manifest = read_manifest(folder)
    ((exercise, _),) = _chosen(folder, manifest, [question]).items()
    suite = folder / "checks" / f"test_{exercise}.py"
    answer = answer_of(folder, exercise, tuple(points_of(suite)))
    executed = execute(answer) if answer is not None else None
    if answer is None or executed is None or executed.problem:
        raise UserError(executed.problem if executed else f"there is no file for {exercise} here")
    implementation, around = _ready(manifest, answer, executed)
    return step_to_trace(suite, implementation, around, question), around


def _with_reason(
    result: CheckedQuestion, answer: Answer, executed: ExecutedAnswer, questions: Sequence[str]
) -> CheckedQuestion:
    """Adds the reason, such as an invalid cell, if an answer is missing or does not count."""
    name = result.question
    if name in answer.broken:
        tests = tuple(CheckedTest(test.name, False, answer.broken[name]) for test in result.tests)
        return CheckedQuestion(name, Standing.FIX, tests[:1])
    if result.standing is Standing.NOT_IMPLEMENTED:
        return replace(result, note=unfinished(name, answer.text))
    if result.standing is not Standing.MISSING:
        return result
    if executed.problem:
        return CheckedQuestion(name, Standing.HIDDEN)
    return replace(
        result,
        note=other_name(name, executed.namespace, questions) or answer.elsewhere.get(name, ""),
    )


def _all(standing: Standing, questions: Iterable[str]) -> tuple[CheckedQuestion, ...]:
    return tuple(CheckedQuestion(question, standing) for question in questions)
