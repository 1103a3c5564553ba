"""Reads a student's code for each question, in a child process with limits."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path

from ..errors import SubmissionError
from ..escaping import for_json
from ..records import ExerciseResult, ExerciseStatus
from ..results.wording import shortened
from ..submission.bounded import BoundedReader
from ..submission.code import read_code

_LONGEST_CODE = 20_000
_LONGEST_PLAIN = 2_000


def definitions_of(
    submitted: Path, exercise: ExerciseResult, reader: BoundedReader
) -> Mapping[str, str]:
    """Returns the code of each definition, keyed by name; returns {} if the file can't be read.

    `reader` is the result of `code_reader`.
    """
    if exercise.status is not ExerciseStatus.GRADED or exercise.file is None:
        return {}
    try:
        found: Mapping[str, str] = json.loads(reader(str(submitted), exercise.file))
    except SubmissionError:
        return {}
    return found


def code_reader() -> BoundedReader:
    """Returns a reader for `definitions_of`; close the reader, or use it as a context manager."""
    return BoundedReader(_definitions_text)


def _definitions_text(folder: str, file: str) -> str:
    found = read_code(Path(folder), file).definitions
    return for_json({name: shortened(text, _LONGEST_CODE) for name, text in found.items()})


def plain_code_reader() -> BoundedReader:
    """Returns a reader like `code_reader` that removes comments and docstrings, for anonymity."""
    return BoundedReader(_plain_definitions_text)


def _plain_definitions_text(folder: str, file: str) -> str:
    found = read_code(Path(folder), file).definitions
    return for_json({name: shortened(_plain(text), _LONGEST_PLAIN) for name, text in found.items()})


def _plain(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
