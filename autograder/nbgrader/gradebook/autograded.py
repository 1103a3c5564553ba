"""Creates the autograded notebook that formgrader shows to a human grader.

A student's own notebook is used if every cell that nbgrader manages occurs in it exactly once.
Otherwise, or if the student submitted a module, the student's answers are filled into the released
notebook.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import SubmissionError
from ...escaping import printable
from ...records import ExerciseResult, ExerciseStatus, SubmissionResult
from ...results.wording import shortened
from ...submission.bounded import BoundedReader
from ...submission.code import (
    SubmittedCode,
    read_code,
    same_code,
    source_of,
    unreadable_code,
)
from ..sanitize import Cell, safe_cell
from .messages import check_output
from .released import CHECK, ReleasedAssignment, ReleasedNotebook

_LONGEST_SOURCE = 200_000
_LARGEST_NOTEBOOK = 8 << 20


class NotebookMaker:
    """Creates autograded notebooks in a child process with limits. Use it as a context manager."""

    def __init__(self, releases: Mapping[str, ReleasedAssignment]) -> None:
        self._releases = releases
        self._reader = BoundedReader(self._read)

    def text(self, result: SubmissionResult, number: int, submitted: Path) -> str:
        """Returns the autograded notebook of the exercise at this index in the release."""
        try:
            return self._reader(result, number, str(submitted))
        except SubmissionError as error:
            released, exercise = self._find(result, number)
            file = exercise.file if exercise else None
            return _autograded_notebook(
                released, exercise, SubmittedCode(problem=f"{file} {error}")
            )

    def __enter__(self) -> NotebookMaker:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def _read(self, result: SubmissionResult, number: int, submitted: str) -> str:
        released, exercise = self._find(result, number)
        if exercise is not None and exercise.status is ExerciseStatus.UNREADABLE:
            answers = unreadable_code(Path(submitted), exercise.file)
        else:
            answers = read_code(Path(submitted), exercise.file if exercise else None)
        return _autograded_notebook(released, exercise, answers)

    def _find(
        self, result: SubmissionResult, number: int
    ) -> tuple[ReleasedNotebook, ExerciseResult | None]:
        released = self._releases[result.assignment].notebooks[number]
        exercises = {exercise.exercise: exercise for exercise in result.exercises}
        return released, exercises.get(released.name)


def _autograded_notebook(
    released: ReleasedNotebook, exercise: ExerciseResult | None, answers: SubmittedCode
) -> str:
    """Returns a student's autograded notebook for one exercise, as text."""
    notes = list(exercise.notes) if exercise else []
    notes += [answers.problem] if answers.problem else []
    cells = None
    if answers.notebook is not None:
        cells, why = _kept(released, answers.notebook)
        notes += [why] if why else []
    if cells is None:
        cells = _rebuilt(released, answers)
    fill_in(cells, exercise)
    return _document(released, _with_notes(cells, notes))


def _kept(released: ReleasedNotebook, notebook: dict[str, Any]) -> tuple[list[Cell] | None, str]:
    """Returns the student's own cells (None if they can't be used), and a note or ""."""
    found = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    names = [_name(cell) for cell in found]
    counts = Counter(name for name in names if name)
    for cell in released.cells:
        if counts[cell.name] != 1:
            what = "is missing" if not counts[cell.name] else "occurs more than once"
            return None, f"the notebook was rebuilt: its cell {cell.name!r} {what}"
    by_name = {_name(cell): cell for cell in released.document["cells"] if _name(cell)}
    pairs = [(cell, by_name.get(name)) for cell, name in zip(found, names, strict=True)]
    if any(own and own["cell_type"] != cell.get("cell_type") for cell, own in pairs):
        return None, "the notebook was rebuilt: a cell has a different type than in the release"
    known = frozenset(source_of(cell) for cell in released.document["cells"])
    cells = [_restored(safe_cell(cell, known), own) for cell, own in pairs]
    if sum(len(json.dumps(cell)) for cell in cells) > _LARGEST_NOTEBOOK:
        return None, "the notebook was rebuilt: it is too large to be shown"
    changed = [_name(cell) for cell, own in pairs if own and _is_fixed(own) and _differ(cell, own)]
    names_changed = ", ".join(str(name) for name in changed)
    return cells, f"changed by the student, shown as released: {names_changed}" if changed else ""


