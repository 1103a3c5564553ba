"""Runs a notebook's cells in the sandbox; sends each cell to the worker just before it runs.

If a cell ends the worker, only that cell fails. A new worker runs the cells above again, except
those that crashed a worker, and then continues with the next cell. After three cells have ended a
worker, the remaining cells do not run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from nbformat import NotebookNode

from ...errors import AnswerCrashed, AnswerFault, AnswerTimeout
from ...records import Limits
from ...sandbox import Budget
from ...sandbox.session import Session
from .outputs import error_output, outputs_of

#: how many seconds a cell has to stop after it was interrupted at its time limit
_GRACE_SECONDS = 3.0
#: how many workers may end before the remaining cells are skipped
_MOST_ENDS = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's code; `is_test` is true if the cell is one of the instructor's tests."""

    source: str
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class CellRun:
    """The outputs of one run of a cell, and the fault that ended the run, if there was one."""

    outputs: tuple[NotebookNode, ...] = ()
    fault: AnswerFault | None = None


@dataclass(frozen=True, slots=True)
class NotebookContext:
    """A notebook's context: the random seed, environment variables, and files in its folder."""

    seed: int
    environment: Mapping[str, str]
    files: Mapping[str, bytes]


class NotebookRunner:
    """One run of a notebook; `open_worker` starts a new worker."""

    def __init__(
        self, open_worker: Callable[[], Session], limits: Limits, surroundings: NotebookContext
    ) -> None:
        self._open_worker = open_worker
        self._limits = limits
        self._surroundings = surroundings
        self._session: Session | None = None
        self._done: list[Cell] = []
        self._ends: list[AnswerFault] = []

    def run(self, cells: Sequence[Cell]) -> list[CellRun]:
        """Runs all cells; raises `SandboxError` for an error that is not the cells' fault."""
        try:
            return [self._run(cell) for cell in cells]
        finally:
            self._close()

    def _run(self, cell: Cell) -> CellRun:
        if len(self._ends) >= _MOST_ENDS:
            why = f"did not run, because a cell above failed: {self._ends[-1]}"
            return CellRun(fault=AnswerCrashed(why))
        try:
            session = self._ready()
            outputs = self._outputs(session, cell)
        except AnswerFault as fault:
            if self._session is not None and self._session.alive:
                self._session.kill()  # the answer is not a list of outputs
            self._ends.append(fault)
            return CellRun(fault=fault)
        self._done.append(cell)
        if session.interrupted:
            seconds = f"{self._limits.cpu_seconds:g} s of CPU time"
            return CellRun(outputs, AnswerTimeout(f"still running or waiting after {seconds}"))
        return CellRun(outputs)

    def _outputs(self, session: Session, cell: Cell) -> tuple[NotebookNode, ...]:
        """Returns a cell's outputs; adds an error if a test stopped early without an error."""
        mark = secrets.token_hex(8) if cell.is_test else ""
        reply = self._ask(session, "run_cell", cell.source, cell.is_test, mark)
        end = {"kind": "end", "mark": mark}
        has_ended = isinstance(reply, list) and end in reply[-1:]
        outputs = tuple(outputs_of(reply[:-1] if has_ended else reply))
        has_failed = any(output.output_type == "error" for output in outputs)
        if not cell.is_test or has_ended or has_failed:
            return outputs
        return (*outputs, error_output("TestNotRun", "this test did not finish"))

    def _ready(self) -> Session:
        """Returns the worker or, if it has ended, a new worker that has run the earlier cells."""
        if self._session is not None and self._session.alive:
            return self._session
        self._close()
        session = self._session = self._open_worker()
        # no student's code has run in this worker yet, so an error here is the grader's own fault
        found = self._surroundings
        files = {name: _bytes(data) for name, data in found.files.items()}
        self._ask(session, "begin_cells", found.seed, dict(found.environment), files)
        session.grace_seconds = _GRACE_SECONDS
        for cell in self._done:
            self._ask(session, "run_cell", cell.source, cell.is_test)
        return session

    def _ask(self, session: Session, *request: Any) -> Any:
        return session.ask(Budget.of(self._limits), *request)

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def _bytes(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0).byte()
