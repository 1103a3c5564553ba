"""Every released notebook runs from top to bottom, both as released and when solved."""

from __future__ import annotations

import ast
import copy
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

from autograder.authoring.claims import claims_in, without_claims
from autograder.authoring.course_map import course_map
from autograder.authoring.question_texts import afterwards_of, hints_of
from autograder.authoring.solution_parts import split_module
from autograder.authoring.source_notebook import without_mistakes
from autograder.course import load_course
from autograder.records import Exercise
from autograder.submission.notebook import code_cells

from ..runners import run_tasks

ROOT = Path(__file__).parents[3]
RUNNER = Path(__file__).with_name("notebook_runs.py")
COURSE = load_course(ROOT)
EXERCISES = [exercise for assignment in COURSE.assignments for exercise in assignment.exercises]
#: notebooks without questions
EXTRAS = sorted((ROOT / "source").glob("*/extras/*.md"))
#: the tag of a cell that takes minutes, so that no test runs it
LONG = "takes-minutes"
#: the maximum CPU time for a notebook, as a multiple of the time for loading torch and what draws
#: pictures; because this is a ratio, it holds on slow machines, too
MOST_CPU_TIME = 4.0

Runs = dict[str, dict[str, Any]]


def name_of(exercise: Exercise) -> str:
    return f"{exercise.assignment}/{exercise.name}"


@cache
def released_notebook(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def notebook_of(exercise: Exercise, *, solved: bool) -> Any:
    """Returns the released notebook, with the solutions in its answer cells if `solved` is true."""
    notebook = copy.deepcopy(released_notebook(exercise.stub.with_suffix(".ipynb")))
    if solved:
        for question, definition in split_module(exercise).definitions.items():
            (cell,) = [cell for cell in notebook.cells if cell.id == question]
            cell.source = definition
    return notebook


@cache
def source_cells(lesson: Path) -> list[Any]:
    """Returns the cells of a lesson as its author wrote them, with claims in the text."""
    cells: list[Any] = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="md:myst").cells
    return cells


def claims_by_text(exercise: Exercise) -> dict[str, list[str]]:
    """Returns the claims of each text cell, keyed by the text that students read."""
    texts: list[str] = []
    for cell in source_cells(exercise.source):
        if cell.cell_type == "markdown":
            kept, mistakes = without_mistakes(cell.source)
            texts += [kept, *mistakes]
    return {without_claims(text): claims_in(text) for text in texts}


def cells_of_extra(lesson: Path) -> list[Any]:
    """Returns the claims in a notebook without questions, and its code cells except slow ones."""
    cells: list[Any] = []
    for cell in source_cells(lesson):
        if cell.cell_type == "markdown":
            cells += [["holds", claim] for claim in claims_in(cell.source)]
        elif LONG not in cell.metadata.get("tags", ()):
            cells.append(cell.source)
    return cells


