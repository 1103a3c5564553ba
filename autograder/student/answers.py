"""Which file of an exercise counts on a student's own machine, and the names that it defines."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SubmissionError
from ..records import Limits
from ..submission import is_unanswered, module_of_notebook
from ..submission.remedies import NOT_TEXT, remedy
from ..submission.text import decoded
from ..suite.message import place_lines
from .advice import Context, advice, said_by
from .output import Printed, quiet
from .places import places_of
from .sources import locator
from .time_limit import SECONDS, TooSlow, limited
from .unfinished import unfinished

#: what code may print while it is graded, unless its assignment says otherwise
_MOST_PRINTED = Limits().output_bytes
_TOO_LONG = (
    f"{{}} prints more than {_MOST_PRINTED} characters while it is loaded: that ends it when it is "
    "graded\nlikely: a `print` inside a loop: take it out"
)
_TOO_SLOW = (
    "what stands outside of all functions runs each time the file is loaded, here and when it is "
    "graded: take it out. Is it a loop that never ends?"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The file that counts, as one module's text.

    `broken` maps questions whose cell is not valid Python to what is wrong there, `elsewhere`
    questions that are not there to what may have become of them.
    """

    path: Path
    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Executed:
    """The names that an answer's file defines, what it printed, and why it stopped, if it did.

    `runs` is false where not one line of it ran: it is not valid Python.
    """

    namespace: Mapping[str, Any]
    printed: str = ""
    problem: str = ""
    runs: bool = True


def answer_of(folder: Path, exercise: str, questions: Sequence[str]) -> Answer | None:
    """The module, unless it answers no question; then the notebook. None where there is neither.

    Raises `SubmissionError` for a file that can't be read.
    """
    module, notebook = folder / f"{exercise}.py", folder / f"{exercise}.ipynb"
    if not module.is_file():
        return _notebook(notebook, questions) if notebook.is_file() else None
    text = _read_module(module)
    if not notebook.is_file():
        return Answer(module, text)
    if not _was_answered(notebook, questions):
        is_begun = any(unfinished(name, text) for name in questions)
        is_stub = is_unanswered(text, questions) and not is_begun
        return _notebook(notebook, questions) if is_stub else Answer(module, text)
    if is_unanswered(text, questions):
        return _notebook(notebook, questions)
    note = f"{module.name} was changed, so it counts and {notebook.name} does not"
    if left := _only_in(notebook, text, questions):
        note += f": copy your answer to {', '.join(left)} into {module.name}"
    return Answer(module, text, note=note)


def execute(answer: Answer, exercises: tuple[str, ...] = ()) -> Executed:
    """Runs an answer's text as a module; a file that stops keeps what it defined before."""
    name = f"_answer_{answer.path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(answer.path)
    sys.modules[name] = module  # dataclasses and the like look their module up
    printed = Printed()
    try:
        with quiet(printed), limited(SECONDS):
            exec(compile(answer.text, str(answer.path), "exec", dont_inherit=True), vars(module))
    except (SyntaxError, ValueError) as error:
        if not isinstance(error, SyntaxError) and "null byte" not in str(error):
            return _stopped(answer, error, module, printed, exercises)
        return Executed({}, printed.text, _syntax(answer, error), runs=False)
    except (Exception, SystemExit) as error:
        return _stopped(answer, error, module, printed, exercises)
    finally:
        sys.modules.pop(name, None)
    problem = _TOO_LONG.format(answer.path.name) if printed.length > _MOST_PRINTED else ""
    return Executed(vars(module), printed.text, problem)


def _stopped(
    answer: Answer,
    error: BaseException,
    module: types.ModuleType,
    printed: Printed,
    exercises: tuple[str, ...],
) -> Executed:
    slow = isinstance(error, TooSlow)
    # what ended it stands in our code, and its cause in the student's
    at = error.__cause__ if slow and error.__cause__ else error
    places = places_of(at.__traceback__, vars(module), locator(answer.path, answer.text))
    where = places[-1].where if places else answer.path.name
    names = [name for name in vars(module) if not name.startswith("_")]
    hint = _TOO_SLOW if slow else advice(error, Context(names=names, exercises=exercises))
    said = f"loading the file {error}" if slow else said_by(error)
    lines = [f"{where}: {said}", *place_lines(places[-1:])]
    problem = "\n".join(lines + [f"likely: {hint}"] * bool(hint))
    return Executed(vars(module), printed.text, problem)


def _syntax(answer: Answer, error: Exception) -> str:
    where = answer.path.name
    if not isinstance(error, SyntaxError) or not error.lineno:  # a null byte stands in no line
        return f"{where}: {said_by(error)}\nlikely: {NOT_TEXT}"
    where, _ = locator(answer.path, answer.text)(str(answer.path), error.lineno)
    line = (error.text or "").strip()
    hint = remedy(error)
    said = f"{where}: {type(error).__name__}: {error.msg}: {line}"
    return said + f"\nlikely: {hint}" * bool(hint)


def _was_answered(notebook: Path, questions: Sequence[str]) -> bool:
    """Whether a notebook holds more than the stubs: else nobody needs to hear of it."""
    try:
        text = _notebook(notebook, questions).text
    except SubmissionError:
        return True
    stubs = text.count("raise NotImplementedError")
    return stubs < len(questions)


def _only_in(notebook: Path, text: str, questions: Sequence[str]) -> list[str]:
    """The questions that the notebook answers, and the module does not."""
    try:
        other = _notebook(notebook, questions).text
    except SubmissionError:
        return []
    defined = set(re.findall(r"^(?:def|class) (\w+)", other, re.MULTILINE))
    answered = [q for q in questions if q in defined and not is_unanswered(other, [q])]
    return [question for question in answered if is_unanswered(text, [question])]


def _notebook(path: Path, questions: Sequence[str]) -> Answer:
    try:
        module = module_of_notebook(path.read_bytes(), questions)
    except OSError as error:
        raise SubmissionError(f"{path.name} can't be read: {error.strerror}") from error
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error
    return Answer(path, module.text, module.broken, elsewhere=module.hints)


def _read_module(path: Path) -> str:
    try:
        return decoded(path.read_bytes())[0]
    except OSError as error:
        raise SubmissionError(f"{path.name} can't be read: {error.strerror}") from error
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error
