"""Writes all files for new exercises, questions and courses, with TO DO notes for the author."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from ..course.content import questions_in
from ..course.rules import read_toml
from ..errors import ContentError, UserError
from ..files import replace_file
from ..results.wording import readable

#: the paths of an exercise's files, by their templates
_PLACES = {
    "solution": "solutions/{assignment}/{exercise}.py",
    "hidden": "tests/hidden/{assignment}/test_{exercise}.py",
    "public": "tests/public/{assignment}/test_{exercise}.py",
    "source": "source/{assignment}/{exercise}.md",
    "hints": "source/{assignment}/hints.toml",
    "afterwards": "source/{assignment}/afterwards.toml",
    "misconceptions": "tests/misconceptions/{assignment}/{exercise}.py",
    "alternatives": "tests/alternatives/{assignment}/{exercise}.py",
}
#: the kinds of files that every exercise needs besides its solution
_NEEDED = ("hidden", "public", "source")
#: the kinds of files that get new questions only if the assignment already has such a file
_WHERE_THERE = ("afterwards",)
_PART = re.compile(r"^%%\n", re.MULTILINE)
_IMPORT = (ast.Import, ast.ImportFrom)
_QUESTION_CELL = re.compile(r"^:question: \w+\n(?:.*\n)*?```", re.MULTILINE)
#: the beginning of the part below a page's last question: a chapter or, if there is none, folded
#: text; if there is a chapter, folded text above it may be an answer to the last question
_CHAPTER, _FOLDED = (re.compile(text, re.MULTILINE) for text in (r"^## (?!.*`)", "^<details"))
_EXERCISES = re.compile(r"^exercises\s*=\s*\[(?P<names>[^\]]*)\]", re.MULTILINE)
#: the files and folders that may already be in a folder that becomes a course
_NOTHING = {".git", ".venv", ".gitignore", ".gitattributes", "README.md", "LICENSE"}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The files that the command `new` wrote for an exercise and, if necessary, for its course."""

    root: Path
    repository: tuple[Path, ...]
    written: tuple[Path, ...]


