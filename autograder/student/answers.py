"""Which file of an exercise counts on a student's own machine, and the names that it defines."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..course.manifest import digest_of
from ..errors import SubmissionError
from ..submission import module_of_notebook
from ..submission.text import decoded


@dataclass(frozen=True, slots=True)
class Answer:
    """The file that counts, as one module's text.

    `broken` maps questions whose cell is no valid Python to what is wrong there.
    """

    path: Path
    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def answer_of(
    folder: Path, exercise: str, questions: Sequence[str], stub: str | None
) -> Answer | None:
    """The module, unless it is the untouched stub; then the notebook. None where there is neither.

    Raises `SubmissionError` for a file that can't be read.
    """
    module, notebook = folder / f"{exercise}.py", folder / f"{exercise}.ipynb"
    if not module.is_file():
        return _notebook(notebook, questions) if notebook.is_file() else None
    text = _read_module(module)
    if not notebook.is_file():
        return Answer(module, text)
    if digest_of(text) == stub:
        return _notebook(notebook, questions)
    note = f"{module.name} was changed, so it counts and {notebook.name} does not"
    return Answer(module, text, note=note)


def execute(answer: Answer) -> dict[str, Any]:
    """Runs an answer's text as a module; returns its namespace.

    Raises `SubmissionError` that says where it fails.
    """
    name = f"_answer_{answer.path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(answer.path)
    sys.modules[name] = module  # dataclasses and the like look their module up
    try:
        with _quiet():
            exec(compile(answer.text, str(answer.path), "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        line = (error.text or "").strip()
        where = _where(answer, error.lineno)
        raise SubmissionError(f"{where}: SyntaxError: {error.msg}: {line}") from error
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(answer.path)]
        where = _where(answer, lines[-1] if lines else None)
        raise SubmissionError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.modules.pop(name, None)
    return vars(module)


def _where(answer: Answer, line: int | None) -> str:
    """File and line; for a notebook, whose module has other lines, the line's text."""
    if line is None:
        return answer.path.name
    if answer.path.suffix == ".py":
        return f"{answer.path.name}:{line}"
    text = answer.text.splitlines()[line - 1 : line]
    return f"{answer.path.name}, at `{''.join(text).strip()}`"


def _notebook(path: Path, questions: Sequence[str]) -> Answer:
    try:
        module = module_of_notebook(path.read_bytes(), questions)
    except OSError as error:
        raise SubmissionError(f"{path.name} can't be read: {error.strerror}") from error
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error
    return Answer(path, module.text, module.broken)


def _read_module(path: Path) -> str:
    try:
        return decoded(path.read_bytes())[0]
    except OSError as error:
        raise SubmissionError(f"{path.name} can't be read: {error.strerror}") from error
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
