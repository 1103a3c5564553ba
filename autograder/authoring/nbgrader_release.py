"""nbgrader's own `generate_assignment`, in this process, in a course root of its own."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Mapping
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from ..course import BEGIN_SOLUTION, END_SOLUTION
from ..errors import GraderError
from .ipynb import notebook_json
from .parts import STUB


def generate_assignment(root: Path, assignment: str, sources: Mapping[str, str]) -> dict[str, str]:
    """Released notebooks from nbgrader source notebooks, by exercise.

    `root` is a temporary folder. Raises `GraderError` with nbgrader's log.
    """
    folder = root / "source" / assignment
    folder.mkdir(parents=True)
    for name, text in sources.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    _convert(root, assignment)
    release = root / "release" / assignment
    return {
        name: notebook_json(json.loads((release / f"{name}.ipynb").read_text(encoding="utf-8")))
        for name in sources
    }


def _convert(root: Path, assignment: str) -> None:
    log = io.StringIO()
    logger = logging.Logger("nbgrader", logging.WARNING)
    logger.addHandler(logging.StreamHandler(log))
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.assignment_id = assignment
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.begin_solution_delimeter = BEGIN_SOLUTION
    config.ClearSolutions.end_solution_delimeter = END_SOLUTION
    # what `nbgrader generate_assignment --no-db` says: the class's gradebook is made elsewhere
    config.GenerateAssignment.no_database = True
    config.SaveCells.enabled = False
    try:
        directory = CourseDirectory(config=config, log=logger)
        GenerateAssignment(coursedir=directory, config=config, log=logger).start()
    except Exception as error:  # nbgrader raises what it likes; its log says why
        raise GraderError(
            f"nbgrader can't release {assignment}: {error}\n{log.getvalue()}"
        ) from error
