"""Groups the wrong answers of a class that behave alike and match no known mistake."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..course import Course
from ..errors import SubmissionError
from ..records import Exercise
from ..results.review import latest
from ..results.unnamed import UnnamedAnswer, unnamed_in
from ..submission import read_exercise
from ..submission.anonymous import anonymous_code
from ..submission.bounded import BoundedReader
from ..submission.class_files import submission_folder
from .courses import HERE, course_of_class
from .reading import class_results


@dataclass(frozen=True, slots=True)
class UnnamedMistake:
    """Wrong answers to one question that behave alike and have no name.

    `mark` identifies the group, `code` is one of its answers without comments, `calls` are the
    calls that fail, and `relation` describes the first wrong value.
    """

    assignment: str
    exercise: str
    question: str
    mark: str
    answers: int
    code: str
    calls: tuple[str, ...]
    relation: str


def unnamed_mistakes(
    class_folder: Path | str, assignment: str | None = None, *, course: Path | str = HERE
) -> tuple[UnnamedMistake, ...]:
    """Returns groups of wrong answers that behave alike and have no name, the largest first.

    for group in autograder.unnamed_mistakes("course"):
        print(group.question, group.answers, group.relation)
    """
    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    if assignment is not None:
        of_class.assignment(assignment)  # raises an error that lists the known ones
    groups: defaultdict[tuple[str, ...], list[UnnamedAnswer]] = defaultdict(list)
    for found in unnamed_in(latest(class_results(folder))):
        if assignment in (None, found.result.assignment):
            groups[found.key].append(found)
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].key))
    with BoundedReader(anonymous) as reader:
        return tuple(_shown(of_class, folder, group, reader) for group in ordered)


def _shown(
    course: Course, folder: Path, group: Sequence[UnnamedAnswer], reader: BoundedReader
) -> UnnamedMistake:
    first = group[0]
    content = course.assignment(first.result.assignment).exercise(first.exercise)
    try:
        code = reader(str(folder_of(folder, first)), content, first.question.question)
    except SubmissionError as error:
        code = f"# the answer can't be shown: {error}\n"
    messages = [test.message.split("\n") for test in first.question.tests if not test.passed]
    called = first.question.question
    lines = [line for message in messages for line in message if line.endswith(":")]
    calls = [line.rstrip(":") for line in lines if line.startswith(called)]
    relation = next((message[0] for message in messages if not message[0].endswith(":")), "")
    return UnnamedMistake(
        assignment=first.result.assignment,
        exercise=first.exercise,
        question=called,
        mark=first.mark,
        answers=len(group),
        code=code,
        calls=tuple(dict.fromkeys(calls)),
        relation=relation,
    )


def folder_of(folder: Path, found: UnnamedAnswer) -> Path:
    """Returns the folder with the files of an answer."""
    home = folder if folder.is_dir() else folder.parent
    return submission_folder(home, found.result.student, found.result.assignment)


def anonymous(folder: str, exercise: Exercise, question: str) -> str:
    """Returns the code of one answer; runs in a child process with limits."""
    return anonymous_code(read_exercise(Path(folder), exercise).text, question)
