"""Which file of an exercise counts on a student's own machine, and the names that it defines."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tokenize
import traceback
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SubmissionError
from ..manifest import digest_of


@dataclass(frozen=True, slots=True)
class Answer:
    """The file that counts, as one module's text."""

    path: Path
    text: str
    note: str = ""


def answer_of(folder: Path, exercise: str, stub: str | None) -> Answer | None:
    """The module, unless it is the untouched stub; then the notebook. None where there is neither.

    Raises `SubmissionError` for a file that can't be read.
    """
    module, notebook = folder / f"{exercise}.py", folder / f"{exercise}.ipynb"
    if not module.is_file() and not notebook.is_file():
        return None
    if not module.is_file():
        return Answer(notebook, notebook_text(notebook))
    text = _read_module(module)
    if not notebook.is_file():
        return Answer(module, text)
    if digest_of(text) == stub:
        return Answer(notebook, notebook_text(notebook))
    note = f"{module.name} was changed, so it counts and {notebook.name} does not"
    return Answer(module, text, note)


def execute(answer: Answer) -> dict[str, Any]:
    """Runs an answer's text as a module; returns its namespace.

    Raises `SubmissionError` that names the line where it fails.
    """
    name = f"_answer_{answer.path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(answer.path)
    sys.modules[name] = module
    try:
        code = compile(answer.text, str(answer.path), "exec", dont_inherit=True)
        with _quiet():
            exec(code, vars(module))
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise SubmissionError(f"{answer.path.name}:{error.lineno}: {error.msg}: {line}") from error
    except (Exception, SystemExit) as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(answer.path)
        ]
        where = f"{answer.path.name}:{lines[-1]}" if lines else answer.path.name
        raise SubmissionError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.modules.pop(name, None)
    return vars(module)


def notebook_text(path: Path) -> str:
    """The imports, definitions and constants of a notebook's cells as one module's text.

    Cells that only try things out do not run. Raises `SubmissionError` for no notebook.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = ["".join(cell["source"]) for cell in document["cells"] if _is_code(cell)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SubmissionError(f"{path.name} is not a notebook that can be read: {error}") from error
    return "\n\n".join(part for cell in cells for part in _kept(cell)) + "\n"


def _is_code(cell: dict[str, Any]) -> bool:
    return bool(cell["cell_type"] == "code")


def _kept(cell: str) -> list[str]:
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in cell.splitlines()]
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return []
    return [ast.unparse(node) for node in tree.body if _makes_the_module(node)]


def _makes_the_module(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not (node.module or "").startswith("autograder")
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.FunctionDef | ast.ClassDef)


def _read_module(path: Path) -> str:
    try:
        with tokenize.open(path) as file:  # BOM and coding line as Python reads them
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise SubmissionError(f"{path.name} can't be read: {error}") from error


@contextlib.contextmanager
def _quiet() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
