"""Finds attributes of a layer whose weights do not have the names that the exercise gives."""

from __future__ import annotations

from collections.abc import Sequence

from .last_call import RecordedCall

_MOST_NAMES = 4


def differing_names(step: RecordedCall) -> tuple[str, str, str] | None:
    """Returns (got, expected, advice) if a layer lacks weights that a check sets, or None."""
    missing = [name for name in step.weights if name not in step.found]
    if not missing:
        return None
    extra = [name for name in step.found if name not in step.weights]
    got = f"no weight {_some(missing)}" + f"; there are {_some(extra)}" * bool(extra)
    expected = f"{len(step.weights)} weights with the names of the docstring"
    return got, expected, _advice(missing, extra, step.found)


def _advice(missing: Sequence[str], extra: Sequence[str], found: Sequence[str]) -> str:
    if pairs := _renamed(missing, extra):
        advice = (f"you have `self.{other}`, expected `self.{name}`" for name, other in pairs)
        return "; ".join(advice)
    owners = {name.rpartition(".")[0] for name in found}
    without = [name for name in missing if name.endswith(".bias") and name[:-5] in owners]
    if len(without) == len(missing):
        verb = "has no bias" if len(without) == 1 else "have no bias"
        return f"{_some([name[:-5] for name in without])} {verb}, but should have one"
    if not found:
        return (
            "the layer has no weights: assign layers, or tensors in nn.Parameter, to `self` in "
            "`__init__` (a plain list hides them: use nn.ModuleList)"
        )
    attribute = missing[0].partition(".")[0]
    return (
        f"assign each to `self` with the name that the docstring gives (`self.{attribute} = ...`): "
        "a plain tensor is not found (use nn.Parameter), nor are layers in a plain list (use "
        "nn.ModuleList)"
    )


def _renamed(missing: Sequence[str], extra: Sequence[str]) -> list[tuple[str, str]]:
    """Returns renamed attributes: the expected name, and the one that has the same weights."""
    pairs: dict[str, str] = {}
    for name in missing:
        for other in extra:
            one, two = _without_common_end(name, other)
            below = len(name.split(".")) > len(one.split("."))
            if below and one and two and one not in pairs and two not in pairs.values():
                pairs[one] = two
    return list(pairs.items())[:_MOST_NAMES]


def _without_common_end(name: str, other: str) -> tuple[str, str]:
    one, two = name.split("."), other.split(".")
    while one and two and one[-1] == two[-1]:
        one.pop()
        two.pop()
    while len(one) > 1 and len(two) > 1 and one[0] == two[0]:
        one.pop(0)
        two.pop(0)
    return ".".join(one), ".".join(two)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    return shown + f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
