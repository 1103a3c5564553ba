"""How a real answer becomes a known mistake, and a class's equal answers get its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import Course
from ..errors import UserError
from ..files import replace_file
from ..records import Exercise, QuestionResult, SubmissionResult, Verdict
from ..results.file import ResultsFile
from ..results.review import latest
from ..results.unnamed import Unnamed, unnamed_in, with_name
from ..submission.bounded import BoundedReader
from .courses import HERE, course_of_class
from .mistakes import anonymous, folder_of
from .reading import class_results

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..grading.validation.entries import Entry


@dataclass(frozen=True, slots=True)
class AddedMisconception:
    """An entry that was written: its name in results, its file, and how many results have it."""

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
    course: Path | str = HERE,
) -> AddedMisconception:
    """Makes a student's answer a known mistake, and names the class's equal answers after it.

    `student` may be the mark of a group of `unnamed_mistakes`. The answer's code is taken without
    comments; the entry is kept only where `validate` finds that it is caught, behaves as the answer
    did, and gets its own name. Nothing is graded again.

        add = autograder.add_misconception
        add("course", "ada", "masking", "causal_mask", name="shifted", confuses="...", hint="...")

    Raises `UserError`, and changes nothing, where one of these is not so.
    """
    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    results = latest(class_results(folder))
    found = _chosen(results, student, exercise.rpartition("/")[2], question)
    content = of_class.assignment(found.result.assignment).exercise(found.exercise)
    if not name.isidentifier():
        raise UserError(f"--name {name}: use letters, digits and _, as for a function")
    from ..grading.validation.entries import Entry

    with BoundedReader(anonymous) as reader:
        code = reader(str(folder_of(folder, found)), content, question)
    path = of_class.variants("misconceptions", content)
    _write(of_class, content, path, Entry(question, name, confuses, hint, code), found)
    full = f"{found.exercise}.{name}"
    said = _hint_in(path, question, name)
    named = list(_named(results, found.key, full, said))
    _append(folder, named)
    return AddedMisconception(full, path, len(named))


def _chosen(
    results: Sequence[SubmissionResult], student: str, exercise: str, question: str
) -> Unnamed:
    for found in unnamed_in(results):
        if (found.exercise, found.question.question) == (exercise, question) and (
            student in (found.result.student, found.mark)
        ):
            return found
    raise UserError(
        f"{student} has no wrong answer to {exercise}/{question} that has no name yet: see "
        "autograder mistakes CLASS"
    )


def _write(course: Course, content: Exercise, path: Path, entry: Entry, found: Unnamed) -> None:
    """Writes an entry and proves it; raises `UserError` and takes it back where it fails."""
    from ..grading.validation.entries import with_entry

    before = path.read_text(encoding="utf-8") if path.is_file() else None
    if f"def {entry.name}(" in (before or "") or f"class {entry.name}(" in (before or ""):
        raise UserError(f"{path} has an entry {entry.name} already; give this one another name")
    try:
        replace_file(path, with_entry(before or "", entry))
        problem = _problem(course, content, entry, found)
    except BaseException:
        _take_back(path, before)
        raise
    if problem:
        _take_back(path, before)
        raise UserError(f"{entry.name} was not added: {problem}")


def _take_back(path: Path, before: str | None) -> None:
    if before is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, before)


def _problem(course: Course, content: Exercise, entry: Entry, found: Unnamed) -> str:
    """Why an entry can't be kept; empty where it can."""
    from ..grading.validation.cases import Case
    from ..grading.validation.validate import validate

    said: list[QuestionResult] = []

    def is_entry(case: Case) -> bool:
        return case.kind == "misconception" and case.name == entry.name

    report = validate(
        course,
        [f"{content.assignment}/{content.name}"],
        forms=("module",),
        jobs=1,
        wanted=is_entry,
        on_question=lambda case, result: said.append(result),
    )
    mine = next((result for result in said if result.question == entry.question), None)
    if mine is None or mine.verdict is Verdict.CORRECT:
        return "as an entry it has full marks; a person should look at the answer"
    if mine.behaviour != found.question.behaviour:
        return (
            "as an entry it does not behave as it did in its file: what it uses of the file may "
            "be missing, or the suite has changed since the class was graded"
        )
    if mine.misconception != f"{content.name}.{entry.name}":
        others = "; ".join(report.not_told_apart) or mine.misconception or "other known mistakes"
        return f"it can't be told from {others}"
    return ""


def _append(folder: Path, results: Sequence[SubmissionResult]) -> None:
    target = folder / "results.jsonl" if folder.is_dir() else folder
    with ResultsFile(target) as file:
        for result in results:
            file.append(result)


def _hint_in(path: Path, question: str, name: str) -> str:
    from ..grading.naming.mistake import hint_of
    from ..suite.variants import variants_in

    variants = variants_in(path)
    return next(hint_of(v) for v in variants if (v.question, v.name) == (question, name))


def _named(
    results: Sequence[SubmissionResult], key: tuple[str, ...], name: str, hint: str
) -> Iterator[SubmissionResult]:
    """The results that have a name now, which they did not have."""
    for found in unnamed_in(results):
        if found.key == key:
            yield with_name(found, name, hint)
