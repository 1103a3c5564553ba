"""Reads a course's folders into records.

Files are found by the name of their exercise; nothing needs to be registered. Every content error
names the file, the line and the fix.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..deadlines import HOW_TO_WRITE, DateError, parse_duedate, parse_duration
from ..errors import ContentError, UserError
from ..records import Assignment, DueDate, Exercise, Limits, Question
from ..submission.class_files import is_of_students
from .rules import CALLS, line_in, read_toml

BEGIN_SOLUTION = "### BEGIN SOLUTION"
END_SOLUTION = "### END SOLUTION"
SUPPLIED = "# supplied"
#: the paths of an exercise's files
_PLACES = {
    "solution": "solutions/{}/{}.py",
    "source": "source/{}/{}.md",
    "hidden_suite": "tests/hidden/{}/test_{}.py",
    "public_suite": "tests/public/{}/test_{}.py",
    "stub": "assignments/{}/{}.py",
}
#: the paths of the answers with which an exercise's suite is tested
VARIANTS = {
    "alternatives": "tests/alternatives/{}/{}.py",
    "misconceptions": "tests/misconceptions/{}/{}.py",
    "combinations": "tests/combinations/{}/{}.py",
}


@dataclass(frozen=True, slots=True)
class Course:
    """A course: the instructor's folder, and the assignments that its `source/` contains.

    `assignments` contains the assignments that could be read, and `broken` contains the error for
    each of the others.
    """

    root: Path
    assignments: tuple[Assignment, ...]
    broken: Mapping[str, ContentError] = field(default_factory=dict)

    @property
    def titles(self) -> Mapping[str, str]:
        """The title of each assignment, keyed by its name."""
        return {assignment.name: assignment.title for assignment in self.assignments}

    def assignment(self, name: str) -> Assignment:
        """Returns the assignment with that name, or raises a `UserError` that lists all names."""
        if name in self.broken:
            raise self.broken[name]
        for assignment in self.assignments:
            if assignment.name == name:
                return assignment
        known = ", ".join(assignment.name for assignment in self.assignments)
        raise UserError(f"no assignment is called {name!r}; this course has: {known}")

    def assignment_called(self, text: str) -> Assignment:
        """Returns the assignment with that name or title, ignoring case, or raises `UserError`."""
        found = [a for a in self.assignments if words_of(text) in map(words_of, (a.name, a.title))]
        return found[0] if len(found) == 1 else self.assignment(text)

    def without(self, name: str, error: ContentError) -> Course:
        """Returns a copy of the course in which the assignment has been moved to `broken`."""
        others = tuple(a for a in self.assignments if a.name != name)
        return replace(self, assignments=others, broken={**self.broken, name: error})

    def variants(self, kind: str, exercise: Exercise) -> Path:
        """Returns the path of an exercise's file in `tests/<kind>/`, such as its misconceptions."""
        return self.root / VARIANTS[kind].format(exercise.assignment, exercise.name)

    def unlisted(self, assignment: str) -> Mapping[str, Sequence[Path]]:
        """Returns the files in solutions/ and tests/ that belong to no exercise, by their name."""
        listed = {exercise.name for exercise in self.assignment(assignment).exercises}
        found: dict[str, list[Path]] = {}
        kinds = ("solution", "hidden_suite", "public_suite")
        for place in (*(_PLACES[kind] for kind in kinds), *VARIANTS.values()):
            before, _, after = place.format(assignment, "*").partition("*")
            for path in sorted(self.root.glob(f"{before}*{after}")):
                name = path.relative_to(self.root).as_posix()[len(before) : -len(after)]
                if name not in listed and name.isidentifier() and not name.startswith("_"):
                    found.setdefault(name, []).append(path)
        return found


def words_of(name: str) -> str:
    """Returns a name or title in lower case and without punctuation, to compare it with others."""
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


def find_root(start: Path) -> Path:
    """Returns the nearest folder, at or above `start`, that contains `source/` and `solutions/`.

    Ignores a course folder among students' submissions, unless `start` is exactly that folder.
    Raises `UserError` if there is no course folder.
    """
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "source").is_dir() and (folder / "solutions").is_dir():
            is_named = start != Path() and folder == start.resolve()
            if is_named or not is_of_students(folder):
                return folder
    raise UserError(
        f"{start.resolve()} is not inside a course: no folder above it contains source/ and "
        "solutions/. Go there, or use --course FOLDER."
    )


def load_course(root: Path, *, must_be_whole: bool = True) -> Course:
    """Reads all assignments of a course; raises `ContentError` for the first broken one.

    If `must_be_whole` is false, adds broken assignments to `broken` instead of raising an error.
    """
    root = root.resolve()  # pytest identifies suites by their full paths
    files = sorted((root / "source").glob("*/assignment.toml"))
    if not files:
        raise ContentError(
            root / "source",
            None,
            "no folder in it contains an assignment.toml",
            "see docs/authoring.md",
        )
    found: list[Assignment] = []
    broken: dict[str, ContentError] = {}
    for path in files:
        try:
            found.append(_assignment(root, path))
        except ContentError as error:
            if must_be_whole:
                raise
            broken[path.parent.name] = error
    return Course(root, tuple(found), broken)


