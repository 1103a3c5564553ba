"""Makes mutants that are wrong only in some cases, such as for some sizes, layouts or modes.

A mutant is a solution whose function or class is wrapped in code with a defect. Which defects can
occur depends on the question's declaration; for example, only layers have a mode. If a defect has
no effect, an entry in tests/mutation/equivalent.toml says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.suite import Draw
from autograder.suite.traits import Ids, Tensor, Traits
from autograder.suite.traits.declaration import CHANCE, GRADIENTS
from autograder.suite.traits.inputs import arguments_of

from .call import Call
from .defects import DEFECTS as EVERYWHERE
from .moments import MOMENTS
from .patterns import PATTERNS, RATES, Change
from .ways import WAYS

DEFECTS = {**EVERYWHERE, **MOMENTS, **PATTERNS, **WAYS}


def facts(traits: Traits) -> frozenset[str]:
    """Returns the facts that are true of a question; `DEFECTS` says which facts a defect needs."""
    tensors = [item for item in traits.inputs if isinstance(item, Tensor | Ids)]
    floating = [item for item in tensors if isinstance(item, Tensor)]
    letters = [letter for item in traits.inputs for letter in item.letters]
    made = arguments_of(traits.inputs, Draw(0, traits.question), traits.usual(), traits.dtype)
    known = {
        "layer": traits.build is not None,
        "tensors": bool(tensors),
        "floating": bool(floating),
        "differentiable": GRADIENTS not in traits.without,
        "several": len(floating) > 1,
        "alike": len({len(item.shape.split()) for item in floating}) < len(floating),
        "leading": traits.has_leading,
        "batch": traits.has_leading or "B" in letters,
        "integers": any(type(arg) is int or isinstance(arg, dict) for arg in made)
        or any(isinstance(item, Ids) for item in tensors),
        "containers": any(isinstance(arg, dict | list) for arg in made),
        "chance": CHANCE in traits.own,
        "rate": traits.has_rate,
    }
    return frozenset(name for name, holds in known.items() if holds)


def spoil(name: str, target: Any) -> Any:
    """Returns the function or class `target` with the defect that has this name."""
    if name in RATES:
        change = RATES[name][1]
        return (
            _built_with(change, target)
            if isinstance(target, type)
            else lambda *args: target(*change(args))
        )
    defect = DEFECTS[name][1]
    if not isinstance(target, type):
        kept: dict[Any, Any] = {}
        return lambda *args: defect(Call(target, args, kept))

    class DefectiveLayer(target):  # type: ignore[misc] # any class of a solution
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.__dict__["_kept"] = {}

        def load_state_dict(self, *args: Any, **named: Any) -> Any:
            self.__dict__["_kept"]["restored"] = True
            return super().load_state_dict(*args, **named)

        def forward(self, *args: Any) -> Any:
            return defect(Call(super().forward, args, self.__dict__["_kept"], self))

    return DefectiveLayer


def _built_with(change: Change, target: Any) -> Any:
    class DefectiveLayer(target):  # type: ignore[misc] # any class of a solution
        def __init__(self, *args: Any) -> None:
            super().__init__(*change(args))

    return DefectiveLayer


def behaviours(traits: Traits, source: str) -> Iterator[tuple[str, str]]:
    """Yields each defect that an answer to a question may have, with a module that has it."""
    known = facts(traits)
    for name, (needs, _) in {**DEFECTS, **RATES}.items():
        if known.issuperset(needs.split()):
            line = f"{traits.question} = _spoil({name!r}, {traits.question})"
            yield (
                name,
                f"{source}\n\nfrom tools.mutation.behaviours import spoil as _spoil\n{line}\n",
            )


def restore() -> None:
    """Restores the default dtype, which a defect may have changed."""
    torch.set_default_dtype(torch.float32)
