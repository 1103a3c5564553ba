"""Makes mutants of the solutions, each with one change between the solution markers.

Error messages are not changed. A mutant is identified by its module, question and operator, and by
the lines before and after the change, never by a line number.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.naming.families.expressions import Scope
from autograder.grading.naming.families.operators import OPERATORS
from autograder.grading.naming.families.places import changed, places, solution_lines


@dataclass(frozen=True, slots=True)
class Mutant:
    """A solution module with one change."""

    module: str
    question: str
    operator: str
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        return self.module, self.question, self.operator, self.before, self.after


def mutants_of(solution: Path, questions: frozenset[str]) -> Iterator[Mutant]:
    """Yields all mutants of a solution module, without duplicates."""
    text = solution.read_text(encoding="utf-8")
    tree, inside = ast.parse(text), solution_lines(text)
    original = ast.unparse(tree)
    module = f"{solution.parent.name}/{solution.stem}"
    seen = {original}
    for index, definition in enumerate(tree.body):
        question = getattr(definition, "name", "")
        for place, node, scope in places(definition, ("body", index)):
            if question not in questions or getattr(node, "lineno", 0) not in inside:
                continue
            for operator, change in {**OPERATORS, "result": _result}.items():
                for other in change(node, scope):
                    source = ast.unparse(changed(tree, place, other))
                    if source not in seen:
                        seen.add(source)
                        before, after = _changed_lines(original, source)
                        yield Mutant(module, question, operator, before, after, source)


def _result(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields `return` statements that spoil the value's gradient, dtype, shape or numbers."""
    if isinstance(node, ast.Return) and node.value is not None:
        for method in ("detach", "float", "double", "contiguous().squeeze", "clone().zero_"):
            text = f"({ast.unparse(node.value)}).{method}()"
            yield ast.Return(ast.parse(text, mode="eval").body)


def _changed_lines(original: str, changed: str) -> tuple[str, str]:
    difference = list(difflib.ndiff(original.splitlines(), changed.splitlines()))

    def lines(sign: str) -> str:
        return "\n".join(line[2:].strip() for line in difference if line.startswith(sign))

    return lines("- "), lines("+ ")
