"""Detects outdated definitions in a kernel, so that passed checks don't mislead students.

Uses only the kernel's own record of the cells that ran, and the saved notebook; no hook is
installed in the kernel.
"""

from __future__ import annotations

import linecache
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ..errors import SubmissionError
from ..submission import is_unanswered
from ..submission.near_names import closest
from ..submission.notebook import cells_of, notebook_of, source_of

FAILED = "the last run of this cell failed, so its earlier definition was checked"
CHANGED = "your cell has changed since it ran: run it again, then check"
#: a kernel does not know whether a cell was edited after it ran, so ask
EDITED = "edited since? Run it again first"
STUB_AGAIN = "the stub ran after your answer in In[{}]: run the cell with your answer again"
#: about the time when the kernel started; a notebook that was saved earlier contains numbers from
#: earlier kernels
_STARTED = time.time()
MISNAMED = "saved as {0}, which does not count: its name must be {1} when you submit it"
DELETED = "the saved {0} no longer defines `{1}`: put your answer back, and save, before you submit"
UNSAVED = "not saved yet: save the notebook before you submit it, or check it in a terminal"


def stale(
    question: str, namespace: Mapping[str, Any], folder: Path, questions: Collection[str] = ()
) -> str:
    """Returns why a question's definition differs from its cell, or "" if no difference is known.

    A later definition of a different question in `questions` is never taken for a renamed answer.
    """
    cells = [cell for cell in namespace.get("In", ()) if isinstance(cell, str)]
    ran = _ran_at(namespace.get(question), cells)
    if ran is None:
        return ""
    defining = _definition_of(question)
    failed = [number for number, cell in enumerate(cells) if defining.search(cell) and number > ran]
    later = cells[max([ran, *failed]) + 1 :]
    if renamed := _renamed(question, {*_defined_in(cells[ran]), *questions}, later, namespace):
        return renamed
    if failed:
        return FAILED
    # a cell that is saved with the number of its last run was saved after that run
    changed = any(
        count == ran and not _alike(saved, cells[ran]) for count, saved in _saved(question, folder)
    )
    return CHANGED if changed else ""


def unsaved(question: str, exercise: str, namespace: Mapping[str, Any], folder: Path) -> str:
    """Returns a note if the exercise's saved notebook lacks the question's cell, otherwise ""."""
    cells = [cell if isinstance(cell, str) else "" for cell in namespace.get("In", ())]
    ran = _ran_at(namespace.get(question), cells)
    saved = list(_saved_cells(folder))
    if ran is None or not saved:
        return ""
    names = [path.name for source, _, path in saved if _alike(source, cells[ran])]
    wanted = f"{exercise}.ipynb"
    if not names:
        own = [source for source, _, path in saved if path.name == wanted]
        gone = own and not any(_definition_of(question).search(source) for source in own)
        return DELETED.format(wanted, question) if gone else UNSAVED
    return "" if wanted in names else MISNAMED.format(names[0], wanted)


def stub_again(question: str, namespace: Mapping[str, Any]) -> str:
    """Returns a note if a question's stub ran after the cell with its answer, otherwise ""."""
    cells = [cell if isinstance(cell, str) else "" for cell in namespace.get("In", ())]
    ran = _ran_at(namespace.get(question), cells)
    defining = _definition_of(question)
    answers = [
        number
        for number, cell in enumerate(cells[:ran])
        if defining.search(cell) and not is_unanswered(cell, [question])
    ]
    return STUB_AGAIN.format(answers[-1]) if ran is not None and answers else ""


def given(questions: Collection[str], folder: Path) -> frozenset[str]:
    """Returns the names that saved notebooks define outside the cells with answers."""
    names = [
        _defined_in(source)
        for source, cell, _ in _saved_cells(folder)
        if cell["metadata"].get("nbgrader", {}).get("grade_id") not in questions
    ]
    return frozenset(name for found in names for name in found)


def run_of(question: str, namespace: Mapping[str, Any]) -> str:
    """Returns Jupyter's name, such as `In[7]`, for the run of a cell that defined an answer."""
    cells = [cell if isinstance(cell, str) else "" for cell in namespace.get("In", ())]
    ran = _ran_at(namespace.get(question), cells)
    return f"In[{ran}]" if ran is not None else ""


def _ran_at(value: Any, cells: Sequence[str]) -> int | None:
    """Returns the number of the last run of a cell that defined a function or class, or None."""
    for code in _codes(value):
        source = "".join(linecache.getlines(code.co_filename))
        for number in range(len(cells) - 1, -1, -1):
            if source.strip() and _alike(cells[number], source):
                return number
    return None


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        yield from (f.__code__ for f in vars(value).values() if isinstance(f, FunctionType))


def _renamed(
    question: str, known: Collection[str], later: Sequence[str], namespace: Mapping[str, Any]
) -> str:
    """Returns a note about a later cell that seems to define the answer under a different name.

    Either that name is similar to the question's, or the definition still has the question's
    docstring.
    """
    for cell in reversed(later):
        names = [name for name in _defined_in(cell) if name in namespace and name not in known]
        kept = (name for name in names if _documented_alike(namespace[name], namespace[question]))
        if near := closest(question, names) or next(kept, ""):
            return (
                f"`{near}` is defined, but the question is `{question}`, so an older "
                f"`{question}` was checked"
            )
    return ""


def _documented_alike(one: Any, other: Any) -> bool:
    return bool(one.__doc__) and one.__doc__ == other.__doc__


def _defined_in(cell: str) -> list[str]:
    return re.findall(r"^(?:async )?(?:def|class) (\w+)", cell, re.MULTILINE)


def _definition_of(question: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:async )?(?:def|class) {re.escape(question)}\b", re.MULTILINE)


def _saved(question: str, folder: Path) -> Iterator[tuple[Any, str]]:
    """Yields the run number and the source of each saved cell for a question.

    Ignores notebooks that were saved before the kernel started, because after a restart, cells get
    the same numbers again, although the file still has the old source.
    """
    for source, cell, _ in _saved_cells(folder, since=_STARTED):
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == question:
            yield cell.get("execution_count"), source


def _saved_cells(folder: Path, since: float = 0) -> Iterator[tuple[str, Mapping[str, Any], Path]]:
    """Yields each code cell in a folder's notebooks: its source, the cell itself, and the file."""
    for path in folder.glob("*.ipynb"):
        try:
            if path.stat().st_mtime < since:
                continue
            for cell in cells_of(notebook_of(path.read_bytes())[0]):
                if cell["cell_type"] == "code" and isinstance(cell["metadata"], dict):
                    yield source_of(cell), cell, path
        except (OSError, SubmissionError, KeyError, AttributeError):
            continue


def _alike(one: str, other: str) -> bool:
    return _lines(one) == _lines(other)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
