"""Finds the file that counts for an exercise on a student's machine, and executes this file."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import SubmissionError
from ..submission import (
    NAMED_AS_MODULE,
    is_notebook,
    is_unanswered,
    module_of_notebook,
    without_copies,
    without_magic,
)
from ..submission.text import NOT_PYTHON, NOT_TEXT, decoded, is_stub, is_stubs_line, parsed, remedy
from ..suite.message import place_lines
from ..suite.names import definitions_reached
from ..worker import statements
from .advice import AdviceContext, advice, exception_text
from .grading_sandbox import as_in_grading
from .own_lines import places_of
from .quiet_output import LimitedOutput, quiet
from .source_lines import locator
from .time_limit import SECONDS, CheckTimeout, limited

_TOO_SLOW = (
    "code outside functions runs each time the file is loaded, here and during grading: remove it. "
    "Is there a loop that never ends?"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The file that counts for an exercise, converted to the text of one module.

    `broken` maps each question whose cell is not valid Python to the error, and `elsewhere` maps
    missing questions to possible reasons.
    """

    path: Path
    text: str
    questions: Sequence[str] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExecutedAnswer:
    """The names that an answer's file defines, the text it prints, and the first line that fails.

    `runs` is false if the file was not executed because it is not valid Python.
    """

    namespace: Mapping[str, Any]
    printed: str = ""
    problem: str = ""
    runs: bool = True


def answer_of(folder: Path, exercise: str, questions: Sequence[str]) -> Answer | None:
    """Returns the module or, if it contains no answer, the notebook; None if neither exists.

    Raises `SubmissionError` if a file can't be read.
    """
    module, notebook = folder / f"{exercise}.py", folder / f"{exercise}.ipynb"
    if not module.is_file():
        return _notebook(notebook, questions) if notebook.is_file() else None
    answer = _module(module, questions)
    if not notebook.is_file():
        return answer
    is_stub = is_unanswered(answer.text, questions)
    if not _was_answered(notebook, questions):  # the notebook contains only stubs
        is_begun = any(unfinished(name, answer.text) for name in questions)
        return _notebook(notebook, questions) if is_stub and not is_begun else answer
    if is_stub:
        return _notebook(notebook, questions)
    note = f"{module.name} was changed, so it counts and {notebook.name} does not"
    if left := _only_in(notebook, answer.text, questions):
        note += f": copy your answer to {', '.join(left)} into {module.name}"
    return replace(answer, note="; ".join(filter(None, (note, answer.note))))


def execute(answer: Answer, exercises: tuple[str, ...] = ()) -> ExecutedAnswer:
    """Executes an answer's file as during grading: a failing line affects only code that needs it.

    In a notebook, only the code that the answers need is executed, so plots are not shown again.
    """
    name = f"_answer_{answer.path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(answer.path)
    sys.modules[name] = module  # needed, for example, by dataclasses
    printed = LimitedOutput()
    is_notebook = answer.path.suffix == ".ipynb"
    failures: list[BaseException] = []

    def failed(error: BaseException, is_needed: bool) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        is_refused = isinstance(error, OSError)  # an access refused as in grading
        if is_needed or not (is_notebook or is_refused):
            failures.append(error)

    try:
        compile(answer.text, str(answer.path), "exec", dont_inherit=True)
        with quiet(printed), limited(SECONDS), as_in_grading():
            statements.execute(
                *(answer.text, str(answer.path), vars(module), answer.questions),
                failed=failed,
                only_needed=is_notebook,
            )
    except (SyntaxError, ValueError) as error:
        return ExecutedAnswer({}, printed.text, _syntax(answer, error), runs=False)
    except CheckTimeout as error:
        failures.append(error)
    finally:
        sys.modules.pop(name, None)
    problem = _problem(answer, failures[0], module, exercises) if failures else ""
    return ExecutedAnswer(vars(module), printed.text, problem)


def _problem(
    answer: Answer, error: BaseException, module: types.ModuleType, exercises: tuple[str, ...]
) -> str:
    slow = isinstance(error, CheckTimeout)
    # the timeout was raised in this package, but its cause is in the student's code
    at = error.__cause__ if slow and error.__cause__ else error
    places = places_of(at.__traceback__, vars(module), locator(answer.path, answer.text))
    where = places[-1].where if places else answer.path.name
    names = [name for name in vars(module) if not name.startswith("_")]
    hint = _TOO_SLOW if slow else advice(error, AdviceContext(names=names, exercises=exercises))
    problem = f"loading the file {error}" if slow else exception_text(error)
    lines = [f"{where}: {problem}", *place_lines(places[-1:])]
    return "\n".join(lines + [f"likely: {hint}"] * bool(hint))


