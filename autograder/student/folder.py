"""The public checks of a whole folder: `autograder check` and `autograder status`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..course.manifest import Manifest, read_manifest
from ..course.points import points_of
from ..errors import SubmissionError, UserError
from ..suite import LocalImplementation
from .answers import Answer, answer_of, execute
from .results import CheckedExercise, CheckedQuestion, CheckedTest, Progress, Standing
from .runner import run_checks


def check_folder(folder: Path, exercises: Sequence[str] = ()) -> tuple[CheckedExercise, ...]:
    """Runs the public checks of some exercises (default: all) of an assignment's folder.

    After a question that Ctrl-C ends, no other runs. Raises `UserError` where the folder is no
    assignment, or has no exercise of a given name.
    """
    manifest = read_manifest(folder)
    names = _chosen(manifest, exercises)
    results: list[CheckedExercise] = []
    for name in names:
        results.append(_check(folder, manifest, name))
        if any(item.standing is Standing.STOPPED for item in results[-1].questions):
            break
    return tuple(results)


def status(folder: Path) -> Progress:
    """Progress through all exercises of a folder; raises `UserError` where it is no assignment."""
    return Progress(read_manifest(folder).title, check_folder(folder))


def _chosen(manifest: Manifest, exercises: Sequence[str]) -> tuple[str, ...]:
    # `scores.py` and `scores.ipynb` are what a shell completes
    wanted = [Path(name).stem for name in exercises]
    for name in wanted:
        if name not in manifest.exercises:
            known = ", ".join(manifest.exercises)
            raise UserError(f"no exercise is called {name!r} here; there are: {known}")
    return tuple(dict.fromkeys(wanted)) or manifest.exercises


def _check(folder: Path, manifest: Manifest, name: str) -> CheckedExercise:
    suite = folder / "checks" / f"test_{name}.py"
    questions = tuple(points_of(suite))
    try:
        answer = answer_of(folder, name, questions, manifest.stubs.get(name))
    except SubmissionError as error:
        return CheckedExercise(name, None, _all_missing(questions), problem=str(error))
    if answer is None:
        return CheckedExercise(
            name, None, _all_missing(questions), problem=f"no {name}.ipynb and no {name}.py here"
        )
    return _run(suite, questions, name, answer)


def _run(suite: Path, questions: tuple[str, ...], name: str, answer: Answer) -> CheckedExercise:
    try:
        namespace = execute(answer)
    except SubmissionError as error:
        return CheckedExercise(
            name, answer.path.name, _all_missing(questions), str(error), answer.note
        )
    implementation = LocalImplementation(namespace, answer.text)
    results = tuple(
        _broken(result, answer.broken[result.question])
        if result.question in answer.broken
        else result
        for result in run_checks(suite, implementation)
    )
    return CheckedExercise(name, answer.path.name, results, note=answer.note)


def _broken(result: CheckedQuestion, why: str) -> CheckedQuestion:
    """A question whose cell is no valid Python: told what is wrong, not that it is missing."""
    tests = tuple(CheckedTest(test.name, False, why) for test in result.tests[:1])
    return CheckedQuestion(result.question, Standing.MEND, tests)


def _all_missing(questions: tuple[str, ...]) -> tuple[CheckedQuestion, ...]:
    return tuple(CheckedQuestion(question, Standing.MISSING) for question in questions)
