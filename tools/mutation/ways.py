"""Defines defects that have an effect only if an answer is called or trained in a certain way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .call import Call, Defect, each, shapes, wrong

_ALL = slice(None)


def _wrong_without_gradients(call: Call) -> Any:
    return call.right() if torch.is_grad_enabled() else wrong(call.right())


def _writes_without_gradients(call: Call) -> Any:
    value = each(call.right(), lambda t: t.clone())
    if not torch.is_grad_enabled():
        for tensor in call.tensors[:1]:
            tensor.copy_(~tensor if tensor.dtype == torch.bool else tensor + 1)
    return value


def _eval_without_gradients(call: Call) -> Any:
    """Turns off dropout if gradients are disabled."""
    layer = call.layer
    if layer is None or torch.is_grad_enabled() or not layer.training:
        return call.right()
    layer.eval()
    try:
        return call.right()
    finally:
        layer.train()


def _kept_object(call: Call) -> Any:
    """Returns the object that an earlier call with the same arguments returned."""
    numbers = tuple(tuple(tensor.detach().flatten().tolist()) for tensor in call.tensors)
    if call.layer is not None and (call.training or torch.is_grad_enabled()):
        return call.right()
    if any(tensor.requires_grad for tensor in call.tensors):
        return call.right()
    weights = [] if call.layer is None else list(call.layer.parameters())
    sums = tuple(float(weight.detach().double().sum()) for weight in weights)
    key = shapes(call), numbers, str(call.tensors and call.tensors[0].dtype), sums
    if key not in call.kept:
        call.kept[key] = call.right()
    return call.kept[key]


def _from_the_beginning(tensor: torch.Tensor) -> torch.Tensor:
    is_slice = tensor.is_contiguous() and not tensor.is_meta
    return tensor.as_strided(tensor.shape, tensor.stride(), 0) if is_slice else tensor


def _hooked(change: Callable[[torch.Tensor], torch.Tensor]) -> Defect:
    """Adds a hook to each result; the hook changes the gradient that arrives at the result."""

    def hooked(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.requires_grad:
            tensor = tensor.view_as(tensor)
            tensor.register_hook(change)  # type: ignore[no-untyped-call] # torch's
        return tensor

    return lambda call: each(call.right(), hooked)


def _hook_on_an_argument(call: Call) -> Any:
    for tensor in call.tensors[:1]:
        if tensor.requires_grad:
            tensor.register_hook(lambda grad: grad)  # type: ignore[no-untyped-call] # torch's
    return call.right()


def _wants_a_gradient(call: Call) -> Any:
    value = call.right()
    for tensor in call.tensors[:1]:
        if tensor.is_floating_point() and tensor.is_leaf:
            tensor.requires_grad_()
    return each(value, torch.Tensor.detach) if not torch.is_grad_enabled() else value


class _ClearsGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        kept = grads[0].clone()
        grads[0].zero_()
        return kept


class _ViewsGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0].view(-1).view(grads[0].shape)


def _through(function: type[torch.autograd.Function]) -> Defect:
    def through(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.requires_grad:
            return tensor
        changed: torch.Tensor = function.apply(tensor)  # type: ignore[no-untyped-call] # torch's
        return changed

    return lambda call: each(call.right(), through)


def _frozen_all(call: Call) -> Any:
    """Trains no weights at all if any weight is frozen."""
    weights = [] if call.layer is None else list(call.layer.parameters())
    learns = all(weight.requires_grad for weight in weights) and torch.is_grad_enabled()
    with torch.set_grad_enabled(learns):
        return call.right()


def _halves_what_is_accumulated(call: Call) -> Any:
    if call.layer is not None and "hooked" not in call.kept:
        call.kept["hooked"] = True
        for weight in call.layer.parameters():
            hook = weight.register_post_accumulate_grad_hook
            hook(lambda w: w.grad.mul_(0.5))  # type: ignore[no-untyped-call] # torch's
    return call.right()


def _by(key: Callable[[torch.nn.Parameter], Any]) -> Defect:
    """Uses the weights' old values until the `key` of at least one weight changes."""

    def defect(call: Call) -> Any:
        layer = call.layer
        if layer is None:
            return call.right()
        weights = dict(layer.named_parameters())
        keys = {n: (key(w), w.dtype, w.device) for n, w in weights.items()}
        if call.kept.get("keys") != keys:
            call.kept["keys"] = keys
            call.kept["weights"] = {n: w.detach().clone() for n, w in weights.items()}
        now = {n: w.detach().clone() for n, w in weights.items()}
        for name, weight in weights.items():
            weight.data.copy_(call.kept["weights"][name])
        try:
            return call.right()
        finally:
            for name, weight in weights.items():
                weight.data.copy_(now[name])

    return defect


def _late_parameter(call: Call) -> Any:
    if call.layer is not None and not hasattr(call.layer, "late"):
        call.layer.late = torch.nn.Parameter(torch.ones(()))
    return call.right()


#: defects with the facts on which they depend, as in `defects.DEFECTS`
WAYS: Mapping[str, tuple[str, Defect]] = {
    "wrong without gradients": ("", _wrong_without_gradients),
    "writes into an argument without gradients": ("tensors", _writes_without_gradients),
    "drops nothing without gradients": ("layer rate", _eval_without_gradients),
    "the same object for the same arguments": ("", _kept_object),
    "read from the beginning of the memory": (
        "tensors",
        lambda c: c.on(_from_the_beginning, _ALL),
    ),
    "results of other operations detached": (
        "floating differentiable",
        lambda c: c.on(lambda t: t if t.is_leaf else t.detach(), _ALL),
    ),
    "gradients clipped": ("floating differentiable", _hooked(lambda grad: grad.clamp(-10, 10))),
    "small gradients set to zero": (
        "floating differentiable",
        _hooked(lambda grad: grad * (grad.abs() > 1e-7)),
    ),
    "a hook left on an argument": ("floating differentiable", _hook_on_an_argument),
    "an argument that wants a gradient since the call": ("floating", _wants_a_gradient),
    "the gradient that comes in set to zero": (
        "floating differentiable",
        _through(_ClearsGradient),
    ),
    "the gradient that comes in read in order": (
        "floating differentiable",
        _through(_ViewsGradient),
    ),
    "nothing learns where one weight is frozen": ("layer", _frozen_all),
    "what is accumulated halved": ("layer", _halves_what_is_accumulated),
    "weights kept by their version": ("layer", _by(lambda weight: weight._version)),
    "weights kept by the object": ("layer", _by(id)),
    "a parameter made in the first call": ("layer", _late_parameter),
}
