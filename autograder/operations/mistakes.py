"""Finds wrong answers that match no known mistake, and groups them by their behavior."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..classroom import Selection
from ..course import Course
from ..errors import SubmissionError
from ..records import Exercise
from ..results.unnamed import UnnamedAnswer, unnamed_in
from ..submission import read_exercise
from ..submission.bounded import BoundedReader
from ..submission.class_files import submission_folder
from ..submission.text import parsed, statements_of
from ..worker.experiments import experiments, names_reached
from .courses import HERE, course_of_class
from .grades import selected
from .reading import last_class_results


@dataclass(frozen=True, slots=True)
class UnnamedMistake:
    """A group of unnamed wrong answers to one question that behave alike.

    `mark` identifies the group, `code` is the code of one of the group's answers, without comments,
    `calls` contains the calls that fail, and `relation` describes the first wrong value.
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
    """Returns groups of unnamed wrong answers that behave alike, the largest first.

    Withdrawn submissions are left out.

    for group in autograder.unnamed_mistakes("course"):
        print(group.question, group.answers, group.relation)
    """
    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    if assignment is not None:
        of_class.assignment(assignment)  # raise an error that lists the known ones
    groups: defaultdict[tuple[str, ...], list[UnnamedAnswer]] = defaultdict(list)
    for found in unnamed_in(selected(folder, last_class_results(folder), Selection())):
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
    home = folder if folder.is_dir() else folder.parent
    return submission_folder(home, found.result.student, found.result.assignment)


def anonymous(folder: str, exercise: Exercise, question: str) -> str:
    """Returns the code of one answer, without comments; called in a child process with limits."""
    return anonymous_code(read_exercise(Path(folder), exercise).text, question)


def anonymous_code(text: str, question: str) -> str:
    """Returns a question's definition and all code that it needs, without comments.

    Raises `SubmissionError` if the text does not define the question.
    """
    statements = statements_of(text, parsed(text).body)
    left_out = experiments(statements, [question])
    statements = [statement for statement in statements if statement not in left_out]
    reached = names_reached(statements, [question])
    used = reached.union(*(s.names.reads for s in statements if s.binds & reached))
    last = {name: s for s in statements for name in s.defines}
    found = [
        s
        for s in statements
        if (s.binds | s.names.sets) & used and all(last[name] is s for name in s.defines)
    ]
    if not any(question in statement.defines for statement in found):
        raise SubmissionError(f"has no definition of {question}")
    return "\n\n".join(ast.unparse(_without_docstrings(parsed(s.text))) for s in found) + "\n"


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            rest = [statement for statement in node.body if not _is_text(statement)]
            node.body = rest or [ast.Pass()]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
