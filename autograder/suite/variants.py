"""Marks and reads known correct and known wrong implementations, which are used to test suites.

A variants file (`tests/misconceptions/<assignment>/<exercise>.py`, `tests/alternatives/...`) is
plain code: each decorated function or class is a variant of one question's answer, and its name is
the variant's name.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..worker.compiler import not_compiling
from .local import load_module

T = TypeVar("T", bound=Callable[..., Any])
_DOCUMENTED = ast.ClassDef | ast.FunctionDef
#: matches an entry's words, on which no result depends; they are added when a table is read
_ENTRY_WORDS = re.compile(r'^ +(?:confuses|hint)=(?:"(?:[^"\\\n]|\\.)*"\s*)+,\n', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Variant:
    """One implementation of a question.

    `confuses` and `hint` are empty for a correct implementation. If a wrong answer is not a catalog
    entry itself, but its intent is known, `names` contains the names of the entries that fit. If
    `is_usual` is true, many students write this alternative, so families of mistakes are also
    derived from it.
    """

    question: str
    name: str
    implementation: Callable[..., Any]
    confuses: str = ""
    hint: str = ""
    names: tuple[str, ...] = ()
    is_usual: bool = False


def misconception(question: str, *, confuses: str, hint: str) -> Callable[[T], T]:
    """Marks a wrong implementation, with a description of the student's confusion and a hint."""

    def mark(implementation: T) -> T:
        name = implementation.__name__
        return _marked(implementation, Variant(question, name, implementation, confuses, hint))

    return mark


def alternative(question: str, *, is_usual: bool = False) -> Callable[[T], T]:
    """Marks a correct implementation that differs from the solution; see `Variant.is_usual`."""

    def mark(implementation: T) -> T:
        name = implementation.__name__
        return _marked(implementation, Variant(question, name, implementation, is_usual=is_usual))

    return mark


def combination(question: str, *mistakes: str) -> Callable[[T], T]:
    """Marks an implementation with several mistakes; grading may report any of these mistakes."""

    def mark(implementation: T) -> T:
        name, both = implementation.__name__, " + ".join(mistakes)
        return _marked(
            implementation, Variant(question, name, implementation, both, names=mistakes)
        )

    return mark


def intended(question: str, means: str, *names: str) -> Callable[[T], T]:
    """Marks a wrong answer whose intent is known: `means` describes it, and any of `names` fits."""

    def mark(implementation: T) -> T:
        name = implementation.__name__
        return _marked(implementation, Variant(question, name, implementation, means, names=names))

    return mark


_MARKS: Mapping[str, Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    mark.__name__: mark for mark in (misconception, alternative, combination, intended)
}


def _marked(implementation: T, variant: Variant) -> T:
    implementation.__variant__ = variant  # type: ignore[attr-defined]
    return implementation


def variants_in(path: Path) -> tuple[Variant, ...]:
    """Returns the variants in a file, in order, or () if the file doesn't exist."""
    if not path.is_file():
        return ()
    name = f"_variants_{path.parent.parent.name}_{path.parent.name}_{path.stem}"
    with not_compiling():  # as in a worker; loading the compiler would cost each job 1.3 s of CPU
        module = load_module(path, name)
    return tuple(_found(module))


def _found(module: ModuleType) -> list[Variant]:
    return [
        value.__variant__
        for value in vars(module).values()
        if isinstance(getattr(value, "__variant__", None), Variant)
    ]


def variants_read(path: Path) -> tuple[Variant, ...]:
    """Returns the variants in a file without executing it, or () if the file doesn't exist."""
    return variants_of_text(path.read_text(encoding="utf-8")) if path.is_file() else ()


def variants_of_text(text: str) -> tuple[Variant, ...]:
    """Returns the variants in a file's text, in order; their functions can't be called.

    Raises `ValueError` if an argument of a decorator is not a literal.
    """
    return tuple(
        _variant_of(decorator, node.name)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
        if _is_mark(decorator)
    )


def _variant_of(decorator: ast.expr, name: str) -> Variant:
    assert isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name)

    def unread(*_: object) -> None:
        raise TypeError(f"{name} was read as text, not executed")

    unread.__name__ = name
    arguments = [ast.literal_eval(value) for value in decorator.args]
    named = {word.arg or "": ast.literal_eval(word.value) for word in decorator.keywords}
    marked: Any = _MARKS[decorator.func.id](*arguments, **named)(unread)
    variant: Variant = marked.__variant__
    return variant


def module_texts(solution: Path, variants: Path) -> Iterator[tuple[Variant, str]]:
    """Yields the results of `submissions_of` for two files, if the file with variants exists."""
    if variants.is_file():
        texts = (path.read_text(encoding="utf-8") for path in (solution, variants))
        yield from submissions_of(*texts)


def submissions_of(solution: str, variants: str) -> Iterator[tuple[Variant, str]]:
    """Yields each variant with a submission: the solution's text with one question replaced.

    The submission also includes the imports and the unmarked definitions in the variants file. The
    variant is renamed to the question; its definition is the last one with this name, so it
    replaces the solution's definition. Nothing is executed.
    """
    found = variants_of_text(variants)
    questions = {variant.name: variant.question for variant in found}
    parts = list(_parts(ast.parse(variants), questions))
    for variant in found:
        texts = [text for name, text in parts if name in ("", variant.name)]
        yield variant, "\n\n".join([solution, *texts]) + "\n"


def _parts(tree: ast.Module, questions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the statements in a variants file, each with its variant's name, or '' if unmarked."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and any(
            map(_is_mark, node.decorator_list)
        ):
            name = node.name
            node.decorator_list = [d for d in node.decorator_list if not _is_mark(d)]
            yield name, ast.unparse(_called(node, questions[name]))
        elif not _imports_ours(node):
            yield "", ast.unparse(node)


def _called(node: ast.FunctionDef | ast.ClassDef, name: str) -> ast.stmt:
    """Renames a definition, and all references to this definition within it."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == node.name:
            part.id = name
    node.name = name
    return node


def _is_mark(decorator: ast.expr) -> bool:
    return (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id in _MARKS
    )


def _imports_ours(node: ast.stmt) -> bool:
    """Returns whether a statement imports a module of this project other than `parts`."""
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    return module.startswith("autograder") and module != "autograder.parts"


# digests of code, which do not change if only words change


def digest_of_code(paths: Iterable[Path], others: Iterable[str] = ()) -> str:
    """Returns a digest of `others` and of the modules' code without docstrings and comments."""
    parts = [part for path in paths for part in _definitions(path.read_text(encoding="utf-8"))]
    return hashlib.sha256("\n".join((*others, *sorted(parts))).encode()).hexdigest()


def _definitions(text: str) -> Iterator[str]:
    """Yields the code of each function, class and table in a module."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            continue
        docstrings = {line for part in ast.walk(node) for line in _docstring_lines(part)}
        yield "\n".join(
            line
            for number, line in enumerate(lines[node.lineno - 1 : node.end_lineno], node.lineno)
            if number not in docstrings and line.strip() and not line.lstrip().startswith("#")
        )


def _docstring_lines(node: ast.AST) -> range:
    """Returns the line numbers of a definition's docstring, or an empty range."""
    first = node.body[0] if isinstance(node, _DOCUMENTED) and node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return range(first.lineno, (first.end_lineno or first.lineno) + 1)
    return range(0)


@cache
def without_words(catalogue: str) -> str:
    """Returns a catalog's text without its entries' descriptions, on which no result depends."""
    return _ENTRY_WORDS.sub("", catalogue)
