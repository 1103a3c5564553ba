"""Describes the names in a definition with words that students know.

Students choose most of the names in an answer, so descriptions contain only names that the question
gives (those of arguments, and of layers with parameters) and common terms, such as the scores.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from .words import DETAILS

_WITHOUT_PARAMETERS = DETAILS["without_parameters"]
#: functions with arguments that are bounds
_BOUNDED = ("triu", "tril", "arange", "range")


@dataclass(frozen=True, slots=True)
class DefinitionNames:
    """The arguments and layers in a definition, and the parent of each syntax tree node."""

    arguments: frozenset[str]
    layers: frozenset[str]
    #: the name of the layer that a node creates
    made: Mapping[ast.AST, str]
    #: the description of a layer without parameters, keyed by the layer's name
    others: Mapping[str, str]
    #: the parent of each node
    around: Mapping[ast.AST, ast.AST]

    @classmethod
    def of(cls, definition: ast.AST) -> DefinitionNames:
        """Collects the names in a function or class, except arguments that are reassigned."""
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

    def meaning(self, node: ast.AST | None) -> str:
        """Returns a description of a name, or an empty string if only this answer uses the name."""
        if isinstance(node, ast.Name):
            own = f"`{node.id}`" if node.id in self.arguments else ""
            return own or DETAILS["concepts"].get(node.id, "")
        return self.layer(node)

    def layer(self, node: ast.AST | None) -> str:
        """Returns the name of a layer with parameters, or an empty string for anything else."""
        is_layer = isinstance(node, ast.Attribute) and node.attr in self.layers
        return f"`{node.attr}`" if is_layer and isinstance(node, ast.Attribute) else ""

    def called(self, node: ast.AST) -> str:
        """Returns a description of the function or layer that a node calls, or an empty string."""
        if not isinstance(node, ast.Call):
            return ""
        name = ast.unparse(node.func).rpartition(".")[2]
        return self.layer(node.func) or self.others.get(name, "") or DETAILS["called"].get(name, "")

    def size(self, node: ast.AST | None) -> str:
        """Returns a description of a size, or an empty string if only this answer uses the size."""
        if isinstance(node, ast.Constant):
            return f"{ast.unparse(node)}, whatever the input is"
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            tensor = self.meaning(node.value.value)
            size = DETAILS["sizes"].get(ast.unparse(node.slice), "")
            return f"{size} of {tensor}" if tensor and size else ""
        if isinstance(node, ast.Attribute) and node.attr in self.arguments - self.layers:
            return f"`{node.attr}`"  # a setting is stored under its own name
        is_argument = isinstance(node, ast.Name) and node.id in self.arguments
        return self.meaning(node) if is_argument else ""

    def arguments_in(self, node: ast.AST) -> str:
        """Returns the arguments that an expression reads, joined by "and"."""
        parts = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        return " and ".join(f"`{name}`" for name in dict.fromkeys(parts) if name in self.arguments)

    def is_a_bound(self, node: ast.AST) -> bool:
        """Returns whether a node is inside a slice, or inside a call such as `triu` or `arange`."""
        while node in self.around:
            node = self.around[node]
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Slice) or called.rpartition(".")[2] in _BOUNDED:
                return True
        return False

    def is_in_a_check(self, node: ast.AST) -> bool:
        """Returns whether a node is (or is in the condition of) an `if` that raises an error."""
        if _is_check(node):
            return True
        while node in self.around:
            inner, node = node, self.around[node]
            if _is_check(node):
                return isinstance(node, ast.If) and inner is node.test
        return False


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)


def _class_of(node: ast.AST) -> str:
    """Returns the last part of the called name, or an empty string if a node is not a call."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def is_or_are(what: str) -> str:
    """Returns "is" or "are", depending on which fits after these words."""
    return "are" if what.startswith("the ") and what.endswith("s") else "is"
