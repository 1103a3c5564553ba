"""Creates nbgrader's source notebook, including solutions, from the text in `source/`."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

import jupytext

from ..course import BEGIN_SOLUTION
from ..course.rules import QuestionRules, rules_beside
from ..errors import ContentError
from ..records import Exercise
from .claims import without_claims
from .ipynb import Cell, Notebook, code_cell, markdown_cell, notebook_of
from .solution_parts import ModuleParts

SETUP = "setup"
#: the id of the cell that shows the notebook's place in the course
WAY = "way"
#: the id of the cell that finds this package if it is not installed
BRING_CHECKS = "bring_checks"
_IMPORT_CHECK = """\
try:
    from autograder.student import check, hint, retry, trace
except ModuleNotFoundError as error:
    raise ImportError(f"{error}: run the cell above; it says what to do") from None"""
#: advice for students whose kernel has lost all names because it was restarted
_AFTER_A_RESTART = "# NameError? Run > Run All Above Selected Cell"
_KEPT_METADATA = ("tags",)
#: the tag of a cell that only draws, whose code is folded
_HIDDEN = "hide-input"
#: the first and only visible line of a folded cell; a longer one would be too wide for a phone
_FOLDED = "# draws the picture"
_FOLDED_CELL = {"jupyter": {"source_hidden": True}}
#: the title of a section about mistakes, which students read after they have tried
_MISTAKES = "What can go wrong"
_MISTAKES_SECTION = re.compile(
    rf"^#+ {_MISTAKES}\n(?P<text>.*?)(?=^#+ |\Z)", re.MULTILINE | re.DOTALL
)
_MISTAKES_FOLDED = """\
<details>
<summary>{title}: unfold this when a check stays red, or to compare when all are green</summary>

{text}

</details>"""


def source_notebook(
    exercise: Exercise, parts: ModuleParts, points: Mapping[str, float], way: str = ""
) -> Notebook:
    """Creates the notebook that nbgrader's `generate_assignment` reads; the first cell shows `way`.

    The first two code cells and the check cells are locked: nbgrader restores them if a student
    changes them. Raises `ContentError` with the line if the text is not valid.
    """
    text = _text_of(exercise)
    rules = rules_beside(exercise.hidden_suite)
    cells: list[Cell] = [markdown_cell(WAY, way)] if way else []
    answered: set[str] = set()
    mistakes: list[str] = []
    for cell in _read(exercise, text):
        if cell["cell_type"] == "code" and not any(made["id"] == SETUP for made in cells):
            cells += [_bring_cell(exercise.assignment), _setup_cell(parts)]
        question = cell["metadata"].get("question")
        if question is None:
            if cell["cell_type"] == "markdown":
                cell["source"], found = without_mistakes(cell["source"])
                mistakes += found
            if cell["source"]:
                cells.append(_text_cell(exercise, text, cell))
            continue
        _check_question(exercise, text, cell, question, answered)
        answered.add(question)
        if rule := rules.get(question, QuestionRules()).page:
            cells.append(markdown_cell(f"rules_{question}", f"**Rules.** {rule}", {}))
        cells += _question_cells(question, parts.definitions[question], points[question])
        name = f"mistakes_{question}"
        cells += [markdown_cell(name, without_claims(section)) for section in mistakes]
        mistakes = []
    _check_complete(exercise, answered)
    if mistakes:
        raise ContentError(
            exercise.source,
            line_of(text, f"# {_MISTAKES}"),
            f'"{_MISTAKES}" is below the last question',
            "put it above the question that it is about: release moves it below the check",
        )
    _number_equal_cells(cells)
    return notebook_of(cells)


def without_mistakes(text: str) -> tuple[str, list[str]]:
    """Separates sections about mistakes from `text`; returns the rest, and the sections, folded.

    Students who read about a mistake before their first try don't make the mistake themselves, and
    so they learn less from it.
    """
    found = [
        _MISTAKES_FOLDED.format(title=_MISTAKES, text=match["text"].strip())
        for match in _MISTAKES_SECTION.finditer(text)
    ]
    return _MISTAKES_SECTION.sub("", text).strip("\n") if found else text, found


def _text_of(exercise: Exercise) -> str:
    try:
        return exercise.source.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ContentError(
            exercise.source, None, "the text is missing", "write it (see docs/authoring.md)"
        ) from None
    except UnicodeDecodeError as error:
        raise ContentError(exercise.source, None, "not UTF-8", "save it as UTF-8") from error


def _read(exercise: Exercise, text: str) -> list[Cell]:
    try:
        return list(jupytext.reads(text, fmt="md:myst").cells)
    except Exception as error:  # jupytext's parsers may raise any exception
        raise ContentError(
            exercise.source, None, f"not a MyST notebook: {error}", "see docs/authoring.md"
        ) from error


def bring_source(assignment: str) -> str:
    """Returns the code of the cell that finds this package if it is not installed."""
    template = resources.files(__package__).joinpath("templates", f"{BRING_CHECKS}.py")
    source = Template(template.read_text(encoding="utf-8")).substitute(assignment=assignment)
    return source.rstrip("\n")


def folded_cell(name: str, source: str, metadata: Mapping[str, Any]) -> Cell:
    """Returns a code cell that shows readers nothing but its first line."""
    return code_cell(name, source, {**metadata, "tags": [_HIDDEN], **_FOLDED_CELL})


def _bring_cell(assignment: str) -> Cell:
    metadata = _nbgrader(BRING_CHECKS, locked=True)
    return folded_cell(BRING_CHECKS, bring_source(assignment), metadata)


def _setup_cell(parts: ModuleParts) -> Cell:
    """Creates the cell with imports, which imports `check` before this package's other names."""
    lines = parts.given.splitlines()
    tree = ast.parse(parts.given)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in imports if not ast.unparse(node).startswith("from autograder.")]
    added = ["", _IMPORT_CHECK]
    if not any(ast.unparse(node) == "import torch" for node in imports):
        added = ["import torch", *added]
    at = max((node.end_lineno or 0 for node in others), default=0)
    source = "\n".join([*lines[:at], *added, *lines[at:]])
    return code_cell(SETUP, source, _nbgrader(SETUP, locked=True))


