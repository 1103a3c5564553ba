"""What a class got wrong without a known mistake's name, and how it gets one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import Course
from ..errors import SubmissionError, UserError
from ..files import replace_file
from ..records import Exercise, QuestionResult, SubmissionResult, Verdict
from ..results.file import ResultsFile
from ..results.review import latest
from ..submission import read_exercise
from ..submission.anonymous import anonymous_code
from ..submission.bounded import BoundedReader
from ..submission.names import handed_in
from .courses import HERE, course_of_class
from .reading import class_results

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..grading.validation.entries import Entry

_MARK = 8


@dataclass(frozen=True, slots=True)
class UnnamedMistake:
    """Wrong answers to one question that behave alike and have no name.

    `mark` stands for the group, `code` is one of its answers without comments, `calls` are those
    that fail, `relation` what is true of the first value that is wrong.
    """

    assignment: str
    exercise: str
    question: str
    mark: str
    answers: int
    code: str
    calls: tuple[str, ...]
    relation: str


@dataclass(frozen=True, slots=True)
class AddedMisconception:
    """An entry that was written: its name in results, its file, and how many results have it."""

    name: str
    file: Path
    renamed: int


@dataclass(frozen=True, slots=True)
class _Found:
    """One wrong answer without a name, and where it stands."""

    result: SubmissionResult
    exercise: str
    question: QuestionResult

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Equal for answers that behave alike."""
        place = self.result.assignment, self.exercise, self.question.question
        return (*place, self.question.behaviour or "")

    @property
    def mark(self) -> str:
        """The group in short."""
        return (self.question.behaviour or "").partition(":")[2][:_MARK]


def unnamed_mistakes(
    class_folder: Path | str, assignment: str | None = None, *, course: Path | str = HERE
) -> tuple[UnnamedMistake, ...]:
    """Groups of wrong answers that behave alike and have no name, the largest first.

    for group in autograder.unnamed_mistakes("course"):
        print(group.question, group.answers, group.relation)
    """
    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    groups: defaultdict[tuple[str, ...], list[_Found]] = defaultdict(list)
    for found in _unnamed(latest(class_results(folder))):
        if assignment in (None, found.result.assignment):
            groups[found.key].append(found)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].key))
    with BoundedReader(_anonymous) as reader:
        return tuple(_shown(of_class, folder, group, reader) for group in ordered)


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

        autograder.add_misconception(
            "course", "ada", "masking", "causal_mask",
            name="diagonal_hidden", confuses="...", hint="..."
        )

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

    with BoundedReader(_anonymous) as reader:
        code = reader(str(_folder_of(folder, found)), content, question)
    path = of_class.variants("misconceptions", content)
    _write(of_class, content, path, Entry(question, name, confuses, hint, code), found)
    full = f"{found.exercise}.{name}"
    said = _hint_in(path, question, name)
    named = list(_named(results, found.key, full, said))
    target = folder / "results.jsonl" if folder.is_dir() else folder
    with ResultsFile(target) as file:
        for result in named:
            file.append(result)
    return AddedMisconception(full, path, len(named))


def _unnamed(results: Iterable[SubmissionResult]) -> Iterator[_Found]:
    for result in results:
        for exercise in result.exercises:
            for question in exercise.questions:
                if question.behaviour is not None and question.misconception is None:
                    yield _Found(result, exercise.exercise, question)


def _chosen(
    results: Sequence[SubmissionResult], student: str, exercise: str, question: str
) -> _Found:
    for found in _unnamed(results):
        if (found.exercise, found.question.question) == (exercise, question) and (
            student in (found.result.student, found.mark)
        ):
            return found
    raise UserError(
        f"{student} has no wrong answer to {exercise}/{question} that has no name yet: see "
        "autograder mistakes CLASS"
    )


def _shown(
    course: Course, folder: Path, group: Sequence[_Found], reader: BoundedReader
) -> UnnamedMistake:
    first = group[0]
    content = course.assignment(first.result.assignment).exercise(first.exercise)
    try:
        code = reader(str(_folder_of(folder, first)), content, first.question.question)
    except SubmissionError as error:
        code = f"# the answer can't be shown: {error}\n"
    messages = [test.message.split("\n") for test in first.question.tests if not test.passed]
    calls = [line.rstrip(":") for message in messages for line in message if line.endswith(":")]
    told = next((message[0] for message in messages if not message[0].endswith(":")), "")
    return UnnamedMistake(
        assignment=first.result.assignment,
        exercise=first.exercise,
        question=first.question.question,
        mark=first.mark,
        answers=len(group),
        code=code,
        calls=tuple(dict.fromkeys(calls)),
        relation=told,
    )


def _folder_of(folder: Path, found: _Found) -> Path:
    home = folder if folder.is_dir() else folder.parent
    return handed_in(home, found.result.student, found.result.assignment)


def _anonymous(folder: str, exercise: Exercise, question: str) -> str:
    """One answer as code, read in a child with limits."""
    return anonymous_code(read_exercise(Path(folder), exercise).text, question)


def _write(course: Course, content: Exercise, path: Path, entry: Entry, found: _Found) -> None:
    """Writes an entry and proves it; raises `UserError` and takes it back where it is no good."""
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


def _problem(course: Course, content: Exercise, entry: Entry, found: _Found) -> str:
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


def _hint_in(path: Path, question: str, name: str) -> str:
    from ..grading.naming.known import hint_of
    from ..suite.variants import variants_in

    variants = variants_in(path)
    return next(hint_of(v) for v in variants if (v.question, v.name) == (question, name))


def _named(
    results: Sequence[SubmissionResult], key: tuple[str, ...], name: str, hint: str
) -> Iterator[SubmissionResult]:
    """The results that have a name now, which they did not have."""
    for found in _unnamed(results):
        if found.key == key:
            yield _with_name(found, name, hint)


def _with_name(found: _Found, name: str, hint: str) -> SubmissionResult:
    exercises = tuple(
        replace(
            exercise,
            questions=tuple(
                replace(question, misconception=name, hint=hint)
                if question == found.question
                else question
                for question in exercise.questions
            ),
        )
        if exercise.exercise == found.exercise
        else exercise
        for exercise in found.result.exercises
    )
    return replace(found.result, exercises=exercises)
