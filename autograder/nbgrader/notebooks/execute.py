"""Runs nbgrader's Execute step in the sandbox, for `nbgrader autograde` and formgrader.

Most other steps are nbgrader's own: the steps before Execute restore the instructor's cells, and
the steps after Execute compute scores from the outputs.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute
from traitlets import Enum, Integer, List, Unicode

from ...errors import AnswerTimeout, AutograderError, SandboxError
from ...records import Limits, Tier
from ...sandbox import ForkServer, start_fork_server
from ...submission.code import source_of
from ...submission.opened import is_regular, read_bytes
from ..sanitize import make_safe
from .libraries import advice_on, libraries_for
from .notebook_runner import Cell, CellRun, NotebookContext, NotebookRunner
from .outputs import error_output

#: the time limit in seconds if none is configured in nbgrader
_A_DAY = 86_400
#: the wall time limit of a cell as a multiple of its CPU time limit
_CLOCK = 3
_MISSING = "No module named "


class SandboxedExecute(Execute):  # type: ignore[misc]  # nbgrader ships no types
    """Runs a notebook's cells in a sandboxed worker, with the time limit in `c.Execute.timeout`."""

    packages = List(
        Unicode(),
        help="Packages, by their names on PyPI, that notebooks may use in addition to those that "
        "the assignment's source notebooks import.",
    ).tag(config=True)
    memory_megabytes = Integer(
        2048, help="The memory that a notebook may use in addition to Python and its packages."
    ).tag(config=True)
    tier = Enum(["", "A", "B", "C"], "", help="Require this isolation tier.").tag(config=True)

    @property
    def most_seconds(self) -> float:
        """A cell's wall time limit in seconds."""
        limited = self.timeout is not None and self.timeout > 0
        return _CLOCK * float(self.timeout if limited else _A_DAY)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Runs a notebook's cells; nbgrader calls this method for each notebook in a submission."""
        language = nb.metadata.get("kernelspec", {}).get("language", "python")
        if language != "python":
            raise NbGraderException(f"notebooks in {language} do not run in the sandbox")
        cells = [cell for cell in nb.cells if self._runs(cell)]
        try:
            runs = self._run([_cell(cell) for cell in cells], resources)
        except AutograderError as error:
            self.parent.parent.grader_fault = error
            raise NbGraderException(str(error)) from error
        for number, (cell, run) in enumerate(zip(cells, runs, strict=True), start=1):
            self._fill_in(cell, run, number)
        make_safe(nb, self._known_markdown(resources["nbgrader"]["assignment"]))
        return nb, resources

    def _known_markdown(self, assignment: str) -> frozenset[str]:
        """Returns the content of the instructor's own Markdown cells, which need no cleaning."""
        sources = source_notebooks(self.parent.parent, assignment)
        notebooks = [json.loads(path.read_text(encoding="utf-8")) for path in sources]
        cells = [cell for notebook in notebooks for cell in notebook["cells"]]
        return frozenset(source_of(c) for c in cells if c["cell_type"] == "markdown")

    def _runs(self, cell: NotebookNode) -> bool:
        """Returns whether to run a cell.

        Unlike in nbgrader, students can't switch off a test by adding a tag to its cell.
        """
        if cell.cell_type != "code" or not cell.source.strip():
            return False
        return utils.is_grade(cell) or self.skip_cells_with_tag not in cell.metadata.get("tags", ())

    def _run(self, cells: Sequence[Cell], resources: dict[str, Any]) -> list[CellRun]:
        names = resources["nbgrader"]
        if not cells:
            return []
        fork_server = self._fork_server(names["assignment"])
        seconds = self.most_seconds / _CLOCK
        # limit the CPU time, because the wall time also depends on how busy the machine is
        limits = Limits(self.most_seconds, seconds, memory_bytes=self.memory_megabytes << 20)
        files, left_out = read_data_files(
            Path(resources["metadata"]["path"]), self._submitted(names)
        )
        for name in left_out:
            self.log.warning(
                "%s is not available to the notebook, because the files are too large", name
            )
        environment = {"NBGRADER_EXECUTION": "autograde"}
        surroundings = NotebookContext(_seed_of(cells), environment, files)

        def run() -> list[CellRun]:
            count = len(cells) + 1
            runner = NotebookRunner(lambda: fork_server.open(limits, count), limits, surroundings)
            return runner.run(cells)

        try:
            return run()
        except SandboxError:
            fork_server.restart()
            return run()

    def _submitted(self, names: dict[str, str]) -> Path:
        course = self.parent.parent.coursedir
        step = course.submitted_directory
        return Path(course.format_path(step, names["student"], names["assignment"]))

    def _fork_server(self, assignment: str) -> ForkServer:
        """Returns the converter's fork server, which is started on first use."""
        converter = self.parent.parent
        if getattr(converter, "fork_server", None) is None:
            sources = source_notebooks(converter, assignment)
            tier = Tier(self.tier) if self.tier else None
            fork_server = start_fork_server(tier, libraries_for(sources, self.packages))
            weakref.finalize(converter, fork_server.close)
            converter.fork_server = fork_server
        found: ForkServer = converter.fork_server
        return found

    def _fill_in(self, cell: NotebookNode, run: CellRun, number: int) -> None:
        cell.execution_count = number
        cell.outputs = list(run.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if output.output_type == "error" and output.evalue.startswith(_MISSING):
                self.log.warning(advice_on(output.evalue.removeprefix(_MISSING).strip("'")))
        if run.fault is not None:
            name = "CellTimeoutError" if isinstance(run.fault, AnswerTimeout) else "DeadWorkerError"
            cell.outputs.append(error_output(name, str(run.fault)))
        if utils.is_grade(cell):
            _make_gradable(cell)


def source_notebooks(converter: Any, assignment: str) -> list[Path]:
    course = converter.coursedir
    folder = Path(course.format_path(course.source_directory, ".", assignment))
    return sorted(folder.glob("*.ipynb"))


def _cell(cell: NotebookNode) -> Cell:
    return Cell(cell.source, is_test=utils.is_grade(cell) and not utils.is_solution(cell))


def _seed_of(cells: Sequence[Cell]) -> int:
    """Returns a seed that depends only on the cells, to make random numbers reproducible."""
    text = json.dumps([cell.source for cell in cells]).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")


def _make_gradable(cell: NotebookNode) -> None:
    """Replaces a value that is not a score with an error, because the value would stop nbgrader."""
    try:
        utils.determine_grade(cell)
    except (KeyError, ValueError) as error:
        cell.outputs.append(error_output("NotAScore", f"the cell's value is not a score: {error}"))
        cell.outputs = [output for output in cell.outputs if output.output_type != "execute_result"]


_MOST_BYTES = 64 << 20
_MOST_FILES = 1_000


def read_data_files(folder: Path, submitted: Path) -> tuple[dict[str, bytes], list[str]]:
    """Returns the contents of data files, keyed by relative path, and the names of skipped files.

    Data files are all regular files except notebooks. Files beyond the limits on total size and
    number are skipped. Links are not followed, and files that nbgrader copied through a link in the
    submitted folder are ignored.
    """
    files: dict[str, bytes] = {}
    left_out = []
    room = _MOST_BYTES
    for path in _regular(folder):
        name = path.relative_to(folder).as_posix()
        if not _is_own(submitted, name):
            continue
        size = path.stat().st_size
        if size > room or len(files) >= _MOST_FILES:
            left_out.append(name)
            continue
        files[name] = read_bytes(path, size)
        room -= len(files[name])
    return files, left_out


def _is_own(submitted: Path, name: str) -> bool:
    return (submitted / name).resolve().is_relative_to(submitted.resolve())


def _regular(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix != ".ipynb" and is_regular(path):
                yield path
