"""Finds answers that do not count because of a wrong name, file or import."""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch

from ..errors import SubmissionError
from ..submission import is_unanswered
from ..submission.near_names import closest
from ..suite.names import definition_of, definitions_reached, imports_of, names_used
from .advice import OPTIONAL_IN_GRADING, is_in_grading
from .answers import answer_of
from .check_results import CheckedQuestion, CheckedTest, Standing

_CODE = (".py", ".ipynb")
_WRONG = (Standing.FIX, Standing.NOT_IMPLEMENTED, Standing.TOO_SLOW)
#: the most files to read in one folder
_MOST_FILES = 200


def start_with(question: str, source: str, others: Collection[CheckedQuestion]) -> str:
    """Returns a note if an answer calls another answer that is not correct yet, otherwise ""."""
    reached = definitions_reached(source, question)
    wrong = [other.question for other in others if other.standing in _WRONG]
    called = [name for name in wrong if name in reached and name != question]
    return f"It calls `{called[0]}`, which is not right yet: start there" if called else ""


def nearly_named(folder: Path, exercise: str) -> str:
    """Returns a note about a misnamed or moved file that may belong to an exercise, or ""."""
    if near := closest(exercise, [path.stem for path in folder.glob("*") if _is_code(path)]):
        return f"; there is {near}: is it misnamed?"
    moved = [path for path in sorted(folder.glob(f"*/{exercise}.*")) if _is_code(path)]
    return f"; there is {moved[0].relative_to(folder)}: move it back" if moved else ""


def answered_in(
    folder: Path, exercise: str, questions: Sequence[str], exercises: Collection[str]
) -> str:
    """Returns a note about a misnamed file that answers an exercise's questions, or ""."""
    code = [path for path in sorted(folder.glob("*")) if _is_code(path)]
    for path in [path for path in code if path.stem not in exercises][:_MOST_FILES]:
        try:
            answer = answer_of(folder, path.stem, questions)
        except SubmissionError:
            continue
        if answer and any(_answers(answer.text, question) for question in questions):
            wanted = f"{exercise}{path.suffix}"
            return f"{path.name} contains answers, but does not count: should its name be {wanted}?"
    return ""


def _answers(text: str, question: str) -> bool:
    is_there = re.search(rf"^(?:def|class) {question}\b", text, re.MULTILINE)
    return bool(is_there) and not is_unanswered(text, [question])


def _is_code(path: Path) -> bool:
    return path.suffix in _CODE


def other_name(
    question: str,
    namespace: Mapping[str, Any],
    questions: Collection[str] = (),
    given: Collection[str] = (),
) -> str:
    """Returns a note about a definition that is probably the missing answer, otherwise "".

    Ignores definitions that answer other `questions`. Also ignores definitions that are `given` in
    the notebook, unless their name is similar to the question's.
    """
    own = [
        name
        for name, value in namespace.items()
        if name not in questions and _is_own(value, namespace)
    ]
    if outer := next((name for name in own if _holds(namespace[name], question)), ""):
        return f"`{question}` is inside `{outer}`: move it out, to the left margin"
    near = closest(question, own)
    others = [name for name in own if name not in given]
    alike = [name for name in others if isinstance(namespace[name], type) is question[0].isupper()]
    if not near and len(alike) == 1:
        return f"is `{alike[0]}` your answer? The question is `{question}`: give it that name"
    return (
        f"`{near}` is defined, but the question is `{question}`: give it that name" if near else ""
    )


def _is_own(value: Any, namespace: Mapping[str, Any]) -> bool:
    if isinstance(value, FunctionType):
        return value.__globals__ is namespace
    return isinstance(value, type) and value.__module__ == namespace.get("__name__")


def _holds(value: Any, question: str) -> bool:
    """Returns whether a function or class contains a definition with the question's name."""
    if isinstance(value, type):
        return question in vars(value)
    inner = [part for part in value.__code__.co_consts if isinstance(part, CodeType)]
    return any(part.co_name == question for part in inner)


_OUTSIDE = (
    "`{name}` is not an argument of `{function}`, so your code reads the tensor `{name}` that is "
    "defined outside it. Which one is meant?"
)