def _is_fixed(original: Cell) -> bool:
    """Returns whether nbgrader always shows this cell as released, ignoring a student's changes."""
    kept = original["metadata"]["nbgrader"]
    return bool(kept.get("locked") or kept.get("grade")) and not kept.get("solution")


def _differ(cell: Cell, original: Cell) -> bool:
    return source_of(cell).strip() != source_of(original).strip()


def _name(cell: Cell) -> str | None:
    metadata = cell.get("metadata")
    kept = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = kept.get("grade_id") if isinstance(kept, dict) else None
    return name if isinstance(name, str) else None


def _restored(cell: Cell, original: Cell | None) -> Cell:
    """Returns a cell with its released metadata and, if the cell is fixed, its released source."""
    if original is None:
        return cell
    metadata = dict(original["metadata"]["nbgrader"])
    source = source_of(original) if _is_fixed(original) else cell["source"]
    return {**cell, "metadata": {"nbgrader": metadata}, "source": source}


def _rebuilt(released: ReleasedNotebook, answers: SubmittedCode) -> list[Cell]:
    cells = [_copied(cell, answers) for cell in released.document["cells"]]
    if other := _other_code(released, answers):
        cells.append(_comment_cell(["The rest of what was submitted:"], printable(other)))
    return cells


def _copied(cell: Cell, answers: SubmittedCode) -> Cell:
    copy = {key: value for key, value in cell.items() if key != "id"}
    if copy["cell_type"] == "code":
        copy["outputs"] = []
    name = _name(cell) or ""
    if cell["metadata"].get("nbgrader", {}).get("solution") and name in answers.definitions:
        copy["source"] = shortened(printable(answers.definitions[name]), _LONGEST_SOURCE)
    return copy


def _other_code(released: ReleasedNotebook, answers: SubmittedCode) -> str:
    """Returns those parts of the student's code outside the questions that differ from the stub."""
    stub = released.stub
    parts = [] if same_code(answers.rest, stub.rest) else [answers.rest]
    for name, code in answers.definitions.items():
        if name not in released.questions and not same_code(code, stub.definitions.get(name, "")):
            parts.append(code)
    return shortened("\n\n\n".join(part for part in parts if part.strip()), _LONGEST_SOURCE)


def fill_in(cells: Iterable[Cell], exercise: ExerciseResult | None) -> None:
    """Adds the verdicts to the check cells, as their outputs."""
    results = {question.question: question for question in (exercise.questions if exercise else ())}
    for cell in cells:
        name = _name(cell) or ""
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code":
            text = check_output(exercise, results.get(name.removeprefix(CHECK)))
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
            cell["execution_count"] = None


def _with_notes(cells: list[Cell], notes: list[str]) -> list[Cell]:
    return [_comment_cell(["autograder:", *notes], ""), *cells] if notes else cells


def _comment_cell(notes: list[str], code: str) -> Cell:
    """Returns a code cell with notes, because Markdown would interpret their text."""
    lines = [f"# {line}" for note in notes for line in printable(note).splitlines()]
    source = "\n".join([*lines, code] if code else lines)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _document(released: ReleasedNotebook, cells: list[Cell]) -> str:
    """Returns the notebook as JSON with one line per cell, which is much faster than indenting."""
    numbered = ({**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells))
    lines = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in numbered)
    rest = json.dumps(
        {
            "metadata": {"kernelspec": json.loads(released.kernelspec)},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    return f'{{"cells": [\n{lines}\n],\n{rest[1:]}\n'
