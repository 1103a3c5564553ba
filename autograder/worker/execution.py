"""Calls functions and layers with copies of their arguments, and computes gradients.

A worker inside the sandbox uses these functions, and so does `suite.local` for a module in the same
process, so that both give the same results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import _engine_run_backward
from torch.nn.parameter import UninitializedParameter, is_lazy

from . import late
from .devices import second_device
from .wire import as_view, memory_of


def copy_of(value: Any, memo: dict[int, torch.Tensor] | None = None) -> Any:
    """Returns a deep copy of a tree; keeps strides, and copies a repeated tensor only once.

    Subclasses of tuple, list and dict become plain tuples, lists and dicts.
    """
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = _copy_in_memory(value.detach() if value.requires_grad else value)
        return memo[id(value)]
    if isinstance(value, list):
        return [copy_of(item, memo) for item in value]
    if isinstance(value, tuple):
        return tuple(copy_of(item, memo) for item in value)
    if isinstance(value, dict):
        return {key: copy_of(item, memo) for key, item in value.items()}
    return value


def _copy_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy with the same strides, even if elements share memory or have gaps."""
    if tensor.is_meta or (tensor.is_contiguous() and not tensor.storage_offset()):
        return tensor.clone()
    return as_view(memory_of(tensor), tensor.shape, tensor.stride())


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Returns the tensors in nested tuples and lists, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def call(
    function: Callable[..., Any], args: Sequence[Any], no_grad: bool = False
) -> tuple[Any, list[Any]]:
    """Calls a function with copies of `args`; returns the result, and the copies after the call."""
    memo: dict[int, torch.Tensor] = {}
    copies = [copy_of(arg, memo) for arg in args]
    leaves = list(memo.values())
    with second_device(leaves, function), as_used(function, no_grad):
        value = function(*copies)
    if any(leaf.requires_grad or leaf._backward_hooks for leaf in leaves):
        return value, [_left_on(copy) or copy for copy in copies]
    # The result may be a view of an input, but the caller only reads both.
    return value, copies


def as_used(
    function: Callable[..., Any], no_grad: bool = False
) -> contextlib.AbstractContextManager[Any]:
    """Within the block, disables gradients if requested, or if `function` is a layer in eval mode.

    Layers are used in this way in practice. Some wrong layers keep values between calls only if
    gradients are disabled, and only such a call reveals this mistake.
    """
    is_used = isinstance(function, nn.Module) and not function.training
    return torch.no_grad() if is_used or no_grad else contextlib.nullcontext()


def _left_on(value: Any) -> str:
    """Describes a hook or flag that a call has left on an argument; returns "" if there is none."""
    for tensor in tensors_in(value):
        if tensor._backward_hooks:
            return "a tensor with a hook that the call left on it"
        if tensor.requires_grad:
            return "a tensor that requires a gradient since the call"
    return ""


def changed(args: Sequence[Any], after: Sequence[Any]) -> Sequence[Any] | None:
    """Returns the arguments after a call, or None if, as usual, the call changed nothing.

    `benchmarks/tricks.py` measures the cost of always sending the arguments back.
    """
    return None if _is_same(args, after) else after


def _is_same(before: Any, after: Any) -> bool:
    """Returns whether a tree is unchanged; a tree that contains nan may count as changed."""
    if type(before) is not type(after):
        return False
    if isinstance(before, torch.Tensor):
        if before.dtype != after.dtype or before.device != after.device:
            return False
        return before.shape == after.shape and (before.is_meta or torch.equal(before, after))
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(_is_same, before, after))
    if isinstance(before, dict):
        return list(before) == list(after) and all(map(_is_same, before.values(), after.values()))
    return bool(before == after)


