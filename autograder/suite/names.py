"""Finds by name which torch calls the code of an answer reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

import torch

#: a name looked up by its text: `getattr(torch, "softmax")`, `vars(torch)["soft" + "max"]`
BY_TEXT = "getattr"
#: a method called on something that is not a module: `scores.softmax(-1)`
METHOD_OF_A_VALUE = "Tensor"


@lru_cache(maxsize=64)  # several tests of a question ask the same
def names_used(source: str, answer: str) -> frozenset[str]:
    """Dotted names in the definition `answer` and in what it reaches in its own module.

    Imports are resolved (`F.softmax` is `torch.nn.functional.softmax`); a method on any other
    value counts as `Tensor.<method>` where tensors have one of that name and no class of the
    source does, and a name that is looked up by its text as `getattr.<name>`. Text that is no valid
    Python gives no names.
    """
    tree = _parsed(source)
    imports, definitions, methods = _imports(tree), _definitions(tree), _methods(tree)
    found: set[str] = set()
    if answer in imports and answer not in definitions:  # `from torch import softmax`
        found.add(imports[answer])
    for name in definitions_reached(source, answer):
        found |= {f"{BY_TEXT}.{text}" for text in _looked_up(definitions[name])}
        for dotted in _dotted_names(definitions[name]):
            head, _, rest = dotted.partition(".")
            if head in definitions:
                continue
            if head in imports:
                found.add(f"{imports[head]}.{rest}" if rest else imports[head])
            elif hasattr(torch.Tensor, method := rest.rsplit(".", 1)[-1]) and method not in methods:
                # not so `self.scaled_dot_product_attention`: a method of the student's own class
                found.add(f"{METHOD_OF_A_VALUE}.{method}")
    return frozenset(found)


def definitions_reached(source: str, answer: str) -> frozenset[str]:
    """The definition `answer` and those of its module that it refers to, directly or not."""
    definitions = _definitions(_parsed(source))
    waiting, reached = [answer], set()
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in reached:
            reached.add(name)
            heads = (dotted.partition(".")[0] for dotted in _dotted_names(definitions[name]))
            waiting += [head for head in heads if head in definitions]
    return frozenset(reached)


def definition_of(source: str, name: str) -> ast.stmt | None:
    """The last definition of a name at the top of a module; None where there is none."""
    return _definitions(_parsed(source)).get(name)


def imports_of(source: str) -> dict[str, str]:
    """The dotted name that each imported name of a module stands for."""
    return _imports(_parsed(source))


@lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _imports(tree: ast.Module) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or target] = target
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = node
    return found


def _methods(tree: ast.Module) -> frozenset[str]:
    """Names of the methods of the module's own classes."""
    return frozenset(
        node.name
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
    )


def _looked_up(node: ast.AST) -> Iterator[str]:
    """The texts by which `getattr`, `vars(...)[...]` and `__dict__[...]` look names up."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and len(part.args) > 1:
            if ast.unparse(part.func).rpartition(".")[2] in ("getattr", "attrgetter"):
                yield from _text(part.args[1])
        elif isinstance(part, ast.Call) and ast.unparse(part.func).endswith("attrgetter"):
            yield from (text.rpartition(".")[2] for arg in part.args for text in _text(arg))
        elif isinstance(part, ast.Subscript) and _is_namespace(part.value):
            yield from _text(part.slice)


def _is_namespace(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("vars", "globals", "builtins.vars")
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _text(node: ast.expr) -> Iterator[str]:
    """The text of an expression of constants, also where it is put together; else nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for left in _text(node.left):
            yield from (left + right for right in _text(node.right))


def _dotted_names(node: ast.AST) -> Iterable[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield _dotted(part)


def _dotted(node: ast.Attribute) -> str:
    parts: list[str] = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    parts.append(value.id if isinstance(value, ast.Name) else "<value>")
    return ".".join(reversed(parts))
