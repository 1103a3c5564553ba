"""Defines defects in random answers: patterns that occur again, and rates that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from .call import Call, Defect

#: a function that changes the arguments of a function or class
Change = Callable[[tuple[Any, ...]], tuple[Any, ...]]


def _half_kept(dim: int) -> Defect:
    """Keeps half of the first pattern of each shape, and draws only the other half again."""

    def defect(call: Call) -> Any:
        generator = torch.default_generator
        fresh = call.right()
        if not isinstance(fresh, torch.Tensor) or fresh.dim() <= max(dim, 0):
            return fresh
        after = generator.get_state()
        generator.set_state(call.kept.setdefault(("half", tuple(fresh.shape)), after))
        kept = call.right()
        generator.set_state(after)
        half = fresh.shape[dim] // 2
        rest = fresh.narrow(dim, half, fresh.shape[dim] - half)
        return torch.cat([kept.narrow(dim, 0, half), rest], dim)

    return defect


def _in_turn(number: int, times: int = 1) -> Defect:
    """Uses `number` random patterns in turn, each of them for `times` calls.

    The patterns are different in each process.
    """

    def defect(call: Call) -> Any:
        call.kept["turn"] = call.kept.get("turn", -1) + 1
        call.kept.setdefault("seed", torch.seed())
        torch.manual_seed(call.kept["seed"] + call.kept["turn"] // times % number)
        return call.right()

    return defect


def _rates(change: Callable[[float], float]) -> Change:
    def changed(value: Any) -> Any:
        if isinstance(value, SimpleNamespace):
            return SimpleNamespace(**{key: changed(item) for key, item in vars(value).items()})
        return change(value) if type(value) is float and 0 < value < 1 else value

    return lambda args: tuple(map(changed, args))


PATTERNS: Mapping[str, tuple[str, Defect]] = {
    **{
        f"half of the pattern kept along dimension {dim}": ("chance", _half_kept(dim))
        for dim in (0, 1, -1)
    },
    **{f"{number} patterns in turn": ("chance", _in_turn(number)) for number in (3, 4)},
    "every pattern twice": ("chance", _in_turn(1_000_000, 2)),
}
#: defects that change the arguments of functions and constructors
RATES: Mapping[str, tuple[str, Change]] = {
    "rates rounded to tenths": ("chance", _rates(lambda p: round(p, 1))),
    "rates rounded to twentieths": ("chance", _rates(lambda p: round(20 * p) / 20)),
    "rates of a half at most": ("chance", _rates(lambda p: min(p, 0.5))),
    "rates of a tenth at least": ("chance", _rates(lambda p: max(p, 0.1))),
    "rates a fiftieth too high": ("chance", _rates(lambda p: min(p + 0.02, 1.0))),
}
