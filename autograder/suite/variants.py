"""Known wrong and known right implementations, as data beside the suites.

A variants file (`tests/misconceptions/<assignment>/<exercise>.py`, `tests/alternatives/...`) is
plain code: each decorated function or class is one variant of one question, named by its own name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .local import load_module

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Variant:
    """One implementation of a question. `confuses` and `hint` are empty for a right one."""

    question: str
    name: str
    implementation: Callable[..., Any]
    confuses: str = ""
    hint: str = ""


def misconception(question: str, *, confuses: str, hint: str) -> Callable[[T], T]:
    """Marks a wrong implementation: one sentence of what it confuses, a hint that leads."""

    def mark(implementation: T) -> T:
        name = implementation.__name__
        implementation.__variant__ = Variant(question, name, implementation, confuses, hint)  # type: ignore[attr-defined]
        return implementation

    return mark


def alternative(question: str) -> Callable[[T], T]:
    """Marks a right but unusual implementation."""

    def mark(implementation: T) -> T:
        name = implementation.__name__
        implementation.__variant__ = Variant(question, name, implementation)  # type: ignore[attr-defined]
        return implementation

    return mark


def variants_in(path: Path) -> tuple[Variant, ...]:
    """The variants of a file, in its order; none where there is no such file."""
    if not path.is_file():
        return ()
    module = load_module(
        path, f"_variants_{path.parent.parent.name}_{path.parent.name}_{path.stem}"
    )
    return tuple(_found(module))


def _found(module: ModuleType) -> list[Variant]:
    return [
        value.__variant__
        for value in vars(module).values()
        if isinstance(getattr(value, "__variant__", None), Variant)
    ]


def module_text(solution: Path, variants: Path, variant: Variant) -> str:
    """The text of a submission: the solution module with one question answered by the variant.

    The variants file's imports and undecorated definitions come along; the variant takes the
    question's name and, as the last definition, counts.
    """
    text = variants.read_text(encoding="utf-8")
    parts = [solution.read_text(encoding="utf-8")]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and _is_marked(node):
            if node.name == variant.name:
                node.name = variant.question
                node.decorator_list = []
                parts.append(ast.unparse(node))
        elif not _imports_ours(node):
            parts.append(ast.unparse(node))
    return "\n\n".join(parts) + "\n"


def _is_marked(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(
        isinstance(d, ast.Call)
        and isinstance(d.func, ast.Name)
        and d.func.id in ("misconception", "alternative")
        for d in node.decorator_list
    )


def _imports_ours(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autograder")