def scaffold_course(root: Path) -> tuple[Path, ...]:
    """Turns an empty folder into a course without exercises; raises `UserError` if it is not empty.

    The folder may already contain a README.md, a LICENSE, a virtual environment and Git's files.
    """
    others = {path.name for path in root.iterdir()} - _NOTHING if root.is_dir() else set()
    if others:
        raise UserError(
            f"{root.resolve()} is not inside a course, and cannot become one: it contains "
            f"{', '.join(sorted(others)[:5])}. Go to an empty folder, or use --course FOLDER."
        )
    files = [(_repository_name(file.name), file.read_text("utf-8")) for file in _repository()]
    files.append(("constraints.txt", f"torch=={metadata.version('torch').partition('+')[0]}\n"))
    new = [(root / name, text) for name, text in files if not (root / name).exists()]
    for folder in ("source", "solutions"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    return tuple(replace_file(path, text) for path, text in new)


def scaffold_exercise(
    root: Path, assignment: str, exercise: str, questions: Sequence[str]
) -> tuple[Path, ...]:
    """Writes the files of an exercise, or adds questions to it; returns the files that changed.

    Without `questions`, writes the missing files of an existing exercise, for all its questions.
    Existing text is not replaced. Raises `UserError` if a name is not a valid Python name, already
    exists, or differs from one only in case, and `ContentError` if assignment.toml has no
    exercises.
    """
    for name in (assignment, exercise, *questions):
        _check_name(name)
    places = {
        kind: root / place.format(assignment=assignment, exercise=exercise)
        for kind, place in _PLACES.items()
    }
    wanted = tuple(questions) or (exercise,)
    solution = places["solution"]
    for path in (root / "source" / assignment, solution):
        _check_case(path)
    if solution.exists() and not questions:
        places = {kind: places[kind] for kind in _NEEDED if not places[kind].is_file()}
        wanted = tuple(question.name for question in questions_in(solution))
    if not places:
        raise UserError(
            f"{assignment}/{exercise} already exists: use --question NAME to add a question"
        )
    texts = dict(_texts(places, exercise, wanted))
    settings = root / "source" / assignment / "assignment.toml"
    texts[settings] = _with_exercise(settings, assignment, exercise)
    changed = [p for p, text in texts.items() if not p.is_file() or p.read_text("utf-8") != text]
    return tuple(replace_file(path, texts[path]) for path in changed)


def _texts(
    places: Mapping[str, Path], exercise: str, questions: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    for kind, path in places.items():
        if kind in _WHERE_THERE and not path.is_file():
            continue
        head, function, klass = _PART.split(_template(f"{kind}.txt"))
        head = Template(head).substitute(exercise=exercise, title=readable(exercise))
        text = path.read_text(encoding="utf-8") if path.is_file() else head
        if path.suffix == ".py":
            text = _with_imports(path, text, head)
        for question in questions:
            if kind == "solution" and re.search(rf"^(def|class) {question}\b", text, re.MULTILINE):
                raise UserError(f"{path}: {question} already exists; choose a different name")
            part = klass if question[0].isupper() and klass.strip() else function
            filled = Template(part).substitute(question=question, constant=question.upper())
            text = _with_section(text, filled) if kind == "source" else _with_end(text, filled)
        yield path, text


def _with_end(text: str, part: str) -> str:
    return text.rstrip("\n") + "\n" + part


def _with_section(text: str, part: str) -> str:
    """Adds a section below the other questions' sections and above the last part of the page."""
    cells = list(_QUESTION_CELL.finditer(text))
    after = cells[-1].end() if cells else len(text)
    closing = _CHAPTER.search(text, after) or _FOLDED.search(text, after)
    at = closing.start() if closing else len(text)
    return f"{_with_end(text[:at], part)}\n{text[at:]}".rstrip("\n") + "\n"


def _with_imports(path: Path, text: str, head: str) -> str:
    """Adds missing imports to code; `head`, the beginning of a new file, contains all imports."""
    for wanted in _imports(path, head):
        known = _imports(path, text)
        same = [node for node in known if _module(node) == _module(wanted)]
        there = {alias.name for node in same for alias in node.names}
        missing = [alias for alias in wanted.names if alias.name not in there]
        if not missing:
            continue
        lines = text.splitlines()
        if same and isinstance(wanted, ast.ImportFrom):
            first = same[0]  # it becomes one line, sorted as a linter expects
            first.names = sorted([*first.names, *missing], key=lambda alias: alias.name)
            lines[first.lineno - 1 : first.end_lineno] = [ast.unparse(first)]
        else:
            wanted.names = missing
            at = max((node.end_lineno or 0 for node in known), default=0)
            lines.insert(at, ast.unparse(wanted))
        text = "\n".join(lines) + "\n"
    return text


def _imports(path: Path, text: str) -> list[ast.Import | ast.ImportFrom]:
    try:
        return [node for node in ast.parse(text).body if isinstance(node, _IMPORT)]
    except SyntaxError as error:
        raise ContentError(path, error.lineno, str(error.msg), "fix the line") from error


def _module(node: ast.Import | ast.ImportFrom) -> str:
    return node.module or "" if isinstance(node, ast.ImportFrom) else ""


def _with_exercise(path: Path, assignment: str, exercise: str) -> str:
    """Returns the text of assignment.toml with the exercise added to the end of its list."""
    if path.is_file():
        text, names = path.read_text(encoding="utf-8"), read_toml(path).get("exercises", [])
    else:
        text = Template(_template("assignment.txt")).substitute(title=readable(assignment))
        names = []
    found = _EXERCISES.search(text)
    if exercise in names:
        return text
    if found is None:
        raise ContentError(path, None, "no `exercises`", 'add exercises = ["<name>", ...]')
    listed = ", ".join(f'"{name}"' for name in [*names, exercise])
    return f"{text[: found.start()]}exercises = [{listed}]{text[found.end() :]}"


def _check_name(name: str) -> None:
    if keyword.iskeyword(name):
        raise UserError(
            f"{name!r} is not a valid Python name: it is a keyword of Python; choose a different "
            "name"
        )
    if not name.isidentifier() or name.startswith("_"):
        raise UserError(
            f"{name!r} is not a valid Python name: use letters, digits and _, such as "
            "'simplified_attention'"
        )


def _check_case(path: Path) -> None:
    """Refuses a name if another one differs only in upper and lower case.

    On some file systems, both names are the same file.
    """
    for other in sorted(path.parent.glob("*")):
        if other.name.casefold() == path.name.casefold() and other.name != path.name:
            raise UserError(
                f"{path.stem} differs from {other.stem} only in upper and lower case: use "
                f"{other.stem}, or choose a different name"
            )


def _templates() -> Traversable:
    return resources.files(__package__).joinpath("templates", "new")


def _template(name: str) -> str:
    return _templates().joinpath(name).read_text(encoding="utf-8")


def _repository() -> list[Traversable]:
    return sorted(_templates().joinpath("repository").iterdir(), key=lambda file: file.name)


def _repository_name(name: str) -> str:
    # a template called .gitignore would apply to the templates themselves
    return ".gitignore" if name == "gitignore" else name