def gradients(
    function: Callable[..., Any],
    args: Sequence[Any],
    cotangent: Any,
    frozen: Sequence[int] = (),
    ways: Sequence[str] = (),
    still: Sequence[str] = (),
) -> tuple[Any, ...]:
    """Makes a call, and propagates `cotangent` back to the inputs and trainable weights.

    Returns the result, the gradients with respect to inputs (in the inputs' structure), and the
    gradients with respect to weights, keyed by name. `cotangent` has the result's shape; None means
    ones. No gradients are requested for the arguments at the positions in `frozen` or for the
    weights named in `still`. If `ways` is not empty, traces that the call has left behind (see
    `LEFT`), if any, are returned as a fourth item. Raises any error that the answer raises, and
    RuntimeError if a cotangent has the wrong shape.
    """
    memo: dict[int, torch.Tensor] = {}
    copies = [copy_of(arg, memo) for arg in args]
    kept = {id(leaf) for place in frozen for leaf in tensors_in(copies[place])}
    for tensor in memo.values():
        if tensor.is_floating_point() and id(tensor) not in kept:
            tensor.requires_grad_()
    leaves = _mapped(copies, lambda leaf: leaf)  # copied, because the call may change a list
    wanted = [tensor for tensor in memo.values() if tensor.requires_grad]
    given = _computed(copies) if RESULTS in ways else copies
    handed = _mapped(given, lambda leaf: leaf) if ways else ()
    with _held_still(function, still):
        named = _trainable(function)
        sources = wanted + list(named.values())
        earlier = _with_grad(sources) if BACKWARD in ways else []
        value = function(*given)
        cleared = any(source.grad is not grad or grad._version for source, grad in earlier)
        roots, seeds = _roots(value, cotangent)
        before = [seed.clone() for seed in seeds] if ways else []
        grads = _pulled(roots, seeds, sources, BACKWARD in ways, earlier)
    by_tensor = {id(leaf): _summed(leaf, grad) for leaf, grad in zip(wanted, grads, strict=False)}
    inputs = _mapped(leaves, lambda leaf: by_tensor.get(id(leaf)))
    found = value, inputs, dict(zip(named, grads[len(wanted) :], strict=True))
    if ways:
        pairs = zip(seeds, before, strict=True)
        left = _left_behind(tensors_in([*memo.values(), handed]), args, handed, pairs)
        left += [CLEARED] * cleared
        return (*found, left) if left else found
    return found


#: ways to compute gradients: with arguments that are results of other operations; by calling
#: `backward()` and reading `.grad`
RESULTS, BACKWARD = "results", "backward"
#: traces that a call may leave behind: a hook, a changed argument or cotangent, a cleared `.grad`
HOOK, CHANGED, SEED_CHANGED, CLEARED = "hook", "argument", "cotangent", "grad"
LEFT = frozenset({HOOK, CHANGED, SEED_CHANGED, CLEARED})


