"""Which step, tensor or size a change is about, in words.

An answer has names of its own. So only those are told that a question gives - arguments and layers
with parameters - and what everybody calls so, such as the scores. They say what an answer does as
if the change had been made, which is true of any code that behaves so.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .calls import AXIS, BIAS_LEFT_OUT, BIAS_TOO_MANY, DIAGONAL, OF_PART_OF_SUM
from .tables import (
    ADDED,
    ANOTHER,
    APPLIED,
    CHECK,
    CONDITION,
    CUT,
    FUNCTION,
    LEFT_OUT,
    NUMBER,
    OF_ANOTHER_SIZE,
    ON_THE_WAY,
    OPERATION,
    SWAPPED,
    WRAPPED,
)

#: a node, and what takes its place; None takes a statement away
Part = tuple[ast.AST, ast.AST | None]

#: names of values that are words of the subject
_CONCEPTS: Mapping[str, str] = {
    **{name: f"the {name}" for name in ("queries", "keys", "values", "scores", "weights")},
    **{"q": "the queries", "k": "the keys", "v": "the values"},
    **{"exponentials": "the exponentials", "present": "the present"},
}
_PLURAL = "s"
#: layers without parameters: what they do
_WITHOUT_PARAMETERS: Mapping[str, str] = {"Dropout": "dropout", "ReLU": "ReLU", "ModuleList": ""}
_SWAP = "a swap of two dimensions"
_CALLED: Mapping[str, str] = {
    **{"softmax": "softmax", "relu": "ReLU", "dropout": "dropout", "masked_fill": "the mask"},
    **{"exp": "the exponential", "apply_rotary": "the rotation", "sqrt": "the root"},
    **{"transpose": _SWAP, "sum": "a sum", "mean": "a mean"},
    **{"repeat_interleave": "a repetition", "sorted": "a sorting", "log": "the logarithm"},
}
_OPERATIONS: Mapping[type[ast.operator], str] = {
    ast.Add: "a sum",
    ast.Sub: "a difference",
    ast.Mult: "a product of single numbers",
    ast.Div: "a quotient",
    ast.FloorDiv: "a quotient that is cut to a whole number",
    ast.Mod: "a remainder",
    ast.MatMult: "a matrix product",
}
_LEFT: Mapping[type[ast.operator], str] = {
    ast.Add: "one part of a sum is left out",
    ast.Sub: "nothing is subtracted where something should be",
    ast.Mult: "a factor is left out",
    ast.Div: "a division is left out",
    ast.BitAnd: "one of two conditions is left out",
    ast.BitOr: "one of two conditions is left out",
}
#: of functions, the one that is called by the one that is asked for
_FUNCTIONS: Mapping[tuple[str, str], str] = {
    ("tril", "triu"): "a mask has numbers below its border where they belong above",
    ("triu", "tril"): "a mask has numbers above its border where they belong below",
    ("mean", "sum"): "a mean is taken where a sum is asked for",
    ("sum", "mean"): "a sum is taken where a mean is asked for",
    ("stack", "cat"): "parts stand along a dimension of their own, and do not follow each other",
    ("cat", "stack"): "parts follow each other, and have no dimension of their own",
    ("cos", "sin"): "a cosine stands where a sine is asked for",
    ("sin", "cos"): "a sine stands where a cosine is asked for",
    ("std", "var"): "a standard deviation stands where a variance is asked for",
    ("log_softmax", "softmax"): "the logarithm of softmax is taken",
}
_APPLIED: Mapping[str, str] = {
    **{"exp": "the exponential", "log": "the logarithm", "sigmoid": "a sigmoid"},
    **{"cos": "the cosine", "sin": "the sine", "tanh": "the hyperbolic tangent"},
}
_FAR: Mapping[int, str] = {
    1: "one diagonal too far to the upper right",
    2: "two diagonals too far to the upper right",
    -1: "one diagonal too far to the lower left",
    -2: "two diagonals too far to the lower left",
}
_SIZES: Mapping[str, str] = {
    "-1": "the last size",
    "-2": "the last size but one",
    "0": "the first size",
    "1": "the second size",
}
_OF_WRAPPED = frozenset(words for _, words in WRAPPED) - {CUT}


@dataclass(frozen=True, slots=True)
class Details:
    """What a definition's names stand for: its arguments, and its layers that have parameters."""

    arguments: frozenset[str]
    layers: frozenset[str]
    #: of what is assigned to a layer: the layer
    made: Mapping[ast.AST, str]
    #: what other layers do, by their names
    others: Mapping[str, str]
    #: the node around each
    around: Mapping[ast.AST, ast.AST]

    @classmethod
    def of(cls, definition: ast.AST) -> Details:
        """Of a function or a class; an argument that gets another value is none any more."""
        nodes = list(ast.walk(definition))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        layers: dict[ast.AST, str] = {
            node.value: node.targets[0].attr
            for node in nodes
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and _class_of(node.value)[:1].isupper()
        }
        made = {v: name for v, name in layers.items() if _class_of(v) not in _WITHOUT_PARAMETERS}
        others = {
            name: _WITHOUT_PARAMETERS[_class_of(value)]
            for value, name in layers.items()
            if value not in made
        }
        around = {part: node for node in nodes for part in ast.iter_child_nodes(node)}
        arguments = {node.arg for node in nodes if isinstance(node, ast.arg)} - stored - {"self"}
        return cls(frozenset(arguments), frozenset(made.values()), made, others, around)

    def of_change(self, words: str, parts: Sequence[Part]) -> str:
        """A sentence that says more than the family's words; empty where there is none."""
        if words in (BIAS_LEFT_OUT, BIAS_TOO_MANY):
            return self._of_bias(words, [self.made.get(node, "") for node, _ in parts])
        found = {self._of_part(words, *part) for part in parts}
        return found.pop() if len(found) == 1 else ""

    def _of_part(self, words: str, node: ast.AST, other: ast.AST | None) -> str:
        if words == ANOTHER:
            return self._takes_the_place(other, node)
        if words == LEFT_OUT:
            return self._left_out(node, other)
        if words == SWAPPED:
            return self._swapped(node, other)
        if words == CUT:
            return self._cut(node, other)
        if words == CHECK:
            return self._unchecked(node)
        if words == NUMBER:
            return self._number(node, other)
        if words in (ON_THE_WAY, ADDED, APPLIED):
            return self._returned(node, other)
        if words == OF_ANOTHER_SIZE:
            return self._root(other)
        if words == OF_PART_OF_SUM:
            what = self._called(node)
            return f"{what} is applied to one part of a sum, not to the whole" if what else ""
        if words in _OF_WRAPPED:
            return self._wrapped(words, node)
        return _of_itself(words, node, other)

    def _thing(self, node: ast.AST | None) -> str:
        """What a name stands for, in words; empty where only this code has it."""
        if isinstance(node, ast.Name):
            own = f"`{node.id}`" if node.id in self.arguments else ""
            return own or _CONCEPTS.get(node.id, "")
        return self._layer(node)

    def _layer(self, node: ast.AST | None) -> str:
        is_layer = isinstance(node, ast.Attribute) and node.attr in self.layers
        return f"`{node.attr}`" if is_layer and isinstance(node, ast.Attribute) else ""

    def _takes_the_place(self, new: ast.AST | None, old: ast.AST) -> str:
        one, other = self._thing(new), self._thing(old)
        if not one or not other or one == other:
            is_check = self._is_in_a_check(old)
            return "a check looks at another value than the one asked for" if is_check else ""
        if self._layer(old):
            return f"{one} does what {other} should do"
        stand = "stand" if _is_or_are(one) == "are" else "stands"
        return f"{one} {stand} where {other} should"

    def _is_in_a_check(self, node: ast.AST) -> bool:
        """Whether it is part of a condition on which an error is raised."""
        while node in self.around:
            inner, node = node, self.around[node]
            if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
                return inner is node.test
        return False

    def _unchecked(self, node: ast.AST) -> str:
        """What is not looked at."""
        if not isinstance(node, ast.If):
            return ""
        names = dict.fromkeys(
            part.id
            for part in ast.walk(node.test)
            if isinstance(part, ast.Name) and part.id in self.arguments
        )
        checked = " and ".join(f"`{name}`" for name in names)
        return CHECK.replace("a check", f"a check of {checked}", 1) if checked else ""

    def _number(self, node: ast.AST, other: ast.AST | None) -> str:
        """Of which dimension a size is, or which part of a tuple."""
        if not isinstance(other, ast.Constant):
            return ""
        if isinstance(other.value, bool):
            on, off = ("on", "off") if other.value else ("off", "on")
            return f"a switch is {on} that should be {off}"
        around = self.around.get(node)
        if isinstance(around, ast.Subscript):
            of = ast.unparse(around.value)
            if of.endswith(".shape"):
                return "a size is that of another dimension than the one asked for"
            return (
                f"of `{of}` another part is taken than the one asked for"
                if of in self.arguments
                else ""
            )
        called = self._called(around) if around else ""
        return "dimensions are swapped that should not be" if called == _SWAP else ""

    def _called(self, node: ast.AST) -> str:
        """What is called, in words."""
        if not isinstance(node, ast.Call):
            return ""
        name = ast.unparse(node.func).rpartition(".")[2]
        return self._layer(node.func) or self.others.get(name, "") or _CALLED.get(name, "")

    def _left_out(self, node: ast.AST, other: ast.AST | None) -> str:
        if isinstance(node, ast.Call):
            what = self._called(node)
            return f"{what} is left out" if what else ""
        if isinstance(node, ast.BinOp):
            is_left = other is node.left
            if isinstance(node.op, ast.Add):
                one = self._thing(node.right if is_left else node.left)
                return f"{one} {_is_or_are(one)} left out of a sum" if one else _LEFT[ast.Add]
            if is_left or isinstance(node.op, ast.Mult | ast.BitAnd | ast.BitOr):
                return _LEFT.get(type(node.op), "")
            return "of two numbers only the second is used"
        if isinstance(node, ast.If) and other is None:
            return "a case that has a step of its own is left out"
        return ""

    def _swapped(self, node: ast.AST, other: ast.AST | None) -> str:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return f"the two sides of {_OPERATIONS[type(node.op)]} change places"
        items: list[Sequence[ast.expr]] = [
            found.args if isinstance(found, ast.Call) else found.elts
            for found in (node, other)
            if isinstance(found, ast.Call | ast.Tuple)
        ]
        if len(items) < 2:
            return ""
        moved = [self._thing(a) for a, b in zip(*items, strict=True) if a is not b]
        return f"{moved[0]} and {moved[1]} change places" if len(moved) == 2 and all(moved) else ""

    def _cut(self, node: ast.AST, other: ast.AST | None) -> str:
        what = self._layer(node)
        if isinstance(other, ast.FunctionDef) and isinstance(other.body[0], ast.Assign):
            what = self._argument(other.body[0].targets[0])
        return f"no gradient reaches {what}" if what else ""

    def _argument(self, node: ast.AST) -> str:
        """An argument by the name that a question gives it, whatever becomes of it."""
        return f"`{node.id}`" if isinstance(node, ast.Name) else ""

    def _returned(self, node: ast.AST, other: ast.AST | None) -> str:
        """What comes back, or is added to it."""
        if not isinstance(node, ast.Return) or not isinstance(other, ast.Return):
            return ""
        value = other.value
        if isinstance(value, ast.Call) and ast.dump(value) != ast.dump(node.value or value):
            what = _APPLIED.get(ast.unparse(value.func).rpartition(".")[2], "")
            return f"{what} is taken of the result, one function too many" if what else ""
        if isinstance(value, ast.BinOp):
            what = self._thing(value.right)
            return f"{what} {_is_or_are(what)} added to the result" if what else ""
        last = node.value
        given = [ast.dump(arg) for arg in last.args] if isinstance(last, ast.Call) else []
        if isinstance(last, ast.Call) and value and given == [ast.dump(value)]:
            return f"{self._layer(last.func)} is left out" if self._layer(last.func) else ""
        what = self._thing(value)
        come = "come" if _is_or_are(what) == "are" else "comes"
        return f"{what} {come} back, not what should be made of it" if what else ""

    def _root(self, other: ast.AST | None) -> str:
        """Which root it is divided by."""
        power = other.right if isinstance(other, ast.BinOp) else None
        size = power.left if isinstance(power, ast.BinOp) else None
        what = self._size(size)
        return f"the division is by the root of {what}, not of what is asked for" if what else ""

    def _size(self, node: ast.AST | None) -> str:
        if isinstance(node, ast.Constant):
            return f"{ast.unparse(node)}, whatever comes in"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            tensor = self._thing(node.value.value)
            size = _SIZES.get(ast.unparse(node.slice), "")
            return f"{size} of {tensor}" if tensor and size else ""
        if isinstance(node, ast.Attribute) and node.attr in self.arguments - self.layers:
            return f"`{node.attr}`"  # a setting is kept under its own name
        return self._thing(node) if isinstance(node, ast.Name) else ""

    def _wrapped(self, words: str, node: ast.AST) -> str:
        """Of what something is done to."""
        if isinstance(node, ast.Return):
            return f"{words} (in the result)"
        what = self._thing(node.targets[0]) if isinstance(node, ast.Assign) else ""
        return f"{words} (in {what})" if what else ""

    def _of_bias(self, words: str, names: Sequence[str]) -> str:
        """Which layers have a bias, or have none."""
        if not all(names):
            return ""
        *first, last = (f"`{name}`" for name in names)
        layers = f"{', '.join(first)} and {last}" if first else last
        has = "have" if first else "has"
        one = "no bias, which is asked for" if words == BIAS_LEFT_OUT else "a bias, unasked for"
        return f"{layers} {has} {one}"


