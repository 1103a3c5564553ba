"""Changes of a whole function: arguments with other values, and steps in another place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from itertools import combinations

from .places import Place, changed, places
from .step_tables import CUT, KEPT
from .words import key_of

#: a function that may replace another one, and its effect
Change = tuple[ast.FunctionDef, str]

#: what is done to the arguments and to the result, and the effect of both together
_AROUND: tuple[tuple[str, str, str], ...] = (
    ("{a}.transpose(0, 1)", "({r}).transpose(0, 1)", "dimensions_0_and_1_are_taken_for_each_other"),
    ("{a}.transpose(1, 2)", "({r}).transpose(1, 2)", "dimensions_1_and_2_are_taken_for_each_other"),
    ("{a}.mT", "({r}).mT", "the_last_two_dimensions_are_taken_for_each_other"),
    ("{a}.flip(-2)", "({r}).flip(-2)", "the_tokens_are_taken_in_the_opposite_order"),
    (
        "{a}.flatten(0, 1)[None]",
        "({r})[0].unflatten(0, {first}.shape[:2])",
        "the_samples_of_a_batch_are_taken_for_one_long_sequence",
    ),
)
#: the last argument and the last result are both reversed
_TURNED = ("{a} and {a}[::-1]", "(lambda found: (*found[:-1], found[-1][::-1]))({r})")
#: families of arguments; the keys contain the argument and the value it is replaced by
_COUNTS = "{{0}}_counts_as_{{1}}_whatever_it_is"
_COUNTS_AS_ONE = "{{0}}_counts_as_one_{{1}}"
_PARTS_TURNED = "the_parts_of_{{0}}_are_taken_in_the_opposite_order"
_ONE_FOR_ALL = "of_{{0}}_the_{{1}}_one_along_dimension_0_is_used_for_all"
_ONE_SAMPLE = "of_{{0}}_the_first_sample_is_used_for_all"
_SORTED = "what_{{0}}_holds_is_put_in_order_how_many_there"
_ANEW = "{{0}}_is_made_anew_with_other_numbers"
#: the replacements of arguments, by annotation
_OF_ARGUMENTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "float": (
        ("0.0", f"{_COUNTS}|{{a}}|0"),
        *((n, f"{_COUNTS}|{{a}}|{n}") for n in ("0.1", "0.5", "1.0")),
        *((n, f"{_COUNTS}|{{a}}|{n}") for n in ("1e-5", "1e-6", "1e-8")),
    ),
    "int": (
        *((n, f"{_COUNTS}|{{a}}|{n}") for n in "123468"),
        ("{a} + 1", f"{_COUNTS_AS_ONE}|{{a}}|more"),
        ("{a} - 1", f"{_COUNTS_AS_ONE}|{{a}}|less"),
    ),
    "bool": tuple((n, f"{_COUNTS}|{{a}}|{n}") for n in ("True", "False")),
    "tuple": (
        ("{a}[::-1]", f"{_PARTS_TURNED}|{{a}}"),
        ("tuple(part.detach() for part in {a})", CUT),
    ),
    "torch.Tensor": (
        ("{a}.detach()", CUT),
        ("{a}[0]", f"{_ONE_FOR_ALL}|{{a}}|first"),
        ("{a}[1]", f"{_ONE_FOR_ALL}|{{a}}|second"),
        ("{a}[-1]", f"{_ONE_FOR_ALL}|{{a}}|last"),
        ("{a}[:1].expand_as({a})", f"{_ONE_FOR_ALL}|{{a}}|first"),
        ("{a}.reshape(-1, *{a}.shape[-2:])[0]", f"{_ONE_SAMPLE}|{{a}}"),
        ("{a}.sort(-1).values", f"{_SORTED}|{{a}}"),
        ("torch.randn_like({a})", f"{_ANEW}|{{a}}"),
    ),
}
#: families of changes of a function, with the names in their keys
ELSEWHERE = "{0}_is_not_applied_where_it_is_asked_for"
_NO_EFFECT = "{0}_has_no_effect"
_KEEPS = "the_module_keeps_{0}_from_call_to_call"
_DEFAULT = "{0}_is_{1}_where_it_is_left_out"
_TURNED_AROUND = "the_parts_of_{0}_come_in_and_go_out_in_the_opposite_order"
_FIRST = "{0}_of_the_first_call_counts_in_all_later_ones"
_FOR_EACH_OTHER = "{0}_and_{1}_are_taken_for_each_other"
_TWICE = "{0}_is_applied_twice"
#: functions and methods that count as a step, and their names in words
_STEPS = {
    "softmax": "softmax",
    "relu": "ReLU",
    "exp": "the exponential",
    "dropout": "dropout",
    "apply_rotary": "the rotation",
    "masked_fill": "the mask",
    "tril": "the mask",
}


def of_arguments(function: ast.FunctionDef) -> Iterator[Change]:
    """Yields functions with one argument ignored or replaced, or with all tensors rearranged."""
    arguments = [arg for arg in function.args.args if arg.arg != "self"]
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + [*function.args.defaults]
    for argument, default in zip(arguments, defaults, strict=False):
        name, kind = argument.arg, _kind(argument)
        if default is not None:
            yield _beginning(function, name, ast.unparse(default)), key_of(_NO_EFFECT, name)
            if ast.unparse(default) == "None" and _returns_several(function):
                yield _remembering(function, name), key_of(_KEEPS, name)
        if isinstance(default, ast.Constant) and isinstance(default.value, bool):
            key = key_of(_DEFAULT, name, str(not default.value))
            yield _with_default(function, default), key
        kind, _, none = kind.partition(" | ")
        if kind.startswith("tuple") and none:
            yield _around(function, [name], *_TURNED), key_of(_TURNED_AROUND, name)
        for text, words in _OF_ARGUMENTS.get(kind.partition("[")[0], ()):
            value = text.format(a=name)
            value = f"None if {name} is None else {value}" if none else value
            yield _beginning(function, name, value), words.format(a=name)
        if _is_method(function) and function.name != "__init__":
            for text in KEPT:
                yield _beginning(function, name, text.format(e=name)), key_of(_FIRST, name)
    tensors = [argument.arg for argument in arguments if _kind(argument) == "torch.Tensor"]
    for one, other in combinations(tensors, 2):
        both = _beginning(function, f"{one}, {other}", f"{other}, {one}")
        yield both, key_of(_FOR_EACH_OTHER, one, other)
    for before, after, words in _AROUND if tensors else ():
        yield _around(function, tensors, before, after), words


def moved(function: ast.FunctionDef) -> Iterator[Change]:
    """Yields functions in which a step is applied twice, or in another place."""
    nodes = [(place, node) for place, node, _ in places(function)]
    targets = [place for at, node in nodes for place in _operands(at, node)]
    tensors = [arg.arg for arg in function.args.args if _kind(arg) == "torch.Tensor"]
    steps = [(place, node, *_step(node)) for place, node in nodes if _step(node)[0]]
    # if two steps are swapped, the layer is reported
    for place, step, name, operand in sorted(steps, key=lambda found: not _is_layer(found[1])):
        yield _put(function, place, changed(step, operand, step)), key_of(_TWICE, name)
        without = _put(function, place, _at(step, operand))
        words = key_of(ELSEWHERE, name)
        for target in targets:
            there = _without(target, (*place, *operand), place)
            if there is not None and not isinstance(_at(without, there), ast.Constant | ast.Tuple):
                yield _put(without, there, changed(step, operand, _at(without, there))), words
        for argument in tensors:
            text = ast.unparse(changed(step, operand, ast.Name(argument, ast.Load())))
            yield _beginning(without, argument, text), words


def _operands(place: Place, node: ast.AST) -> Iterator[Place]:
    """Yields operands for a step: assigned, returned, added, multiplied, or given to a layer."""
    if isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.expr):
        yield (*place, "value")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.MatMult):
        yield from ((*place, "left"), (*place, "right"))
    if _is_layer(node):
        yield (*place, "args", 0)


def _without(target: Place, operand: Place, step: Place) -> Place | None:
    """Returns a place after a step was replaced by its operand; None for the step and its parts."""
    if target in (step, operand):
        return None
    if target[: len(operand)] == operand:
        return (*step, *target[len(operand) :])
    return None if target[: len(step)] == step else target


def _step(node: ast.AST) -> tuple[str, Place]:
    """Returns the name of a step and the path to its operand; an empty name for other nodes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return "the division", ("left",)
    if not isinstance(node, ast.Call):
        return "", ()
    called = ast.unparse(node.func)
    if called.startswith("self.") and called.count(".") == 1 and len(node.args) == 1:
        return called.removeprefix("self."), ("args", 0)
    name = _STEPS.get(called.rpartition(".")[2], "")
    if isinstance(node.func, ast.Attribute) and not called.startswith("torch."):
        return name, ("func", "value")
    return (name, ("args", 0)) if node.args else ("", ())


