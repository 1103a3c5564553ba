"""Parts submitted as answers to their own questions: imported, copied, or copied and renamed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ... import parts
from ...records import Exercise
from ...suite.names import definition_of
from ..judging.parts import PACKAGE, modules_of


def part_texts(exercise: Exercise) -> Iterator[tuple[str, str, str]]:
    """Yields question, name and module text of each way to submit a part as an answer."""
    for question in exercise.questions:
        if question.name in parts.__all__:
            for name, answer in _answers(question.name):
                yield question.name, name, _answered_by(exercise, question.name, answer)


def _answers(part: str) -> Iterator[tuple[str, str]]:
    text = modules_of((part,))[-1].text.replace("from .", f"from {PACKAGE}.")
    yield "imported_part", f"from {PACKAGE} import {part}\n"
    if isinstance(_definition(text, part), ast.ClassDef):
        # Don't use a subclass: if the part is not given, it would already fail on import.
        own = f"class {part}:\n    def __new__(cls, *args):\n        return parts.{part}(*args)\n"
    else:
        own = f"def {part}(*arguments):\n    return parts.{part}(*arguments)\n"
    yield "wrapped_part", f"from autograder import parts\n\n\n{own}"
    yield "text_of_a_part", text
    yield "text_of_a_part_in_other_words", _in_other_words(text)


def _answered_by(exercise: Exercise, question: str, answer: str) -> str:
    """Returns the solution module with a different answer to one question; future imports first."""
    solution = ast.parse(exercise.solution.read_text(encoding="utf-8"))
    solution.body = [node for node in solution.body if getattr(node, "name", "") != question]
    text = ast.unparse(solution) + "\n\n\n" + answer
    future = "from __future__ import annotations\n"
    return future + text.replace(future, "")


def _definition(text: str, name: str) -> ast.stmt:
    found = definition_of(text, name)
    if found is None:
        raise LookupError(f"{name} is not defined where its part is")
    return found


def _in_other_words(text: str) -> str:
    """Returns a text with a function's own names changed, without comments and layout."""
    tree = ast.parse(text)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        own = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        own |= {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.arg) and node.arg in own - {"self"}:
                node.arg = f"my_{node.arg}"
            elif isinstance(node, ast.Name) and node.id in own - {"self"}:
                node.id = f"my_{node.id}"
    return ast.unparse(tree) + "\n"
