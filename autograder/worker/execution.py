"""Calls an answer the way a test asks for it: with copied arguments, with gradients, observed.

Used by the worker inside the sandbox and by `suite.local` in the same process: both answer alike.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import _engine_run_backward
from torch.nn.parameter import UninitializedParameter, is_lazy

from . import late
from .devices import second_device
from .layout import memory_of


def error_text(error: BaseException) -> str:
    """What an error says; where a name is unknown, with the nearest one that is known.

    Empty where the error can't say it: its class is the student's.
    """
    try:
        return _error_text(error)
    except Exception:
        return ""


def _error_text(error: BaseException) -> str:
    if isinstance(error, NameError | AttributeError):
        return str(traceback.TracebackException.from_exception(error, limit=0))
    if isinstance(error, KeyError) and len(error.args) == 1:
        return str(error.args[0]) if isinstance(error.args[0], str) else str(error)
    return str(error)


def copy_of(value: Any, memo: dict[int, torch.Tensor] | None = None) -> Any:
    """A deep copy of an argument tree: same strides; one tensor passed twice stays one."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = _copy_in_memory(value.detach())
        return memo[id(value)]
    if isinstance(value, tuple | list):
        return type(value)(copy_of(item, memo) for item in value)
    if isinstance(value, dict):
        return {key: copy_of(item, memo) for key, item in value.items()}
    return value


