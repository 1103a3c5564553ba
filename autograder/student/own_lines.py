"""Finds the lines of a student's own code in which an exception was raised."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from ..suite.message import CodeLine

#: a function that returns a location as text, and its source, for a file name and a line number
Locate = Callable[[str, int], tuple[str, str]]


def places_of(
    traceback: TracebackType | None, namespace: Mapping[str, Any], locate: Locate
) -> tuple[CodeLine, ...]:
    """Returns an error's outermost and innermost lines in code whose globals are `namespace`.

    Returns only one line if both are the same, and none if the error did not pass through such
    code.
    """
    found: list[CodeLine] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if traceback.tb_frame.f_globals is namespace:
            where, source = locate(code.co_filename, traceback.tb_lineno)
            found.append(CodeLine(where, _name(code.co_name), source.strip()))
        traceback = traceback.tb_next
    if found and found[0].where == found[-1].where:  # the same line twice, as for a generator
        return (found[0],)
    return (*found[:1], *found[-1:])


def locate_cell(filename: str, line: int) -> tuple[str, str]:
    """Returns the location of a line in a kernel, such as `In[5], line 2`, and its source."""
    return f"{cell_name(filename)}, line {line}", linecache.getline(filename, line)


def cell_name(filename: str) -> str:
    """Returns `In[5]` for code in a cell, or "your cell" if the kernel does not number cells."""
    shell = _shell()
    namer = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = namer(filename) if callable(namer) else None
    return str(found[1]) if found else "your cell"


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _name(function: str) -> str:
    return "" if function.startswith("<") else function
