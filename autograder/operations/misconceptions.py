"""Adds a student's answer to the known mistakes, and gives equivalent answers the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import Selection
from ..course import Course
from ..errors import UserError
from ..files import replace_file
from ..records import Exercise, SubmissionResult, Verdict
from ..results.file import ResultsFile
from ..results.unnamed import UnnamedAnswer, unnamed_in, with_name
from ..submission.bounded import BoundedReader
from ..submission.class_files import RESULTS_FILE
from .courses import HERE, course_of_class
from .grades import selected
from .mistakes import anonymous, folder_of
from .reading import last_class_results

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..grading.validation.entries import Entry


@dataclass(frozen=True, slots=True)
class AddedMisconception:
    """A new known mistake: its name in results, its file, and how many results now have it."""

    name: str
    file: Path
    renamed: int


def add_misconception(
    class_folder: Path | str,
    student: str,
    exercise: str,
    question: str,
    *,
    name: str,
    confuses: str,
    hint: str,
    approve: Callable[[str], bool],
    course: Path | str = HERE,
) -> AddedMisconception:
    """Adds a student's answer to the known mistakes, and gives equivalent answers the same name.

    `student` may also be the mark of a group from `unnamed_mistakes`. The answer's code is stored
    without comments. First, a sandboxed worker executes the code, which must fail the tests and
    behave as it did in the student's file. Then `approve` is called with the code. A person should
    read the code before approving it, because it becomes part of the course, whose tests and tools
    execute it. Finally, the new entry is graded, and the grader must recognize this mistake by its
    new name. No submission is graded again.

        ok = lambda code: input(f"{code}Add this code? ") == "yes"
        add = autograder.add_misconception
        add("course", "ada", "masking", "causal_mask", name="n", confuses="c", hint="h", approve=ok)

    Raises `UserError`, without any change, if one of these conditions is not met.
    """
    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    results = last_class_results(folder)
    counted = selected(folder, results, Selection())
    found = _chosen(counted, student, exercise.rpartition("/")[2], question)
    content = of_class.assignment(found.result.assignment).exercise(found.exercise)
    if not name.isidentifier():
        raise UserError(f"--name {name}: use letters, digits and _, as in the name of a function")
    from ..grading.naming.rows import hint_of
    from ..grading.validation.computing import uses_besides_computing
    from ..grading.validation.entries import Entry, graded_entry, with_entry
    from ..suite.variants import variants_of_text

    with BoundedReader(anonymous) as reader:
        code = reader(str(folder_of(folder, found)), content, question)
    if others := uses_besides_computing(code):
        raise UserError(
            f"{name} was not added: its code uses {', '.join(others)}, but the code of a known "
            "mistake may contain only computations; write an entry by hand that makes the same "
            "mistake"
        )
    entry = Entry(question, name, confuses, hint, code)
    path = of_class.variants("misconceptions", content)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if f"def {name}(" in before or f"class {name}(" in before:
        raise UserError(f"{path} already has an entry {name}; choose a different name")
    catalogue = with_entry(before, entry)
    if problem := _problem(of_class, content, entry, catalogue, found):
        raise UserError(f"{name} was not added: {problem}")
    if not approve(code):
        raise UserError(f"{name} was not added: its code was not approved")
    replace_file(path, catalogue)
    full = f"{found.exercise}.{name}"
    try:
        result = graded_entry(of_class, content, entry, catalogue)
        if result is None or result.misconception != full:
            other = (result and result.misconception) or "other known mistakes"
            raise UserError(f"{name} was not added: it can't be distinguished from {other}")
    except BaseException:
        _take_back(path, before)
        raise
    sentence = next(hint_of(v) for v in variants_of_text(catalogue) if v.name == name)
    named = list(_named(results, found.key, full, sentence))
    _append(folder, named)
    return AddedMisconception(full, path, len(named))


def _take_back(path: Path, before: str) -> None:
    if before:
        replace_file(path, before)
    else:
        path.unlink(missing_ok=True)


def _chosen(
    results: Sequence[SubmissionResult], student: str, exercise: str, question: str
) -> UnnamedAnswer:
    for found in unnamed_in(results):
        if (found.exercise, found.question.question) == (exercise, question) and (
            student in (found.result.student, found.mark)
        ):
            return found
    raise UserError(
        f"{student} has no wrong answer to {exercise}/{question} that counts and has no name yet"
        f"{_because_it_never_ran(results, student, exercise, question)}: see autograder mistakes "
        "CLASS"
    )


def _because_it_never_ran(
    results: Sequence[SubmissionResult], student: str, exercise: str, question: str
) -> str:
    """Returns a remark with the error of an answer that was never called, or an empty string."""
    for result in results:
        for of_exercise, item in result.questions():
            is_it = (of_exercise.exercise, item.question) == (exercise, question)
            if result.student == student and is_it and item.verdict is Verdict.ERROR:
                lines = (line for test in item.tests for line in test.message.split("\n"))
                raised = next((line for line in lines if line.startswith("got ")), "")
                return (
                    f" (the answer never ran; {' '.join(raised.split())})"
                    if not item.behaviour
                    else ""
                )
    return ""


def _problem(
    course: Course, content: Exercise, entry: Entry, catalogue: str, found: UnnamedAnswer
) -> str:
    """Returns why an entry can't be added to the catalog, or an empty string if it can."""
    from ..grading.validation.entries import graded_entry

    result = graded_entry(course, content, entry, catalogue)
    if result is None or result.verdict is Verdict.CORRECT:
        return "as an entry, its code would get full credit; a person should look at the answer"
    if result.behaviour != found.question.behaviour:
        return (
            "as an entry, its code behaves differently than in its file: something that it uses "
            "from the file may be missing, or the suite has changed since the class was graded"
        )
    return f"it can't be distinguished from {result.misconception}" if result.misconception else ""


def _append(folder: Path, results: Sequence[SubmissionResult]) -> None:
    target = folder / RESULTS_FILE if folder.is_dir() else folder
    with ResultsFile(target) as file:
        for result in results:
            file.append(result)


def _named(
    results: Sequence[SubmissionResult], key: tuple[str, ...], name: str, hint: str
) -> Iterator[SubmissionResult]:
    for found in unnamed_in(results):
        if found.key == key:
            yield with_name(found, name, hint)
