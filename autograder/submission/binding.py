"""The names that a statement binds, defines, and changes without binding them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from .registering import CHANGING, DEFINITIONS, named_by_decorators, named_on_the_way, root

_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)
_OWN_NAMES = (
    *DEFINITIONS,
    *(ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
#: blocks that may be executed or not, from the outermost to the innermost, by numbers
_Block = tuple[int, ...]
_BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives a value."""
    for part in parts_of(node):
        yield from named_on_the_way(part)
        if isinstance(part, DEFINITIONS):
            yield part.name
        elif isinstance(part, _IMPORTS):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in part.names)
        elif isinstance(part, _ASSIGNS):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            yield from (name for target in targets for name in _stored_in(target))
            yield from (name for target in targets for name in _written_out(target))
        elif isinstance(part, ast.For):
            yield from _stored_in(part.target)
        elif isinstance(part, ast.With):
            items = [item.optional_vars for item in part.items if item.optional_vars]
            yield from (name for item in items for name in _stored_in(item))


def bound_first(node: ast.AST) -> frozenset[str]:
    """The names that a statement surely gives a value before it reads them.

    So it is for `i` of `for i in rows: print(i)`: what it was before counts for nothing.
    """
    bound: dict[str, _Block] = {}
    read: set[str] = set()
    for name, is_bound, block in _in_order(node):
        if name not in bound and is_bound and name not in read:
            bound[name] = block
        elif name not in bound or block[: len(bound[name])] != bound[name]:
            read.add(name)  # perhaps: a block may be executed, or not
    return frozenset(bound.keys() - read)


def _in_order(node: ast.AST) -> Iterator[tuple[str, bool, _Block]]:
    """Each name in the order in which it is read or bound; whether it is bound, and the block."""
    waiting: list[tuple[ast.AST, _Block]] = [(node, ())]
    blocks = count()
    while waiting:
        part, block = waiting.pop()
        if isinstance(part, ast.Name):
            yield part.id, isinstance(part.ctx, ast.Store), block
            continue
        parts: list[tuple[ast.AST, _Block]] = []
        for branch, is_sure in _branches(part):
            inside = block if is_sure else (*block, next(blocks))
            parts += [(one, inside) for one in branch if one is not None]
        waiting += reversed(parts)


def _branches(node: ast.AST) -> list[tuple[Sequence[ast.AST | None], bool]]:
    """The parts of a node in the order of execution, and whether they surely are executed."""
    match node:
        case ast.AugAssign(ast.Name(name), _, value):
            return [([ast.Name(name, ast.Load()), value], True)]
        case ast.Assign(targets, value):
            return [([value, *targets], True)]
        case ast.AnnAssign(target, _, value):
            return [([value, target], True)]
        case ast.NamedExpr(target, value):
            return [([value], True), ([target], False)]
        case ast.For(target, rows, body, other):
            return [([rows], True), ([target, *body], False), (other, False)]
        case ast.If(test, body, other) | ast.While(test, body, other):
            return [([test], True), (body, False), (other, False)]
        case ast.Try(body, handlers, other, final) | ast.TryStar(body, handlers, other, final):
            return [(body, False), (handlers, False), (other, False), (final, False)]
        case ast.match_case():
            return [([*ast.iter_child_nodes(node)], False)]
        case _ if isinstance(node, _OWN_NAMES):
            walked = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.arg)]
            own = {p.arg if isinstance(p, ast.arg) else p.id for p in walked if _is_own(p)}
            return [([p for p in walked if isinstance(p, ast.Name) and p.id not in own], True)]
    return [([*ast.iter_child_nodes(node)], True)]


def _is_own(part: ast.Name | ast.arg) -> bool:
    """Whether it names an argument, or is bound: by a comprehension, or in a function."""
    return isinstance(part, ast.arg) or isinstance(part.ctx, ast.Store)


def _stored_in(target: ast.expr) -> Iterable[str]:
    return (
        part.id
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


def _written_out(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Subscript(ast.Call(ast.Name("globals")), ast.Constant(str(name))):
            yield name


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """The statement, and for a block all statements in it that are executed with it."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, _BLOCKS):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                waiting += getattr(part, field, [])
        elif isinstance(part, ast.ExceptHandler | ast.match_case):
            waiting += part.body


def defined_by(node: ast.AST) -> Iterator[str]:
    """The names that a part of a statement makes a function or class."""
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and _makes_a_function(node.value, target.id):
                yield target.id


def _makes_a_function(value: ast.expr | None, name: str) -> bool:
    """Whether a value is a function beyond doubt: a lambda, a partial, or `name` wrapped."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Lambda)
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    return called == "partial" or any(
        isinstance(argument, ast.Lambda) or (isinstance(argument, ast.Name) and argument.id == name)
        for argument in arguments
    )


def patched_by(node: ast.AST) -> Iterator[str]:
    """The names that a part of a statement changes."""
    if isinstance(node, _ASSIGNS):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        # `steps += [f]` goes on with what the name has
        inside = (ast.Attribute, ast.Subscript, *([ast.Name] * isinstance(node, ast.AugAssign)))
        yield from (name for t in targets if isinstance(t, inside) and (name := root(t)))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr"):
            yield from (name for argument in call.args[:1] if (name := root(argument)))
        elif isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING:
            yield from (name for name in [root(call.func.value)] if name)
    yield from named_by_decorators(node)
