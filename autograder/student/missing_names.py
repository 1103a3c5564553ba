"""Explains a NameError whose name is misspelled, or defined in a cell that has not been run.

After a kernel restart, no name is defined. Once a cell has imported this package, a NameError is
followed by a sentence that says which cells to run, or suggests a similar name. Before that, only
the comment in each cell can help a student.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import SubmissionError
from ..submission.near_names import closest

NOT_RUN = (
    "`{}` is defined in a cell above that has not been run since the kernel started: "
    "Run > Run All Above Selected Cell, then run this cell again."
)
MISSPELLED = "`{}` is not defined; did you mean `{}`?"


def explain_missing_names() -> None:
    """Makes this kernel explain missing names; does nothing outside a kernel."""
    if "IPython" not in sys.modules:
        return
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((NameError,), _explain)


def _explain(
    shell: Any,
    kind: type[BaseException],
    error: NameError,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
    if kind is NameError and (text := _explanation(error.name or "", shell.user_ns)):
        from IPython.display import display

        from .display import notice

        display(notice("○", text))  # type: ignore[no-untyped-call]


def _explanation(name: str, namespace: dict[str, Any]) -> str:
    if not name or name in namespace:
        return ""
    names = set(_names(namespace))
    if name in names:
        return NOT_RUN.format(name)
    own = [other for other in namespace if not other.startswith("_")]
    near = closest(name, [*own, *sorted(names)])
    return MISSPELLED.format(name, near) if near else ""


def _names(namespace: dict[str, Any]) -> Iterator[str]:
    """Yields the names that the saved notebook defines.

    If the current notebook is unknown, yields the names in all notebooks in the folder.
    """
    from ..submission.notebook import code_cells, notebook_of

    # set by Jupyter's server and by VS Code
    own = namespace.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", "")
    is_known = str(own).endswith(".ipynb") and Path(own).is_file()
    for path in [Path(own)] if is_known else sorted(Path.cwd().glob("*.ipynb")):
        try:
            cells = code_cells(notebook_of(path.read_bytes())[0])
        except (OSError, SubmissionError):
            continue
        for cell in cells:
            for statement in cell.statements:
                yield from statement.binds