def _question_cells(question: str, definition: str, points: float) -> list[Cell]:
    worth = int(points) if points == int(points) else points
    check = f"check_{question}"
    return [
        code_cell(
            question, f"{_AFTER_A_RESTART}\n{definition}", _nbgrader(question, solution=True)
        ),
        code_cell(
            check,
            f'check("{question}")  {_AFTER_A_RESTART}',
            _nbgrader(check, grade=True, locked=True, points=worth),
        ),
    ]


def _nbgrader(grade_id: str, **changes: Any) -> dict[str, Any]:
    """Returns nbgrader's metadata for a cell; `changes` override the usual values."""
    usual = {"grade": False, "locked": False, "schema_version": 3, "solution": False, "task": False}
    return {"nbgrader": {**usual, "grade_id": grade_id, **changes}}


def _text_cell(exercise: Exercise, text: str, cell: Cell) -> Cell:
    source = cell["source"]
    if BEGIN_SOLUTION in source:
        raise ContentError(
            exercise.source,
            line_of(text, BEGIN_SOLUTION),
            "the text contains a solution",
            f"move it to {exercise.solution}",
        )
    kept = {key: cell["metadata"][key] for key in _KEPT_METADATA if key in cell["metadata"]}
    # in a cell that imports a module from this package, a NameError shows the advice anyway
    says = cell["cell_type"] == "code" and "from autograder." not in source
    if _HIDDEN in kept.get("tags", ()):
        kept |= _FOLDED_CELL
        source = f"{_FOLDED}\n{source}"
    # name the cell after its content, so that changes to other cells don't rename it
    kind = cell["cell_type"]
    if kind != "code":
        source = without_claims(source)
    digest = hashlib.sha256(f"{kind}/{source}".encode()).hexdigest()
    name = f"words-{digest[:12]}"
    if kind != "code":
        return markdown_cell(name, source, kept)
    _refuse_definitions(exercise, text, source)
    if says:
        first, _, rest = (
            source.partition("\n") if _HIDDEN in kept.get("tags", ()) else ("", "", source)
        )
        source = "\n".join(filter(None, (first, _AFTER_A_RESTART, rest)))
    return code_cell(name, source, kept)


def _refuse_definitions(exercise: Exercise, text: str, source: str) -> None:
    """Rejects a cell that defines a question, because it would replace a student's answer."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return  # a magic line; any other error is found when the notebook runs
    names = {question.name for question in exercise.questions}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            raise ContentError(
                exercise.source,
                line_of(text, f"{node.name}("),
                f"a cell in the text defines {node.name}",
                "rename it: the last definition of a question counts as the answer",
            )


def _check_question(
    exercise: Exercise, text: str, cell: Cell, question: str, answered: set[str]
) -> None:
    line = line_of(text, f"question: {question}")
    names = [known.name for known in exercise.questions]
    if question not in names:
        raise ContentError(
            exercise.source,
            line,
            f"{exercise.solution.name} has no question {question!r}",
            f"use one of: {', '.join(names)}",
        )
    if question in answered:
        raise ContentError(exercise.source, line, f"{question} has two cells", "remove one")
    if cell["source"].strip():
        raise ContentError(
            exercise.source,
            line,
            f"the cell of {question} is not empty",
            f"leave it empty: release takes the definition from {exercise.solution.name}",
        )


def _check_complete(exercise: Exercise, answered: set[str]) -> None:
    for question in exercise.questions:
        if question.name not in answered:
            raise ContentError(
                exercise.solution,
                question.line,
                f"{question.name} has no cell in {exercise.source}",
                f"put an empty code cell with `:question: {question.name}` there",
            )


def line_of(text: str, part: str) -> int | None:
    """Returns the number of the last line that contains `part`, or None if no line does."""
    found = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    return found[-1] if found else None


def _number_equal_cells(cells: list[Cell]) -> None:
    """Numbers the ids of cells with the same text, because a notebook's ids must be unique."""
    seen: dict[str, int] = {}
    for cell in cells:
        name = cell["id"]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            cell["id"] = f"{name}-{seen[name]}"