def _computed(args: Sequence[Any]) -> list[Any]:
    """Returns the arguments, with each floating-point tensor as the result of an operation."""
    one: dict[torch.dtype, torch.Tensor] = {}
    known: dict[int, torch.Tensor] = {}

    def computed(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            return tensor
        if id(tensor) not in known:
            factor = one.setdefault(tensor.dtype, tensor.new_ones((), requires_grad=True))
            result = tensor * factor
            is_alike = result.stride() == tensor.stride()
            known[id(tensor)] = result if is_alike else tensor.view_as(tensor)
        return known[id(tensor)]

    return [_mapped(arg, computed) for arg in args]


@contextlib.contextmanager
def _held_still(target: Any, names: Sequence[str]) -> Iterator[None]:
    """Within the block, turns off gradients for the weights in `names`."""
    weights = dict(target.named_parameters(remove_duplicate=False)) if names else {}
    still = [weights[name] for name in names if name in weights and weights[name].requires_grad]
    for weight in still:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in still:
            weight.requires_grad_(True)


def _with_grad(sources: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Sets gradients to zeros, as if from an earlier pass; returns (tensor, gradient) pairs."""
    given = [(source, torch.zeros_like(source)) for source in sources if not is_lazy(source)]
    for source, grad in given:
        source.grad = grad
    return given


def _pulled(
    roots: tuple[torch.Tensor, ...],
    seeds: tuple[Any, ...],
    sources: Sequence[torch.Tensor],
    by_backward: bool,
    earlier: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> Sequence[torch.Tensor | None]:
    if not roots or not sources:
        return [None] * len(sources)
    # `torch.autograd.backward` and `torch.autograd.grad` also call this function. Their own checks
    # in Python would double the time, and those in `backward` would load sympy, which takes 0.3 s
    # in each worker.
    if by_backward:
        _engine_run_backward(
            *(roots, seeds, False, False, ()), allow_unreachable=True, accumulate_grad=True
        )
        # a gradient of zeros to which nothing was added means that there is none
        empty = {id(grad) for _, grad in earlier if not grad._version}
        found: Sequence[torch.Tensor | None] = [
            None if id(source.grad) in empty else source.grad for source in sources
        ]
        for source in sources:
            source.grad = None
    else:
        found = _engine_run_backward(
            *(roots, seeds, False, False, tuple(sources)),
            allow_unreachable=True,
            accumulate_grad=False,
        )
    # `F.embedding(..., sparse=True)` gives the same gradient in a sparse layout.
    return [g if g is None or g.layout is torch.strided else g.to_dense() for g in found]


def _summed(leaf: torch.Tensor, grad: torch.Tensor | None) -> torch.Tensor | None:
    """Sums the gradients of entries that share memory, and gives each of these entries the sum.

    Along an expanded dimension, all entries are a single number, whose gradient is this sum.
    Operations such as `as_strided` and `view` may divide this gradient among the entries.
    """
    steps = zip(leaf.shape, leaf.stride(), strict=True)
    shared = [dim for dim, (size, step) in enumerate(steps) if size > 1 and not step]
    return grad.sum(shared, keepdim=True).expand_as(grad) if shared and grad is not None else grad


def _left_behind(
    tensors: Sequence[torch.Tensor],
    args: Sequence[Any],
    copies: Sequence[Any],
    seeds: Iterable[tuple[torch.Tensor, torch.Tensor]],
) -> list[str]:
    """Returns which of the traces `HOOK`, `CHANGED` and `SEED_CHANGED` a call has left behind."""
    hooks = [(x._backward_hooks, x._post_accumulate_grad_hooks, x.retains_grad) for x in tensors]
    found = {
        HOOK: any(map(any, hooks)),
        CHANGED: not _is_same(list(args), list(copies)),
        SEED_CHANGED: not all(torch.equal(seed, before) for seed, before in seeds),
    }
    return [what for what, is_left in found.items() if is_left]


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a tree with the same structure, with `change` applied to each leaf."""
    if isinstance(tree, tuple | list):
        return type(tree)(_mapped(item, change) for item in tree)
    if isinstance(tree, dict):
        return {key: _mapped(item, change) for key, item in tree.items()}
    return change(tree)


def _roots(value: Any, cotangent: Any) -> tuple[tuple[torch.Tensor, ...], tuple[Any, ...]]:
    """Returns the outputs that require a gradient, and their cotangents (by default, ones)."""
    outputs = tensors_in(value)
    seeds = map(torch.ones_like, outputs) if cotangent is None else tensors_in(cotangent)
    pairs = [
        (output, seed) for output, seed in zip(outputs, seeds, strict=False) if output.requires_grad
    ]
    for output, seed in pairs:
        if output.shape != seed.shape:
            raise RuntimeError(
                f"the result has shape {tuple(output.shape)}, expected {tuple(seed.shape)}"
            )
    return tuple(output for output, _ in pairs), tuple(seed for _, seed in pairs)


def weights(layer: nn.Module) -> dict[str, torch.Tensor]:
    """Returns copies of the trainable parameters, keyed by name; lazy parameters become empty."""
    return {
        name: torch.empty(0) if is_lazy(parameter) else parameter.detach().clone()
        for name, parameter in _trainable(layer).items()
    }


#: the ways to set a layer's weights: in place, as an optimizer does; through `.data`, as old code
#: does; from a checkpoint; or by assigning a new parameter
COPY, DATA, STATE, REPLACE = "copy", "data", "state", "replace"


def load(layer: nn.Module, values: Mapping[str, torch.Tensor], way: str = COPY) -> None:
    """Sets the named weights; raises LookupError for a wrong name, ValueError for a wrong shape."""
    parameters = dict(layer.named_parameters(remove_duplicate=False))
    missing = [name for name in values if name not in parameters]
    if missing:
        others = [name for name in parameters if name not in values]
        instead = f"; the layer has {', '.join(others[:6])} instead" if others else ""
        raise LookupError(f"there is no weight {', '.join(missing[:6])}{instead}")
    for name, value in values.items():
        parameter = parameters[name]
        if isinstance(parameter, UninitializedParameter):
            parameter.materialize(_lazy_shape(layer, name, value))
        if parameter.shape != value.shape:
            raise ValueError(
                f"parameter {name!r} has shape {tuple(parameter.shape)}, "
                f"expected {tuple(value.shape)}"
            )
    if way == STATE:
        layer.load_state_dict(dict(values), strict=False)
        return
    for name, value in values.items():
        if way == REPLACE:
            _replace(layer, parameters, parameters[name], value)
        elif way == DATA:
            parameters[name].data.copy_(value)
        else:
            with torch.no_grad():
                parameters[name].copy_(value)


def _replace(
    layer: nn.Module, parameters: Mapping[str, nn.Parameter], old: nn.Parameter, value: torch.Tensor
) -> None:
    """Puts a new parameter wherever the old one is used."""
    new = nn.Parameter(value.to(old.device, old.dtype, copy=True), old.requires_grad)
    for name, parameter in parameters.items():
        if parameter is old:
            owner, _, own_name = name.rpartition(".")
            setattr(layer.get_submodule(owner), own_name, new)


def _lazy_shape(layer: nn.Module, name: str, value: torch.Tensor) -> tuple[int, ...]:
    """Returns the shape of a lazy weight: like `value`, but with the layer's number of outputs."""
    owner = layer.get_submodule(name.rpartition(".")[0])
    outputs = (owner.out_features,) if isinstance(owner, nn.LazyLinear) else value.shape[:1]
    return (*outputs, *value.shape[1:])


def set_mode(layer: nn.Module, training: bool) -> None:
    """Sets train or eval mode with the layer's own method, which the answer may override."""
    if training:
        layer.train()
    else:
        layer.eval()


def move(layer: nn.Module, dtype: torch.dtype | None, device: str | None) -> None:
    """Calls `layer.to` with the dtype, and then with the device, if they are given."""
    if dtype is not None:
        layer.to(dtype)
    if device is not None:
        late.on_device(layer.to, device)


def restored(layer: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
    """Returns a new layer with the state of `layer`; raises any error that the answer raises."""
    fresh = build()
    # Use only trainable parameters, because a mask may be a frozen parameter with another dtype.
    move(fresh, next((weight.dtype for weight in _trainable(layer).values()), None), None)
    # Leave out buffers that only one layer has, or that differ in size: a call may have made them.
    known = fresh.state_dict()
    state = {
        name: value
        for name, value in layer.state_dict().items()
        if name in known and (is_lazy(known[name]) or known[name].shape == value.shape)
    }
    fresh.load_state_dict(state, strict=False)
    set_mode(fresh, layer.training)
    return fresh


def _trainable(target: Any) -> dict[str, nn.Parameter]:
    """Returns each trainable parameter once, under the least nested of its names."""
    if not isinstance(target, nn.Module):
        return {}
    names: dict[nn.Parameter, str] = {}
    for name, parameter in target.named_parameters(remove_duplicate=False):
        known = names.setdefault(parameter, name)
        if name.count(".") < known.count("."):
            names[parameter] = name
    return {name: parameter for parameter, name in names.items() if parameter.requires_grad}