def _of_itself(words: str, node: ast.AST, other: ast.AST | None) -> str:
    """What a change says without any name."""
    if words == OPERATION and isinstance(node, ast.BinOp) and isinstance(other, ast.BinOp):
        one, asked = _OPERATIONS.get(type(other.op), ""), _OPERATIONS.get(type(node.op), "")
        return f"{one} is taken where {asked} is asked for" if one and asked else ""
    if words == FUNCTION and isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        return _FUNCTIONS.get((other.attr, node.attr), "")
    if words == AXIS and isinstance(other, ast.Call):
        dims = [ast.unparse(arg) for arg in other.args[1:] if _is_number(arg)]
        return f"softmax runs along dimension {dims[0]}" if len(dims) == 1 else ""
    if words == DIAGONAL and isinstance(other, ast.Call) and isinstance(other.args[1], ast.BinOp):
        far = _FAR.get(ast.literal_eval(other.args[1].right), "")
        return f"the border of a mask lies {far}" if far else ""
    test = other.test if isinstance(other, ast.If | ast.IfExp) else None
    if words == CONDITION and isinstance(test, ast.Constant):
        return f"a condition {'always' if test.value else 'never'} holds"
    return ""


def _class_of(node: ast.AST) -> str:
    """The last part of what is called; classes begin with a capital letter."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _is_number(node: ast.AST) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int


def _is_or_are(what: str) -> str:
    return "are" if what.startswith("the ") and what.endswith(_PLURAL) else "is"
