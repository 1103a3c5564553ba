"""Defects of behaviour: right code that is wrong at some call, size, layout, mode or moment.

A mutant is a solution whose function or class is wrapped in one of them. Which can occur (is there
a tensor to lay out, a mode to be in?) the question's declaration of traits tells; where one does
not show all the same, a sentence in tests/mutation/equivalent.toml says why.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from autograder.suite import Draw
from autograder.suite.traits import Ids, Tensor, Traits
from autograder.suite.traits.declaration import CHANCE
from autograder.suite.traits.inputs import arguments_of


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a solution: what computes, its arguments, what earlier calls left behind."""

    compute: Callable[..., Any]
    args: tuple[Any, ...]
    kept: dict[Any, Any]
    layer: nn.Module | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The arguments that are tensors."""
        return [arg for arg in self.args if isinstance(arg, torch.Tensor)]

    @property
    def training(self) -> bool:
        """Whether it is a class in train mode."""
        return self.layer is not None and self.layer.training

    def on(self, change: Callable[[torch.Tensor], torch.Tensor], places: slice | int) -> Any:
        """Computes with some of the tensor arguments changed."""
        wanted = self.tensors[places] if isinstance(places, slice) else self.tensors[places:][:1]
        chosen = {id(tensor) for tensor in wanted}
        args = [change(arg) if id(arg) in chosen else arg for arg in self.args]
        return self.compute(*args)

    def right(self) -> Any:
        """What the solution answers."""
        return self.compute(*self.args)


Defect = Callable[[Call], Any]
_ALL = slice(None)


def _each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return tree_map_only(torch.Tensor, change, value)


def _wrong(value: Any) -> Any:
    """Another value of that kind."""
    return {} if isinstance(value, dict) else _each(value, _other)


def _shapes(call: Call) -> tuple[Any, ...]:
    return tuple(tuple(a.shape) if isinstance(a, torch.Tensor) else repr(a) for a in call.args)


def _kept_by(key: Callable[[Call], Any], when: Callable[[Call], bool] = lambda c: True) -> Defect:
    def defect(call: Call) -> Any:
        if not when(call):
            return call.right()
        name = key(call)
        if name not in call.kept:
            call.kept[name] = call.right()
        return call.kept[name]

    return defect


def _first_number(call: Call) -> float:
    return float(call.tensors[0].detach().double().sum()) if call.tensors else 0.0


def _view(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(-1).view(tensor.shape)


def _as_if_contiguous(tensor: torch.Tensor) -> torch.Tensor:
    plain = torch.empty(tensor.shape, device="meta").stride()
    return tensor if tensor.is_contiguous() else tensor.as_strided(tensor.shape, plain)


def _wrong_above(size: int) -> Defect:
    def defect(call: Call) -> Any:
        far = any(s > size for tensor in call.tensors for s in tensor.shape)
        far = far or any(type(arg) is int and arg > size for arg in call.args)
        far = far or any(isinstance(arg, str) and arg.count(" ") >= size for arg in call.args)
        return _wrong(call.right()) if far else call.right()

    return defect


def _other(tensor: torch.Tensor) -> torch.Tensor:
    """Another tensor of that shape."""
    return ~tensor if tensor.dtype == torch.bool else tensor + tensor + 1


def _where(condition: Callable[[Call], bool]) -> Defect:
    return lambda call: _each(call.right(), _other) if condition(call) else call.right()


def _float32(call: Call) -> Any:
    floating = [t.dtype for t in call.tensors if t.is_floating_point()]
    args = [
        a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in call.args
    ]
    if call.layer is not None or not floating:
        return _each(call.right(), lambda t: t.float().to(t.dtype) if t.is_floating_point() else t)
    return _each(call.compute(*args), lambda t: t.to(floating[0]) if t.is_floating_point() else t)


def _writes(place: int) -> Defect:
    def defect(call: Call) -> Any:
        value = _each(call.right(), lambda t: t.clone())
        for tensor in call.tensors[place:][:1]:
            with torch.no_grad():
                tensor.data.copy_(_other(tensor.data))
        return value

    return defect


def _changes_containers(call: Call) -> Any:
    value = call.right()
    for arg in call.args:
        if isinstance(arg, dict | list):
            arg.clear()
    return value


def _nth_call(number: int) -> Defect:
    def defect(call: Call) -> Any:
        call.kept["calls"] = call.kept.get("calls", 0) + 1
        late = call.kept["calls"] > number
        return _wrong(call.right()) if late else call.right()

    return defect


def _no_grad(call: Call) -> Any:
    with torch.no_grad():
        return call.right()


def _detached(when: Callable[[Call], bool]) -> Defect:
    return lambda call: _each(call.right(), torch.Tensor.detach) if when(call) else call.right()


def _doubled_gradient(call: Call) -> Any:
    return _each(call.right(), lambda t: 2 * t - t.detach() if t.is_floating_point() else t)


def _global_after(change: Callable[[], Any]) -> Defect:
    def defect(call: Call) -> Any:
        value = call.right()
        change()
        return value

    return defect


def _at_first(call: Call) -> Any:
    """With the weights of the first call."""
    if call.layer is None:
        return call.right()
    weights = dict(call.layer.named_parameters())
    now = {name: weight.detach().clone() for name, weight in weights.items()}
    first = call.kept.setdefault("weights", now)
    fits = all((now[n].dtype, now[n].device) == (w.dtype, w.device) for n, w in first.items())
    for name, weight in weights.items():
        weight.data = first[name] if fits else weight.data
    value = call.right()
    for name, weight in weights.items():
        weight.data = now[name]
    return value


def _stuck_mode(mode: bool) -> Defect:
    """Stays in a mode for good once it was in it."""

    def defect(call: Call) -> Any:
        layer = call.layer
        if layer is None:
            return call.right()
        call.kept["stuck"] = call.kept.get("stuck", False) or layer.training is mode
        before = layer.training
        if call.kept["stuck"]:
            layer.train(mode)
        try:
            return call.right()
        finally:
            layer.train(before)

    return defect


def _trains_itself(call: Call) -> Any:
    value = call.right()
    if call.training and call.layer is not None:
        for weight in call.layer.parameters():
            weight.data = weight.data * 1.01
    return value


def _seeded(seed: Callable[[Call], int]) -> Defect:
    def defect(call: Call) -> Any:
        torch.default_generator.manual_seed(seed(call))
        return call.right()

    return defect


def _count(call: Call) -> int:
    call.kept["calls"] = call.kept.get("calls", 0) + 1
    return int(call.kept["calls"])


def _half_batch_shares(call: Call) -> Any:
    """The second half of the first dimension is drawn as the first one was."""
    tensor = call.tensors[0] if call.tensors else None
    if tensor is None or tensor.dim() < 1 or tensor.shape[0] < 2 or tensor.shape[0] % 2:
        return call.right()
    half, state = tensor.shape[0] // 2, torch.default_generator.get_state()

    def part(begin: int) -> Any:
        torch.default_generator.set_state(state)
        cut = [
            a[begin : begin + half]
            if isinstance(a, torch.Tensor) and a.shape[:1] == tensor.shape[:1]
            else a
            for a in call.args
        ]
        return call.compute(*cut)

    try:
        return torch.cat([part(0), part(half)])
    except (RuntimeError, TypeError, ValueError, IndexError):
        return call.right()


def _raises(condition: Callable[[torch.Tensor], bool]) -> Defect:
    def defect(call: Call) -> Any:
        if any(condition(tensor) for tensor in call.tensors):
            raise RuntimeError("an input that was not thought of")
        return call.right()

    return defect


def _small_numbers(dtype: torch.dtype) -> Defect:
    limit = torch.iinfo(dtype).max

    def smaller(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.int64:
            return value.to(dtype).long()
        if isinstance(value, dict):
            return {key: smaller(item) for key, item in value.items()}
        return min(value, limit) if type(value) is int else value

    return lambda call: call.compute(*map(smaller, call.args))


def _first_for_all(call: Call) -> Any:
    def spread(value: torch.Tensor) -> torch.Tensor:
        return value[:1].expand_as(value) if value.dim() > 2 else value

    return _each(call.right(), spread)


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor
    return tensor + (tensor.detach().round(decimals=4) - tensor.detach())


def _loses(place: int) -> Defect:
    return lambda call: _each(call.right(), lambda t: t.squeeze(place) if t.dim() > 1 else t)


def _last(call: Call) -> int:
    return max(0, len(call.tensors) - 1)


#: each with what a question must have so that it can occur: see `facts`
DEFECTS: Mapping[str, tuple[str, Defect]] = {
    "result kept by shape": ("floating", _kept_by(_shapes)),
    "result kept by the first argument's shape": ("floating", _kept_by(lambda c: _shapes(c)[:1])),
    "result kept by the first argument's numbers": (
        "several",
        _kept_by(lambda c: (_first_number(c), _shapes(c))),
    ),
    "first result kept": ("", _kept_by(lambda c: 0)),
    "result kept by shape in eval mode": ("layer", _kept_by(_shapes, lambda c: not c.training)),
    "result kept by shape in train mode": ("layer", _kept_by(_shapes, lambda c: c.training)),
    "wrong from the second call": ("", _nth_call(1)),
    "wrong from the fourth call": ("", _nth_call(3)),
    "result squeezed": ("tensors", lambda c: _each(c.right(), torch.squeeze)),
    "result loses a leading one": ("tensors", _loses(0)),
    "result loses a last one": ("tensors", _loses(-1)),
    "result loses a middle one": ("tensors", _loses(-2)),
    "view of every argument": ("tensors", lambda c: c.on(_view, _ALL)),
    "view of the last argument": ("several", lambda c: c.on(_view, _last(c))),
    "memory read as if contiguous": ("tensors", lambda c: c.on(_as_if_contiguous, _ALL)),
    **{f"wrong above size {size}": ("", _wrong_above(size)) for size in (8, 15, 32, 64, 100)},
    "wrong for sizes of one": ("tensors", _where(lambda c: any(1 in t.shape for t in c.tensors))),
    "wrong for a first size of one": (
        "tensors",
        _where(lambda c: any(t.shape[0] == 1 for t in c.tensors)),
    ),
    "wrong in five dimensions": ("leading", _where(lambda c: any(t.dim() > 4 for t in c.tensors))),
    "error in five dimensions": ("leading", _raises(lambda t: t.dim() > 4)),
    "error where not contiguous": ("tensors", _raises(lambda t: not t.is_contiguous())),
    "error where elements are shared": (
        "tensors",
        _raises(lambda t: 0 in t.stride() and t.numel() > 1),
    ),
    "first sample for all": ("batch", _first_for_all),
    "int16 ids and sizes": ("integers", _small_numbers(torch.int16)),
    "int8 ids and sizes": ("integers", _small_numbers(torch.int8)),
    "float32 inside": ("floating", _float32),
    "rounded to four decimals": ("floating", lambda c: _each(c.right(), _rounded)),
    "detached": ("floating", _detached(lambda c: True)),
    "detached in train mode": ("layer", _detached(lambda c: c.training)),
    "detached in eval mode": ("layer", _detached(lambda c: not c.training)),
    "first argument detached": ("several", lambda c: c.on(torch.Tensor.detach, 0)),
    "last argument detached": ("several", lambda c: c.on(torch.Tensor.detach, _last(c))),
    "computed without gradients": ("floating", _no_grad),
    "gradient doubled": ("floating", _doubled_gradient),
    "error where a gradient is wanted": ("floating", _raises(lambda t: t.requires_grad)),
    "writes into its first argument": ("tensors", _writes(0)),
    "writes into its last argument": ("several", _writes(-1)),
    "empties containers": ("containers", _changes_containers),
    "turns gradients off for good": (
        "floating",
        _global_after(lambda: torch.set_grad_enabled(False)),
    ),
    "makes float64 the default": (
        "",
        _global_after(lambda: torch.set_default_dtype(torch.float64)),
    ),
    "weights of the first call": ("layer", _at_first),
    "stays in train mode": ("layer chance", _stuck_mode(True)),
    "stays in eval mode": ("layer chance", _stuck_mode(False)),
    "changes its weights in train mode": ("layer", _trains_itself),
    "same pattern in every call": ("chance", _seeded(lambda c: 0)),
    "two patterns in turn": ("chance", _seeded(lambda c: _count(c) % 2)),
    "halves of a batch share a pattern": ("chance batch", _half_batch_shares),
}


def facts(traits: Traits) -> frozenset[str]:
    """What a question's declaration says of it, in the words of `DEFECTS`."""
    tensors = [item for item in traits.inputs if isinstance(item, Tensor | Ids)]
    floating = [item for item in tensors if isinstance(item, Tensor)]
    letters = [letter for item in traits.inputs for letter in item.letters]
    made = arguments_of(traits.inputs, Draw(0, traits.question), traits.usual(), traits.dtype)
    known = {
        "layer": traits.build is not None,
        "tensors": bool(tensors),
        "floating": bool(floating),
        "several": len(floating) > 1,
        "leading": traits.has_leading,
        "batch": traits.has_leading or "B" in letters,
        "integers": any(type(arg) is int or isinstance(arg, dict) for arg in made)
        or any(isinstance(item, Ids) for item in tensors),
        "containers": any(isinstance(arg, dict | list) for arg in made),
        "chance": CHANCE in traits.own,
    }
    return frozenset(name for name, holds in known.items() if holds)


def spoil(name: str, target: Any) -> Any:
    """The function or class with that defect."""
    defect = DEFECTS[name][1]
    if not isinstance(target, type):
        kept: dict[Any, Any] = {}
        return lambda *args: defect(Call(target, args, kept))

    class Spoilt(target):  # type: ignore[misc] # any class of a solution
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.__dict__["_kept"] = {}

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            other = self.__class__.__new__(self.__class__)
            memo[id(self)] = other
            other.__dict__.update(copy.deepcopy(self.__dict__, memo))
            return other

        def forward(self, *args: Any) -> Any:
            return defect(Call(super().forward, args, self.__dict__["_kept"], self))

    return Spoilt


def behaviours(traits: Traits, source: str) -> Iterator[tuple[str, str]]:
    """Each defect that can occur in a question, with the module in which it does."""
    known = facts(traits)
    for name, (needs, _) in DEFECTS.items():
        if known.issuperset(needs.split()):
            line = f"{traits.question} = _spoil({name!r}, {traits.question})"
            yield (
                name,
                f"{source}\n\nfrom tools.mutation.behaviours import spoil as _spoil\n{line}\n",
            )


def restore() -> None:
    """Undoes what a defect changes for the whole process."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