#: the folder with the answers that known mistakes give; see `grading.naming.store`
TABLES = "tests/tables"


def graded_files(course: Course, assignment: Assignment) -> Iterator[Path]:
    """Yields the course files that are needed to grade an assignment, and no other files."""
    for folder in ("source", "solutions", "assignments", "tests/hidden", "tests/misconceptions"):
        for file in sorted((course.root / folder / assignment.name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file
    if (course.root / "source" / CALLS).is_file():
        yield course.root / "source" / CALLS
    for exercise in assignment.exercises:
        yield from sorted((course.root / TABLES).glob(f"{exercise.name}-*.npz"))


def _assignment(root: Path, path: Path) -> Assignment:
    document = read_toml(path)
    known = {"title", "exercises", "limits", "duedate", "grace"}
    for key in sorted(document.keys() - known):
        fix = f"use one of: {', '.join(sorted(known))}"
        raise ContentError(path, line_in(path, key), f"unknown key {key!r}", fix)
    names = document.get("exercises")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ContentError(path, None, "no `exercises`", 'add exercises = ["<name>", ...]')
    if twice := [name for name in names if names.count(name) > 1]:
        problem = f"{twice[0]!r} is listed twice in `exercises`"
        raise ContentError(path, line_in(path, "exercises"), problem, "list each exercise once")
    name = path.parent.name
    return Assignment(
        name=name,
        title=str(document.get("title", name.replace("_", " ").capitalize())),
        exercises=tuple(_exercise(root, name, exercise) for exercise in names),
        limits=_limits(path, document.get("limits", {})),
        duedate=_duedate(path, document),
    )


def _duedate(path: Path, document: dict[str, Any]) -> DueDate | None:
    if "duedate" not in document:
        if "grace" in document:
            raise ContentError(path, None, "a grace period without a due date", HOW_TO_WRITE)
        return None
    try:
        due = parse_duedate(str(document["duedate"]))
    except DateError as error:
        fix = "write " + error.remedy('duedate = "{}"')
        raise ContentError(path, None, f"due date: {error}", fix) from error
    try:
        return replace(due, grace=parse_duration(str(document.get("grace", "0"))))
    except ValueError as error:
        fix = 'write grace = "15min", "1d" or another duration'
        raise ContentError(path, None, f"grace period: {error}", fix) from error


def _limits(path: Path, table: dict[str, Any]) -> Limits:
    known = {limit.name: limit.type for limit in fields(Limits)}
    for key, value in table.items():
        if key not in known:
            fix = f"use one of: {', '.join(sorted(known))}"
            raise ContentError(path, line_in(path, "limits", key), f"unknown limit {key!r}", fix)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ContentError(path, None, f"limit {key} = {value!r}", "give a positive number")
    values: dict[str, Any] = {
        k: int(v) if known[k] == "int" else float(v) for k, v in table.items()
    }
    return Limits(**values)


def _exercise(root: Path, assignment: str, name: str) -> Exercise:
    solution = root / "solutions" / assignment / f"{name}.py"
    if not solution.is_file():
        raise ContentError(solution, None, "no solution module", "write it, or rename the exercise")
    paths = {kind: root / place.format(assignment, name) for kind, place in _PLACES.items()}
    return Exercise(assignment, name, questions_in(solution), **paths)


def questions_in(solution: Path) -> tuple[Question, ...]:
    """Returns the questions of a solution module: its public definitions with a solution.

    Raises `ContentError` if the module can't be parsed, lacks markers, or has no question.
    """
    text = solution.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ContentError(solution, error.lineno, str(error.msg), "fix the line") from error
    lines = text.splitlines()
    found = [
        Question(node.name, isinstance(node, ast.ClassDef), node.lineno)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and SUPPLIED not in lines[node.lineno - 1]
    ]
    for question in found:
        _check_markers(solution, tree, lines, question)
    if not found:
        raise ContentError(solution, None, "no question", "define a public function or class")
    return tuple(found)


def _check_markers(solution: Path, tree: ast.Module, lines: list[str], question: Question) -> None:
    node = next(n for n in tree.body if getattr(n, "name", None) == question.name)
    body = lines[node.lineno - 1 : node.end_lineno]
    # the end marker may follow the last statement, because comments don't belong to any node
    body += lines[node.end_lineno : (node.end_lineno or 0) + 1]
    stripped = [line.strip() for line in body]
    if BEGIN_SOLUTION not in stripped or END_SOLUTION not in stripped:
        raise ContentError(
            solution,
            question.line,
            f"{question.name} has no {BEGIN_SOLUTION} ... {END_SOLUTION}",
            f"put the solution between the markers, or write {SUPPLIED!r} after the class line",
        )