def cells_of(exercise: Exercise, *, solved: bool) -> list[Any]:
    """Returns a notebook's code cells; for a solved notebook, also the claims between them."""
    claims = claims_by_text(exercise) if solved else {}
    cells: list[Any] = []
    for cell in notebook_of(exercise, solved=solved).cells:
        if cell.cell_type == "code":
            cells.append(cell.source)
        else:
            cells += [["holds", claim] for claim in claims.get(cell.source, [])]
    return cells


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a copy of all released assignments."""
    return Path(shutil.copytree(ROOT / "assignments", tmp_path_factory.mktemp("class") / "all"))


def run_all(folders: Path, *, solved: bool) -> Runs:
    """Runs all notebooks in one warm process; draws the pictures of solved ones only."""
    tasks = [
        (
            name_of(exercise),
            str(folders / exercise.assignment),
            cells_of(exercise, solved=solved),
        )
        for exercise in EXERCISES
    ]
    if solved:
        tasks += [
            (lesson.stem, str(folders / lesson.parts[-3] / "extras"), cells_of_extra(lesson))
            for lesson in EXTRAS
        ]
    arguments = [str(RUNNER)] if solved else [str(RUNNER), "undrawn"]
    runs: Runs = run_tasks(arguments, tasks, folders)
    return runs


@pytest.fixture(scope="module")
def stubs(folders: Path) -> Runs:
    """Returns the runs of the untouched notebooks."""
    return run_all(folders, solved=False)


@pytest.fixture(scope="module")
def solved(folders: Path) -> Runs:
    """Returns the runs of the solved notebooks."""
    return run_all(folders, solved=True)


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_every_check_of_an_untouched_notebook_says_what_to_do(
    stubs: Runs, exercise: Exercise
) -> None:
    run = stubs[name_of(exercise)]
    assert run["troubles"] == []
    said = [check.partition(",")[0] for check in run["checks"]]
    assert said == [f"○ {q.name}: not implemented yet" for q in exercise.questions]


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_a_solved_notebook_passes_every_check_without_a_warning(
    solved: Runs, exercise: Exercise
) -> None:
    run = solved[name_of(exercise)]
    assert run["troubles"] == []
    passed = [check.partition(",")[0] for check in run["checks"]]
    assert passed == [f"✓ {q.name}: all checks passed" for q in exercise.questions]


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_every_claim_of_a_text_holds(solved: Runs, exercise: Exercise) -> None:
    assert any(claims_by_text(exercise).values())
    assert solved[name_of(exercise)]["untrue"] == []


@pytest.mark.parametrize("lesson", EXTRAS, ids=lambda path: path.stem)
def test_every_claim_of_an_extra_holds_and_its_cells_run(solved: Runs, lesson: Path) -> None:
    assert claims_in(lesson.read_text(encoding="utf-8"))
    assert solved[lesson.stem]["untrue"] == []
    assert solved[lesson.stem]["troubles"] == []


#: a number in formulas or text with two decimals or more, or with commas between thousands
NUMBER = re.compile(r"(?<![\w.])\d+\.\d{2,}|(?<![\w.])\d{1,3}(?:\{?,\}?\d{3})+(?!\d|\.\d)")


def plain_number(text: str) -> str:
    return re.sub(r"[{},_]", "", text)


@pytest.mark.parametrize(
    "lesson", [exercise.source for exercise in EXERCISES] + EXTRAS, ids=lambda path: path.stem
)
def test_every_long_number_of_a_text_is_claimed_or_computed(lesson: Path) -> None:
    cells = source_cells(lesson)
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    sources += [claim for text in texts for claim in claims_in(text)]
    package = ROOT / "autograder" / "attention" / "notebooks"
    sources += [(package / f"{name}.py").read_text("utf-8") for name in ("sentences", "expected")]
    known = set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d)_(?=\d)", "", "\n".join(sources))))
    shown = [re.sub(r"\]\(\S*\)", "]", without_claims(text)) for text in texts]  # no links
    stated = {number for text in shown for number in NUMBER.findall(text)}
    assert {number for number in stated if plain_number(number) not in known} == set()


def typed_into_pictures(cell: str) -> set[str]:
    """Returns the numbers with at least three decimal places in a cell's calls to `heatmap`."""
    calls = [node for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
    pictures = [
        call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "heatmap"
    ]
    drawn = "".join(ast.get_source_segment(cell, call) or "" for call in pictures)
    return set(re.findall(r"(?<![\w.])\d+\.\d{3,}", drawn))


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_every_number_that_is_typed_into_a_picture_is_computed(exercise: Exercise) -> None:
    claims = " ".join(claim for found in claims_by_text(exercise).values() for claim in found)
    cells = [cell.source for cell in source_cells(exercise.source) if cell.cell_type == "code"]
    typed = [typed_into_pictures(cell) for cell in cells if not cell.startswith(":")]
    assert {number for found in typed for number in found if f'"{number}"' not in claims} == set()


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_a_notebook_shows_the_same_pictures_untouched_and_solved(
    stubs: Runs, solved: Runs, exercise: Exercise
) -> None:
    name = name_of(exercise)
    assert stubs[name]["pictures"] == solved[name]["pictures"] >= 3


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_a_solved_notebook_is_quick(solved: Runs, exercise: Exercise) -> None:
    assert solved[name_of(exercise)]["cpu_time"] < MOST_CPU_TIME


def test_a_real_kernel_shows_what_the_warm_process_shows(
    folders: Path, solved: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "simplified_attention/context"
    (exercise,) = [exercise for exercise in EXERCISES if name_of(exercise) == name]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = notebook_of(exercise, solved=True)
    folder = str(folders / exercise.assignment)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    assert pictures == solved[name]["pictures"]


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_given_cells_never_bind_usual_names_of_libraries(exercise: Exercise) -> None:
    statements = [
        s for cell in code_cells(notebook_of(exercise, solved=False)) for s in cell.statements
    ]
    bound = {name for s in statements if not s.is_import for name in s.binds}
    assert not bound & {"t", "th", "F", "nn", "N", "np", "plt", "m", "math", "torch"}


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_no_given_cell_contains_a_function_with_a_mistake(exercise: Exercise) -> None:
    notebook = notebook_of(exercise, solved=False)
    given = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert re.findall(r"def (suspicious\w*|wrong\w*)", given) == []


@pytest.mark.parametrize("assignment", COURSE.assignments, ids=lambda item: item.name)
def test_every_question_has_two_or_three_hints(assignment: Any) -> None:
    hints = hints_of(COURSE.root, assignment)
    names = {question.name for item in assignment.exercises for question in item.questions}
    assert {name: len(texts) in (2, 3) for name, texts in hints.items()} == dict.fromkeys(
        names, True
    )


@pytest.mark.parametrize("assignment", COURSE.assignments, ids=lambda item: item.name)
def test_every_question_has_a_text_for_afterwards(assignment: Any) -> None:
    names = {question.name for item in assignment.exercises for question in item.questions}
    assert afterwards_of(COURSE.root, assignment).keys() == names


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_a_notebook_has_a_guess_and_something_to_debug(exercise: Exercise) -> None:
    cells = notebook_of(exercise, solved=False).cells
    guesses = [
        cell for cell in cells if cell.source.rstrip().endswith(")") and "predict(" in cell.source
    ]
    assert guesses
    assert all("guess = None" in cell.source for cell in guesses)
    (debug, *_) = [n for n, cell in enumerate(cells) if "Debug this" in cell.source]
    assert any("<details>" in cell.source for cell in cells[debug : debug + 6])


def names_in(cell: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Name)}


#: what the last cell in each of the first five assignments calls
LAST_CALLS = ["attention_view", "at_work", "at_work", "at_work", "at_work"]


def test_the_last_cell_of_five_assignments_uses_an_answer() -> None:
    for stage, call in zip(course_map(COURSE).stages, LAST_CALLS, strict=False):
        exercise = COURSE.assignment(stage.name).exercises[-1]
        cells = notebook_of(exercise, solved=False).cells
        *earlier, last = [cell.source for cell in cells if cell.cell_type == "code"]
        used = names_in(last)
        helpers = [
            names_in(cell)
            for cell in earlier
            if used & set(re.findall(r"^def (\w+)", cell, re.MULTILINE))
        ]
        assert call in used
        questions = {question.name for question in exercise.questions}
        assert questions & used.union(*helpers), stage.name


def test_a_module_is_explained_before_the_first_one_is_written() -> None:
    exercises = [e for s in course_map(COURSE).stages for e in COURSE.assignment(s.name).exercises]
    notebooks = [notebook_of(exercise, solved=False).cells for exercise in exercises]
    first = next(cells for cells in notebooks if "nn.Module" in "".join(c.source for c in cells))
    written = next(n for n, c in enumerate(first) if "(nn.Module)" in c.source)
    texts = [cell.source for cell in first[:written] if cell.cell_type == "markdown"]
    (explained,) = [text for text in texts if "inherits from `nn.Module`" in text]
    assert all(word in explained for word in ("`__init__`", "`forward`", "`nn.Parameter`"))


def test_a_folded_cell_shows_a_line_that_fits_a_phone() -> None:
    folded = [
        cell.source
        for exercise in EXERCISES
        for cell in notebook_of(exercise, solved=False).cells
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert folded
    assert all(len(source.splitlines()[0]) <= 30 for source in folded)
