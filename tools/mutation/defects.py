"""Defines behavioral defects that have been seen in answers, as functions of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .call import Call, Condition, Defect, each, other, shapes, wrong

_ALL = slice(None)


def _kept_by(key: Callable[[Call], Any], when: Condition = lambda c: True) -> Defect:
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
        return wrong(call.right()) if far else call.right()

    return defect


def _where(condition: Condition) -> Defect:
    return lambda call: each(call.right(), other) if condition(call) else call.right()


def _float32(call: Call) -> Any:
    floating = [t.dtype for t in call.tensors if t.is_floating_point()]
    args = [
        a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in call.args
    ]
    if call.layer is not None or not floating:
        return each(call.right(), lambda t: t.float().to(t.dtype) if t.is_floating_point() else t)
    return each(call.compute(*args), lambda t: t.to(floating[0]) if t.is_floating_point() else t)


def _writes(place: int) -> Defect:
    def defect(call: Call) -> Any:
        value = each(call.right(), lambda t: t.clone())
        for tensor in call.tensors[place:][:1]:
            with torch.no_grad():
                tensor.data.copy_(other(tensor.data))
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
        return wrong(call.right()) if late else call.right()

    return defect


def _no_grad(call: Call) -> Any:
    with torch.no_grad():
        return call.right()


def _detached(when: Condition) -> Defect:
    return lambda call: each(call.right(), torch.Tensor.detach) if when(call) else call.right()


def _doubled_gradient(call: Call) -> Any:
    return each(call.right(), lambda t: 2 * t - t.detach() if t.is_floating_point() else t)


def _makes_float64_the_default(call: Call) -> Any:
    value = call.right()
    torch.set_default_dtype(torch.float64)
    return value


def _turns_gradients_off(call: Call) -> Any:
    """Computes later calls without gradients, as if the first call had switched them off."""
    is_first = not call.kept
    call.kept["off"] = True
    return call.right() if is_first else _no_grad(call)


def _at_first(call: Call) -> Any:
    """Computes with the weights that the layer had in its first call."""
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
    """Makes a layer stay in train or eval mode after its first call in that mode."""

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
    """Uses the same dropout pattern for both halves of a batch."""
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

    return each(call.right(), spread)


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor
    return tensor + (tensor.detach().round(decimals=4) - tensor.detach())


def _loses(place: int) -> Defect:
    return lambda call: each(call.right(), lambda t: t.squeeze(place) if t.dim() > 1 else t)


def _last(call: Call) -> int:
    return max(0, len(call.tensors) - 1)


#: defects, each with the facts about a question on which it depends; see `facts`
DEFECTS: Mapping[str, tuple[str, Defect]] = {
    "result kept by shape": ("floating", _kept_by(shapes)),
    "result kept by the first argument's shape": ("floating", _kept_by(lambda c: shapes(c)[:1])),
    "result kept by the first argument's numbers": (
        "several",
        _kept_by(lambda c: (_first_number(c), shapes(c))),
    ),
    "first result kept": ("", _kept_by(lambda c: 0)),
    "result kept by shape in eval mode": ("layer", _kept_by(shapes, lambda c: not c.training)),
    "result kept by shape in train mode": ("layer", _kept_by(shapes, lambda c: c.training)),
    "wrong from the second call": ("", _nth_call(1)),
    "wrong from the fourth call": ("", _nth_call(3)),
    "result squeezed": ("tensors", lambda c: each(c.right(), torch.squeeze)),
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
    "rounded to four decimals": ("floating", lambda c: each(c.right(), _rounded)),
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
    "turns gradients off for good": ("floating", _turns_gradients_off),
    "makes float64 the default": ("", _makes_float64_the_default),
    "weights of the first call": ("layer", _at_first),
    "stays in train mode": ("layer chance", _stuck_mode(True)),
    "stays in eval mode": ("layer chance", _stuck_mode(False)),
    "changes its weights in train mode": ("layer", _trains_itself),
    "same pattern in every call": ("chance", _seeded(lambda c: 0)),
    "two patterns in turn": ("chance", _seeded(lambda c: _count(c) % 2)),
    "halves of a batch share a pattern": ("chance batch", _half_batch_shares),
}
