"""Replaces one name with another wherever it is read: the name of a layer, a size or a result."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from itertools import combinations

from .expressions import Scope
from .step_tables import PARAMETER

SIZE = "a_size_is_fixed_or_taken_from_another_place_so_only_some"
_LAYERS, _SIZES = "two_layers_change_places", "two_sizes_change_places"
ONE_LAYER = "one_layer_does_what_several_should_do"


def of_whole(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Yields swapped layers, other sizes, and results that are assigned differently."""
    if isinstance(node, ast.ClassDef):
        yield from _trained(node)
    if isinstance(node, ast.FunctionDef) and node.name != "__init__":
        used = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        attributes = [name for name in scope.attributes if name in used]
        layers = _layers_in(node)
        for one, other in combinations(attributes, 2):
            names = {f"self.{one}": f"self.{other}", f"self.{other}": f"self.{one}"}
            yield renamed(node, names), _LAYERS if {one, other} & layers else _SIZES
        yield from _shared(node)
        sizes = _sizes_in(node)
        tensor = next((arg.arg for arg in node.args.args if arg.arg != "self"), "")
        shape = [f"{tensor}.shape[{dim}]" for dim in (0, 1, 2, -1, -2)]
        for size in sizes:
            for other in (*sizes, *shape, *"23468"):
                if other != size:
                    yield renamed(node, {size: other}), SIZE
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        yield from _taken_otherwise(node, node.targets[0].elts)


def _layers_in(function: ast.FunctionDef) -> set[str]:
    """Returns attributes that are called, or used in matrix products."""
    found: set[str] = set()
    for part in ast.walk(function):
        operands = [part.func] if isinstance(part, ast.Call) else []
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
            operands = [part.left, part.right]
        found |= {operand.attr for operand in operands if isinstance(operand, ast.Attribute)}
    return found


def _shared(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yields functions in which one layer replaces all layers with the same argument."""
    given: dict[str, list[str]] = {}
    for part in ast.walk(function):
        if isinstance(part, ast.Call) and len(part.args) == 1:
            layer = ast.unparse(part.func)
            given.setdefault(ast.unparse(part.args[0]), []).extend(
                [layer] if layer.startswith("self.") else []
            )
    for layers in given.values():
        if len(set(layers)) > 2:  # with two layers, one merely replaces the other
            for one in layers:
                yield renamed(function, dict.fromkeys(layers, one)), ONE_LAYER


def _taken_otherwise(node: ast.Assign, names: list[ast.expr]) -> Iterator[tuple[ast.AST, str]]:
    """Yields assignments with one of several results dropped, or with two of them swapped."""
    is_shape = ".shape" in ast.unparse(node.value)
    others: list[tuple[dict[int, ast.expr], str]] = []
    for index, name in enumerate(names):
        others.append(({index: ast.Name("_", ast.Store())}, "one_of_several_results_is_not_kept"))
        for place in range(index):
            words = SIZE if is_shape else "two_results_are_taken_for_each_other"
            others.append(({index: names[place], place: name}, words))
    for other, words in others:
        taken = ast.Tuple([other.get(at, name) for at, name in enumerate(names)], ast.Store())
        yield ast.Assign([taken], node.value), words


def _sizes_in(function: ast.FunctionDef) -> list[str]:
    """Returns expressions of sizes: items of a shape, and names that are assigned from one."""
    found = []
    for part in ast.walk(function):
        if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice):
            found += [ast.unparse(part)] if ast.unparse(part.value).endswith(".shape") else []
        if isinstance(part, ast.Assign) and ".shape" in ast.unparse(part.value):
            found += [name.id for name in ast.walk(part.targets[0]) if isinstance(name, ast.Name)]
    return list(dict.fromkeys(found))


def _trained(owner: ast.ClassDef) -> Iterator[tuple[ast.AST, str]]:
    """Yields classes in which a buffer is a float parameter that is read as truth values."""
    for part in ast.walk(owner):
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "self.register_buffer":
            name, value = part.args[:2]
            read = f"self.{ast.literal_eval(name)}"
            made = f"self.register_parameter({ast.unparse(name)}, torch.nn.Parameter("
            made += f"({ast.unparse(value)}).float()))"
            yield renamed(owner, {read: f"{read}.bool()", ast.unparse(part): made}), PARAMETER


def renamed(tree: ast.AST, names: Mapping[str, str]) -> ast.AST:
    """Returns a tree in which some expressions are replaced."""
    other: ast.AST = _Renamed(names).visit(copy.deepcopy(tree))
    return other


class _Renamed(ast.NodeTransformer):
    """Replaces expressions where they are read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        """Returns the node, or its replacement."""
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) and is_read:
            other = self._names.get(ast.unparse(node))
            if other is not None:
                return ast.copy_location(ast.parse(other, mode="eval").body, node)
        return self.generic_visit(node)
