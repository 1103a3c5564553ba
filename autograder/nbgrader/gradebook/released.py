"""Reads released notebooks into records of the cells that nbgrader manages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.nbgraderformat import reads

from ...errors import ContentError
from ...records import Assignment, DueDate
from ...submission.code import SubmittedCode, read_code

CHECK = "check_"


@dataclass(frozen=True, slots=True)
class ReleasedCell:
    """A named cell that nbgrader manages; `points` is 0 unless the cell is graded."""

    name: str
    cell_type: str
    grade: bool
    solution: bool
    locked: bool
    points: float
    source: str
    checksum: str


@dataclass(frozen=True, slots=True)
class ReleasedNotebook:
    """The notebook of one exercise, as it was released to students."""

    name: str
    stub: SubmittedCode
    document: dict[str, Any]
    kernelspec: str
    cells: tuple[ReleasedCell, ...]

    @property
    def questions(self) -> dict[str, ReleasedCell]:
        """Each question's check cell, keyed by the question's name."""
        judged = (cell for cell in self.cells if cell.grade and not cell.solution)
        return {cell.name.removeprefix(CHECK): cell for cell in judged}


@dataclass(frozen=True, slots=True)
class ReleasedAssignment:
    """An assignment of the course with its released notebooks.

    `is_nbgraders` is true if nbgrader created the release. Such a release may contain cells and
    notebooks that the course does not have.
    """

    name: str
    duedate: DueDate | None
    notebooks: tuple[ReleasedNotebook, ...]
    is_nbgraders: bool = False


def read_release(assignment: Assignment, nbgraders: Path) -> ReleasedAssignment:
    """Reads an assignment's released notebooks; raises `ContentError` if one is missing or damaged.

    The folder `nbgraders` may contain nbgrader's release for this class. If any of the notebooks
    are in this folder, only these are read; otherwise, the notebooks in `assignments/` are read.
    """
    stubs = [exercise.stub for exercise in assignment.exercises]
    given = [stub for stub in stubs if (nbgraders / f"{stub.stem}.ipynb").is_file()]
    return ReleasedAssignment(
        name=assignment.name,
        duedate=assignment.duedate,
        notebooks=tuple(
            [_read(stub, nbgraders / f"{stub.stem}.ipynb") for stub in given]
            or [_read(stub, stub.with_suffix(".ipynb")) for stub in stubs]
        ),
        is_nbgraders=bool(given),
    )


def _read(stub: Path, path: Path) -> ReleasedNotebook:
    fix = f"run `autograder release {stub.parent.name}`, or nbgrader's generate_assignment"
    try:
        notebook = reads(path.read_text(encoding="utf-8"), as_version=4)
    except FileNotFoundError as error:
        raise ContentError(path, None, "there is no released notebook", fix) from error
    except Exception as error:  # nbformat and nbgrader have no common error
        problem = f"not a notebook that nbgrader can use: {type(error).__name__}: {error}"
        raise ContentError(path, None, problem, fix) from error
    cells = tuple(_cell(cell) for cell in notebook.cells if _is_kept(cell))
    return ReleasedNotebook(
        name=stub.stem,
        stub=read_code(stub.parent, stub.name),
        document=json.loads(json.dumps(notebook)),
        kernelspec=json.dumps(notebook.metadata.get("kernelspec", {})),
        cells=cells,
    )


def _is_kept(cell: NotebookNode) -> bool:
    is_ours = utils.is_grade(cell) or utils.is_solution(cell) or utils.is_locked(cell)
    return bool(is_ours or utils.is_task(cell))


def _cell(cell: NotebookNode) -> ReleasedCell:
    metadata = cell.metadata.nbgrader
    return ReleasedCell(
        name=metadata.grade_id,
        cell_type=cell.cell_type,
        grade=utils.is_grade(cell),
        solution=utils.is_solution(cell),
        locked=utils.is_locked(cell),
        points=float(metadata.get("points", 0.0)),
        source=cell.source,
        checksum=metadata.get("checksum") or utils.compute_checksum(cell),
    )