def read_from_outside(question: str, namespace: Mapping[str, Any]) -> str:
    """Returns a note about a global tensor that an answer reads instead of an argument, or "".

    In a notebook, the lesson's tensors are global variables, so a wrong name may refer to one of
    them instead of raising an error.
    """
    answer = namespace.get(question)
    parts = vars(answer).values() if isinstance(answer, type) else [answer]
    for function in (part for part in parts if isinstance(part, FunctionType)):
        code = function.__code__
        for name in _globals_of(code):
            if isinstance(namespace.get(name), torch.Tensor):
                own = [one for one in code.co_varnames[: code.co_argcount] if one != "self"]
                return _OUTSIDE.format(name=name, function=f"{code.co_name}({', '.join(own)})")
    return ""


def _globals_of(code: CodeType) -> Iterator[str]:
    steps = dis.get_instructions(code)
    yield from (str(step.argval) for step in steps if step.opname == "LOAD_GLOBAL")
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _globals_of(part)


_ANOTHER_FILE = (
    "{question}: your code imports {module!r}, another file of yours.\n"
    "got       {name}\n"
    "expected  only imports of torch, the standard library, and those in the stub\n"
    "likely: each exercise is graded on its own: write what you need here"
)
_NOT_IN_GRADING = (
    "{question}: your code imports {module!r}, which is not available when your work is "
    "graded.\ngot       {name}\nexpected  only imports of torch, numpy, the standard library, "
    "and those in the stub\nnext step: move it out of the answer, to a separate cell or file"
)


def wrong_import(
    question: str, source: str, folder: Path, exercises: Collection[str]
) -> CheckedQuestion | None:
    """Fails a question whose answer imports a module that is not available during grading.

    Such a module is another exercise, a file in the folder, or a package that is not installed for
    grading. Returns None if the answer imports no such module.
    """
    stars = [name for short, name in imports_of(source).items() if short == "*"]
    for name in sorted([*names_used(source, question), *stars]):
        module = name.partition(".")[0]
        if module in exercises or (folder / f"{module}.py").is_file():
            return _not_right(question, _ANOTHER_FILE, module, name)
    for name in sorted(_certainly_imported(question, source)):
        module = name.partition(".")[0]
        if not is_in_grading(module):
            return _not_right(question, _NOT_IN_GRADING, module, name)
    return None


def may_be_missing(question: str, source: str) -> str:
    """Returns a note if an answer uses a package that may not be installed for grading, or ""."""
    names = {*names_used(source, question), *_certainly_imported(question, source)}
    modules = {name.partition(".")[0] for name in names}
    return "\n".join(
        f"`{module}` may be missing when your work is graded: {advice}"
        for module, advice in OPTIONAL_IN_GRADING.items()
        if module in modules
    )


def _certainly_imported(question: str, source: str) -> set[str]:
    """Returns the modules that an answer imports or uses in every call.

    Ignores a top-level import of `IPython`, because grading replaces this package with a
    placeholder whose `display` shows nothing.
    """
    imports, found = imports_of(source), set()
    for node in (node for step in _steps(question, source) for node in ast.walk(step)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
        elif isinstance(node, ast.Name) and not imports.get(node.id, "").startswith("IPython"):
            found |= {imports[node.id]} if node.id in imports else set()
    return found


def _steps(question: str, source: str) -> Iterator[ast.stmt]:
    """Yields the statements that every call to an answer executes: those that are not in a block.

    A block is, for example, the body of an `if` or a `for`.
    """
    definition = definition_of(source, question)
    inner = definition.body if isinstance(definition, ast.ClassDef) else [definition]
    for part in inner:
        if isinstance(part, ast.FunctionDef) and part.name in (question, "__init__", "forward"):
            yield from (step for step in part.body if not hasattr(step, "body"))


def _not_right(question: str, message: str, module: str, name: str) -> CheckedQuestion:
    text = message.format(question=question, module=module, name=name)
    test = CheckedTest("imports", False, text, cause="another file")
    return CheckedQuestion(question, Standing.FIX, (test,))
