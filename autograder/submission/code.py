"""Reads students' code as text to show to people.

This module does not execute, import or judge the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SubmissionError
from .notebook import code_cells, notebook_of, source_of
from .opened import MAX_NOTEBOOK_BYTES, check_code, is_notebook, read_bytes
from .text import NOT_PYTHON, Statement, decoded, parsed, statements_of

__all__ = ["SubmittedCode", "read_code", "same_code", "source_of"]

#: how many characters to show from a file that could not be read
_MOST_OF_A_BROKEN_FILE = 20_000


@dataclass(frozen=True, slots=True)
class SubmittedCode:
    """A submitted file: its definitions, keyed by name, and the rest of its code.

    `problem` says why the file can't be read.

    `notebook` is the document if the file is a notebook in the current format, with a top-level
    list of cells.
    """

    definitions: dict[str, str] = field(default_factory=dict)
    rest: str = ""
    problem: str | None = None
    notebook: dict[str, Any] | None = None


def read_code(folder: Path, file: str | None) -> SubmittedCode:
    """Returns a submitted file's code; sets `problem` if the file is a link, huge or broken."""
    if file is None:
        return SubmittedCode(problem="nothing was submitted")
    if Path(file).name != file:
        return SubmittedCode(problem=f"{file} is not a regular file")
    data = b""
    try:
        data = read_bytes(folder / file, MAX_NOTEBOOK_BYTES)
        if len(data) >= MAX_NOTEBOOK_BYTES:
            return SubmittedCode(problem=f"{file} is larger than {MAX_NOTEBOOK_BYTES >> 20} MB")
        return _of_notebook(data) if file.endswith(".ipynb") else _of_module(data, file)
    except SubmissionError as error:
        rest = data[:_MOST_OF_A_BROKEN_FILE].decode("utf-8", "replace")
        return SubmittedCode(rest=rest, problem=f"{file} {error}")


def unreadable_code(folder: Path, file: str | None) -> SubmittedCode:
    """Returns only the beginning of a file that could not be read when it was graded."""
    try:
        data = read_bytes(folder / Path(file or "").name, _MOST_OF_A_BROKEN_FILE)
    except SubmissionError:
        data = b""
    problem = f"{file} could not be read when it was graded"
    return SubmittedCode(rest=data.decode("utf-8", "replace"), problem=problem)


def _of_module(data: bytes, file: str) -> SubmittedCode:
    if is_notebook(data):
        return _of_notebook(data)
    text, _ = decoded(data)
    check_code([text])
    try:
        tree = parsed(text)
    except NOT_PYTHON:
        return SubmittedCode(
            rest=text[:_MOST_OF_A_BROKEN_FILE], problem=f"{file} is not valid Python"
        )
    statements = statements_of(text, tree.body)
    taken = {
        number
        for statement in statements
        if statement.defines
        for number in range(statement.first_line, (statement.node.end_lineno or 0) + 1)
    }
    lines = text.removesuffix("\n").split("\n")
    rest = "\n".join(line for number, line in enumerate(lines, 1) if number not in taken)
    return SubmittedCode(definitions=_definitions(statements), rest=rest.strip("\n"))


def _of_notebook(data: bytes) -> SubmittedCode:
    document, _ = notebook_of(data)
    try:
        statements = [statement for cell in code_cells(document) for statement in cell.statements]
    except RecursionError:
        statements = []
    shown = document if isinstance(document.get("cells"), list) else None
    return SubmittedCode(definitions=_definitions(statements), notebook=shown)


def _definitions(statements: Iterable[Statement]) -> dict[str, str]:
    return {name: statement.text for statement in statements for name in statement.defines}


def same_code(one: str, other: str) -> bool:
    """Returns whether two pieces of code are the same, apart from comments and layout."""
    try:
        return ast.dump(parsed(one)) == ast.dump(parsed(other))
    except NOT_PYTHON:
        return one.strip() == other.strip()
