"""What a student wrote, as text for people to read. Nothing here runs, imports or judges it."""

from __future__ import annotations

import ast
import json
import stat
import tokenize
import warnings
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

_LARGEST_FILE = 20 << 20


@dataclass(frozen=True, slots=True)
class Answers:
    """The definitions of a submitted file by name, the rest of its code, and what is wrong."""

    definitions: dict[str, str] = field(default_factory=dict)
    rest: str = ""
    problem: str | None = None
    notebook: dict[str, Any] | None = None


def read_answers(folder: Path, file: str | None) -> Answers:
    """The answers in a submitted file. Links, huge and broken files become a `problem`."""
    if file is None:
        return Answers(problem="nothing was handed in")
    path = folder / file
    try:
        if not path.resolve().is_relative_to(folder.resolve()) or not _is_regular(path):
            return Answers(problem=f"{file} is not a regular file")
        if path.stat().st_size > _LARGEST_FILE:
            return Answers(problem=f"{file} is larger than {_LARGEST_FILE >> 20} MB")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        return Answers(problem=f"{file} can't be read: {error}")
    return _of_notebook(data, file) if path.suffix == ".ipynb" else _of_module(data, file)


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _of_module(data: bytes, file: str) -> Answers:
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return Answers(rest=data.decode("utf-8", "replace"), problem=f"{file}: {error}")
    text = _one_line_end(text.removeprefix("\ufeff"))
    tree = _parse(text)
    if tree is None:
        return Answers(rest=text, problem=f"{file} is not valid Python")
    definitions, rest = _split(text, tree)
    return Answers(definitions=definitions, rest=rest)


def _of_notebook(data: bytes, file: str) -> Answers:
    try:
        document = json.loads(data.decode("utf-8-sig"))
        cells = [cell for cell in document["cells"] if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = data.decode("utf-8", "replace")
        return Answers(rest=text, problem=f"{file} is not a notebook of format 4")
    definitions: dict[str, str] = {}
    for cell in cells:
        if cell.get("cell_type") == "code":
            text = _without_magic(_one_line_end(source_of(cell)))
            if (tree := _parse(text)) is not None:
                definitions.update(_split(text, tree)[0])
    return Answers(definitions=definitions, notebook=document)


def source_of(cell: dict[str, Any]) -> str:
    """A cell's source, which the format allows to be a text or a list of lines."""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = source if isinstance(source, str) else ""
    return text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written again


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_magic(text: str) -> str:
    if text.lstrip().startswith("%%"):
        return ""
    return "\n".join("" if line.lstrip()[:1] in {"%", "!"} else line for line in text.split("\n"))


def _parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are the student's business
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _split(text: str, tree: ast.Module) -> tuple[dict[str, str], str]:
    """The text of each top-level definition (the last one counts), and of all the rest."""
    lines = text.split("\n")
    definitions: dict[str, str] = {}
    taken: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            span = range(first - 1, node.end_lineno or node.lineno)
            definitions[node.name] = "\n".join(lines[span.start : span.stop])
            taken.update(span)
    rest = "\n".join(line for number, line in enumerate(lines) if number not in taken)
    return definitions, rest.strip("\n")


def same_code(one: str, other: str) -> bool:
    """Whether two texts are the same program, whatever their comments and blank lines."""
    left, right = _parse(one), _parse(other)
    if left is None or right is None:
        return one.strip() == other.strip()
    return ast.dump(left) == ast.dump(right)
