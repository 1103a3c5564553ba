"""Finds the strings to which an expression can evaluate, such as the name in a `getattr` call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

#: stands for any string or, after a known beginning, for any end: `W_*`
ANY = "*"
_UNKNOWN = frozenset({ANY})
#: how many assignments from name to name to follow
_DEEPEST = 4
#: placeholders for a loop's index and for anything else; below, the possible values of an index
_NUMBER, _OTHER = ast.Name("<number>"), ast.Name("<other>")
_NUMBERS: list[ast.expr | None] = [ast.Constant(number) for number in range(100)]
#: more strings than this are not the names of layers
_MOST_TEXTS = 1_000


def written(node: ast.expr) -> Iterator[str]:
    """Yield the value of a string constant, or of a sum of string constants."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for left in written(node.left):
            yield from (left + right for right in written(node.right))


class ExpressionTexts:
    """The strings to which the expressions in one module can evaluate.

    A name can be any string that is assigned to it, or that a loop over literals gives it, anywhere
    in the module, because scopes are not distinguished. A name that is bound in any other way can
    be any string.
    """

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        self._values: dict[str, list[ast.expr | None]] = {}
        seen: set[int] = set()
        for node in sorted(nodes, key=lambda node: not isinstance(node, ast.Assign)):
            for target, value in self._bindings(node):
                for name, part in _matched(target, value):
                    self._values.setdefault(name.id, []).append(part)
                    seen.add(id(name))
        for node in nodes:
            if id(node) not in seen:
                self._values |= dict.fromkeys(_bound(node), [None])

    def of(self, node: ast.expr | None, depth: int = 0) -> frozenset[str]:
        """Return all strings to which an expression can evaluate; `*` stands for an unknown end."""
        match node:
            case ast.Constant(str(text)):
                return frozenset({text})
            case ast.BinOp(left, ast.Add(), right):
                return _joined([self.of(left, depth), self.of(right, depth)])
            case ast.JoinedStr(parts):
                return _joined([self.of(part, depth) for part in parts])
            case ast.FormattedValue(value, -1, None):
                return self._numbers(value) or self.of(value, depth)
            case ast.Name(name) if depth < _DEEPEST and name in self._values:
                return frozenset().union(*(self.of(v, depth + 1) for v in self._values[name]))
        return _UNKNOWN

    def _numbers(self, node: ast.expr) -> frozenset[str]:
        """Return a value's possible integers, as strings, or an empty set if they are unknown."""
        values = self._values.get(node.id, []) if isinstance(node, ast.Name) else [node]
        if _NUMBER in values:
            values = [v for v in values if v is not _NUMBER] + _NUMBERS
        numbers = [v.value for v in values if isinstance(v, ast.Constant) and type(v.value) is int]
        return frozenset(map(str, numbers)) if len(numbers) == len(values) else frozenset()

    def _bindings(self, node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
        """Yield each target of an assignment or a loop with its values."""
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.For | ast.comprehension):
            yield from ((node.target, item) for item in self._items(node.iter))

    def _items(self, node: ast.expr) -> Sequence[ast.expr | None]:
        """Return the items over which a loop iterates, or [None] if they are unknown."""
        match node:
            case ast.Tuple(items) | ast.List(items) | ast.Set(items) if items:
                return items
            case ast.Dict(keys) if keys:
                return keys
            case ast.Call(ast.Attribute(ast.Dict(keys, values), "items")) if keys:
                return [ast.Tuple([k, v]) if k else None for k, v in zip(keys, values, strict=True)]
            case ast.Call(ast.Name("range")):
                return [_NUMBER]
            case ast.Call(ast.Name("enumerate"), [counted, *_]):
                return [ast.Tuple([_NUMBER, item or _OTHER]) for item in self._items(counted)]
            case ast.Call(ast.Attribute(ast.Constant(str(text)), "split"), []):
                return [ast.Constant(word) for word in text.split()]
            case ast.Constant(str(text)):
                return [ast.Constant(letter) for letter in text]
            case ast.Name(name):
                bound = self._values.get(name, [])
                # only a tuple, because a list or a dictionary may have been extended since
                if len(bound) == 1 and isinstance(bound[0], ast.Tuple):
                    return self._items(bound[0])
        return [None]


def _matched(
    target: ast.expr, value: ast.expr | None
) -> Iterator[tuple[ast.Name, ast.expr | None]]:
    """Yield each name in a target with its part of the value, or with None if that is unknown."""
    if isinstance(target, ast.Name):
        yield target, value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        is_plain = len(parts) == len(target.elts)
        for number, one in enumerate(target.elts):
            yield from _matched(one, parts[number] if is_plain else None)
    elif isinstance(target, ast.Starred):
        yield from _matched(target.value, None)


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name) | ast.alias(_, str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.alias(name) | ast.FunctionDef(name) | ast.ClassDef(name):
            return [name.partition(".")[0]]
    return []


def _joined(parts: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return all ways to join one string from each part; after an unknown end, drop the rest."""
    if prod(map(len, parts)) > _MOST_TEXTS:
        return _UNKNOWN
    texts = {"".join(text).partition(ANY) for text in product(*parts)}
    return frozenset(known + rest for known, rest, _ in texts)