def _copy_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, also where elements share their memory or lie apart.

    The memory of a part of something larger begins before it.
    """
    if tensor.is_meta or (tensor.is_contiguous() and not tensor.storage_offset()):
        return tensor.clone()
    memory = memory_of(tensor)
    before = torch.cat([memory[:1], memory])
    return before.as_strided(tensor.shape, tensor.stride(), 1)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of a result tree, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def call(
    function: Callable[..., Any], args: Sequence[Any], no_grad: bool = False
) -> tuple[Any, list[Any]]:
    """Calls with copies of `args`; returns the value and the copies as they are afterwards."""
    memo: dict[int, torch.Tensor] = {}
    copies = [copy_of(arg, memo) for arg in args]
    leaves = list(memo.values())
    with second_device(leaves, function), as_used(function, no_grad):
        value = function(*copies)
    if any(leaf.requires_grad or leaf._backward_hooks for leaf in leaves):
        return value, [_left_on(copy) or copy for copy in copies]
    # the value may be a view of an input: both are read out after the call, by the caller
    return value, copies


def as_used(
    function: Callable[..., Any], no_grad: bool = False
) -> contextlib.AbstractContextManager[Any]:
    """Without gradients, and for a layer in eval mode always so, as a trained one is used.

    What a layer keeps once nobody asks for gradients shows there and nowhere else.
    """
    is_used = isinstance(function, nn.Module) and not function.training
    return torch.no_grad() if is_used or no_grad else contextlib.nullcontext()


def _left_on(value: Any) -> str:
    """What a call left on an argument that is no number of it; empty where it left nothing."""
    for tensor in tensors_in(value):
        if tensor._backward_hooks:
            return "a tensor with a hook on it, which the call left there"
        if tensor.requires_grad:
            return "a tensor that wants a gradient since the call"
    return ""


def changed(args: Sequence[Any], after: Sequence[Any]) -> Sequence[Any] | None:
    """The copies of a call's arguments, or None where they are as they were, as nearly always.

    `benchmarks/tricks.py` measures what sending all of them back costs.
    """
    return None if _is_same(args, after) else after


def _is_same(before: Any, after: Any) -> bool:
    """Whether a tree is what it was; where NaN is in it, it may not be."""
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
    """Calls, and pulls `cotangent` (of the value's shape) back to inputs and trainable weights.

    Without one, each number of the value counts once.

    Gradients to inputs come in the form of the inputs: a tuple of tensors has a tuple of gradients.
    Arguments at the places `frozen` want none, as data that nobody trains, and neither do the
    weights of the names `still`. `ways` may hold `RESULTS` and `BACKWARD`; such a call is looked at
    more closely, and a fourth item, after value and gradients to inputs and to weights, says what
    it left behind, where it did.
    Raises what the answer raises, and RuntimeError where a cotangent is of another shape.
    """
    memo: dict[int, torch.Tensor] = {}
    copies = [copy_of(arg, memo) for arg in args]
    kept = {id(leaf) for place in frozen for leaf in tensors_in(copies[place])}
    for tensor in memo.values():
        if tensor.is_floating_point() and id(tensor) not in kept:
            tensor.requires_grad_()
    leaves = _mapped(copies, lambda leaf: leaf)  # before the call, which may change a list
    wanted = [tensor for tensor in memo.values() if tensor.requires_grad]
    given = _computed(copies) if RESULTS in ways else copies
    with _held_still(function, still):
        named = _trainable(function)
        value = function(*given)
        sources = wanted + list(named.values())
        roots, seeds = _roots(value, cotangent)
        before = [seed.clone() for seed in seeds] if ways else []
        grads = _pulled(roots, seeds, sources, BACKWARD in ways)
    by_tensor = {id(tensor): grad for tensor, grad in zip(wanted, grads, strict=False)}
    inputs = _mapped(leaves, lambda leaf: by_tensor.get(id(leaf)))
    found = value, inputs, dict(zip(named, grads[len(wanted) :], strict=True))
    if ways:
        pairs = zip(seeds, before, strict=True)
        left = _left_behind(tensors_in([*memo.values(), given]), args, leaves, pairs)
        return (*found, left) if left else found
    return found


#: arguments are results of other operations; `backward()` is called, and `.grad` read
RESULTS, BACKWARD = "results", "backward"
#: what a call may leave behind for its caller
HOOK, CHANGED, SEED_CHANGED = "hook", "argument", "cotangent"
LEFT = frozenset({HOOK, CHANGED, SEED_CHANGED})


def _computed(args: Sequence[Any]) -> list[Any]:
    """The arguments, floating point ones as results of other operations, in the same layout."""
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
    """Weights of these names want no gradient meanwhile."""
    weights = dict(target.named_parameters(remove_duplicate=False)) if names else {}
    still = [weights[name] for name in names if name in weights and weights[name].requires_grad]
    for weight in still:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in still:
            weight.requires_grad_(True)


def _pulled(
    roots: tuple[torch.Tensor, ...],
    seeds: tuple[Any, ...],
    sources: Sequence[torch.Tensor],
    by_backward: bool,
) -> Sequence[torch.Tensor | None]:
    if not roots or not sources:
        return [None] * len(sources)
    if by_backward:
        torch.autograd.backward(roots, seeds)
        found: Sequence[torch.Tensor | None] = [source.grad for source in sources]
        for source in sources:
            source.grad = None
    else:
        # with all that `torch.autograd.grad` does first in Python, it takes twice as long
        found = _engine_run_backward(
            *(roots, seeds, False, False, tuple(sources)),
            allow_unreachable=True,
            accumulate_grad=False,
        )
    # `F.embedding(..., sparse=True)` gives the same gradient in another layout
    return [None if grad is None else grad.to_dense() for grad in found]


def _left_behind(
    tensors: Sequence[torch.Tensor],
    args: Sequence[Any],
    copies: Sequence[Any],
    seeds: Iterable[tuple[torch.Tensor, torch.Tensor]],
) -> list[str]:
    """What a call with its backward left behind: of `HOOK`, `CHANGED`, `SEED_CHANGED`."""
    found = {
        HOOK: any(tensor._backward_hooks for tensor in tensors),
        CHANGED: not _is_same(list(args), list(copies)),
        SEED_CHANGED: not all(torch.equal(seed, before) for seed, before in seeds),
    }
    return [what for what, is_left in found.items() if is_left]


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """A tree of the same form with its leaves changed."""
    if isinstance(tree, tuple | list):
        return type(tree)(_mapped(item, change) for item in tree)
    if isinstance(tree, dict):
        return {key: _mapped(item, change) for key, item in tree.items()}
    return change(tree)


def _roots(value: Any, cotangent: Any) -> tuple[tuple[torch.Tensor, ...], tuple[Any, ...]]:
    """The outputs that have a gradient, and the cotangent of each: ones where none is given."""
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
    """Copies of the trainable parameters by name; empty for a lazy one that has no shape yet."""
    return {
        name: torch.empty(0) if is_lazy(parameter) else parameter.detach().clone()
        for name, parameter in _trainable(layer).items()
    }


#: the ways in which weights come into a layer: an optimizer changes them in place, old code
#: through `.data`, a checkpoint is loaded, and surgery puts another parameter in the place
COPY, DATA, STATE, REPLACE = "copy", "data", "state", "replace"


def load(layer: nn.Module, values: Mapping[str, torch.Tensor], way: str = COPY) -> None:
    """Gives weights by name; raises LookupError or ValueError that names the parameter.

    A lazy parameter takes the shape of its weight, as in `load_state_dict`.
    """
    parameters = dict(layer.named_parameters(remove_duplicate=False))
    missing = [name for name in values if name not in parameters]
    if missing:
        others = [name for name in parameters if name not in values]
        instead = f"; it has {', '.join(others[:6])} instead" if others else ""
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
    """Puts a new parameter wherever the old one is."""
    new = nn.Parameter(value.to(old.device, old.dtype, copy=True), old.requires_grad)
    for name, parameter in parameters.items():
        if parameter is old:
            owner, _, own_name = name.rpartition(".")
            setattr(layer.get_submodule(owner), own_name, new)


def _lazy_shape(layer: nn.Module, name: str, value: torch.Tensor) -> tuple[int, ...]:
    """The shape of a weight, with the number of outputs that a lazy linear layer was built with."""
    owner = layer.get_submodule(name.rpartition(".")[0])
    outputs = (owner.out_features,) if isinstance(owner, nn.LazyLinear) else value.shape[:1]
    return (*outputs, *value.shape[1:])


def set_mode(layer: nn.Module, training: bool) -> None:
    """Train mode or eval mode, by the method that is called for it: either may be the answer's."""
    if training:
        layer.train()
    else:
        layer.eval()


def move(layer: nn.Module, dtype: torch.dtype | None, device: str | None) -> None:
    """`module.to` with what is given."""
    if dtype is not None:
        layer.to(dtype)
    if device is not None:
        late.on_device(layer.to, device)


def restored(layer: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
    """A new layer that loaded the state of `layer`, in its mode; raises what the answer raises."""
    fresh = build()
    # a mask that is a frozen parameter has a dtype of its own
    move(fresh, next((weight.dtype for weight in _trainable(layer).values()), None), None)
    # not the buffers that only one of them has, or in another size: a call may have made them
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
    """Every parameter once; of several names (`net.0.weight`, `linear.weight`) the shortest."""
    if not isinstance(target, nn.Module):
        return {}
    names: dict[nn.Parameter, str] = {}
    for name, parameter in target.named_parameters(remove_duplicate=False):
        known = names.setdefault(parameter, name)
        if name.count(".") < known.count("."):
            names[parameter] = name
    return {name: parameter for parameter, name in names.items() if parameter.requires_grad}