def _syntax(answer: Answer, error: Exception) -> str:
    where = answer.path.name
    if not isinstance(error, SyntaxError) or not error.lineno:  # a null byte has no line
        return f"{where}: {exception_text(error)}\nlikely: {NOT_TEXT}"
    where, _ = locator(answer.path, answer.text)(str(answer.path), error.lineno)
    line = (error.text or "").strip()
    hint = remedy(error)
    problem = f"{where}: {type(error).__name__}: {error.msg}: {line}"
    return problem + f"\nlikely: {hint}" * bool(hint)


def _was_answered(notebook: Path, questions: Sequence[str]) -> bool:
    """Returns whether a notebook contains more than the stubs."""
    try:
        text = _notebook(notebook, questions).text
    except SubmissionError:
        return True
    return not all(is_unanswered(text, [name]) for name in questions)


def _only_in(notebook: Path, text: str, questions: Sequence[str]) -> list[str]:
    """Returns the questions that are answered in the notebook but not in the module."""
    try:
        other = _notebook(notebook, questions).text
    except SubmissionError:
        return []
    defined = set(re.findall(r"^(?:def|class) (\w+)", other, re.MULTILINE))
    answered = [q for q in questions if q in defined and not is_unanswered(other, [q])]
    return [question for question in answered if is_unanswered(text, [question])]


def _notebook(path: Path, questions: Sequence[str]) -> Answer:
    try:
        module = module_of_notebook(_bytes_of(path), questions)
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error
    note = "; ".join(f"{path.name} {note}" for note in module.notes)
    return Answer(path, module.text, questions, module.broken, note, module.hints)


def _module(path: Path, questions: Sequence[str]) -> Answer:
    """Returns the answer in a module, with notes about the parts that grading ignores."""
    data = _bytes_of(path)
    if is_notebook(data):
        answer = _notebook(path, questions)
        note = NAMED_AS_MODULE.format(path.name)
        return replace(answer, note="; ".join(filter(None, (answer.note, note))))
    try:
        text = decoded(data)[0]
    except SubmissionError as error:
        raise SubmissionError(f"{path.name} {error}") from error
    text, magic, _ = without_magic(text)
    notes = [f"{path.name}: {note}" for note in magic]
    try:
        text, copies = without_copies(text, questions)
    except NOT_PYTHON:
        return Answer(path, text, questions)
    notes += [f"{path.name} {note}" for note in copies]
    return Answer(path, text, questions, note="; ".join(notes))


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SubmissionError(f"{path.name} can't be read: {error.strerror}") from error


_LEFT = "it still contains `raise NotImplementedError`: delete that line"
_TWICE = "it is defined twice, and the second definition counts, but is still a stub: delete it"
_DEFINES = (ast.FunctionDef, ast.ClassDef)
_NO_POWER = "In `{}`, `^` is not a power: write `**`."


def unfinished(question: str, text: str) -> str:
    """Returns why an answer counts as "not implemented" although it contains code, or else ""."""
    try:
        body = parsed(text).body
    except NOT_PYTHON:
        return ""
    found = [node for node in body if isinstance(node, _DEFINES) and node.name == question]
    if not found:
        return ""
    if is_stub(found[-1]) and not all(map(is_stub, found)):
        return _TWICE
    return _LEFT if any(map(_is_begun, _functions(found[-1]))) else ""


def _functions(node: ast.stmt) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        yield node
    elif isinstance(node, ast.ClassDef):
        yield from (part for part in node.body if isinstance(part, ast.FunctionDef))


def _is_begun(function: ast.FunctionDef) -> bool:
    """Returns whether a function has the student's own code but still raises as the stub does."""
    own = [node for node in function.body if not isinstance(node, ast.Expr)]
    return len(own) > 1 and any(map(is_stubs_line, own))


def written_as_power(question: str, text: str) -> str:
    """Returns a remark if an answer or a function that it uses writes a power as `^`, or ""."""
    try:
        body = parsed(text).body
    except NOT_PYTHON:
        return ""
    names = definitions_reached(text, question)
    definitions = [part for part in body if isinstance(part, _DEFINES) and part.name in names]
    every = (node for definition in definitions for node in ast.walk(definition))
    return next((_NO_POWER.format(ast.unparse(node)) for node in every if _is_xor(node)), "")


def _is_xor(node: ast.AST) -> bool:
    """Returns whether a node applies `^` to a number, except in `^ 1`, which flips a mask."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitXor):
        return False
    sides = [ast.unparse(side) for side in (node.left, node.right)]
    return any(re.fullmatch(r"[-+(]*[\d.][\d. /()]*", side) and side != "1" for side in sides)