def _is_layer(node: ast.AST) -> bool:
    """Returns whether a node is a call of `self.name` with one argument."""
    own = isinstance(node, ast.Call) and len(node.args) == 1
    return own and ast.unparse(node).startswith("self.")


def _kind(argument: ast.arg) -> str:
    """Returns the annotation of an argument."""
    return "" if argument.annotation is None else ast.unparse(argument.annotation)


def _is_method(function: ast.FunctionDef) -> bool:
    return bool(function.args.args) and function.args.args[0].arg == "self"


def _with_default(function: ast.FunctionDef, default: ast.Constant) -> ast.FunctionDef:
    """Returns a function in which the default of a switch is inverted."""
    place = ("args", "defaults", function.args.defaults.index(default))
    other = changed(function, place, ast.Constant(not default.value))
    assert isinstance(other, ast.FunctionDef)
    return other


def _beginning(function: ast.FunctionDef, name: str, value: str) -> ast.FunctionDef:
    """Returns a function that first assigns another value to one of its arguments."""
    other = copy.copy(function)
    other.body = [*ast.parse(f"{name} = {value}").body, *function.body]
    return other


def _around(
    function: ast.FunctionDef, tensors: list[str], before: str, after: str
) -> ast.FunctionDef:
    """Returns a function that calls the original with other tensors, and changes its result."""
    inner, outer = copy.copy(function), copy.copy(function)
    inner.name = "_inner"
    names = [arg.arg for arg in function.args.args]
    given = [before.format(a=name) if name in tensors else name for name in names]
    result = after.format(r=f"_inner({', '.join(given)})", first=tensors[0])
    outer.body = [inner, *ast.parse(f"return {result}").body]
    return outer


def _remembering(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    """Returns a method that keeps its last result for calls that don't pass one."""
    inner, outer = copy.copy(function), copy.copy(function)
    inner.name = "_inner"
    text = f"""
{name} = getattr(self, "_kept", None) if {name} is None else {name}
_found = _inner({", ".join(arg.arg for arg in function.args.args)})
self._kept = _found[-1]
return _found
"""
    outer.body = [inner, *ast.parse(text).body]
    return outer


def _returns_several(method: ast.FunctionDef) -> bool:
    """Returns whether a method of a class returns a tuple."""
    returns = "" if method.returns is None else ast.unparse(method.returns)
    return _is_method(method) and returns.startswith("tuple")


def _at(tree: ast.AST, place: Place) -> ast.expr:
    for part in place:
        tree = tree[part] if isinstance(part, int) else getattr(tree, part)  # type: ignore[index]
    assert isinstance(tree, ast.expr)
    return tree


def _put(function: ast.FunctionDef, place: Place, other: ast.AST) -> ast.FunctionDef:
    found = changed(function, place, other)
    assert isinstance(found, ast.FunctionDef)
    return found
