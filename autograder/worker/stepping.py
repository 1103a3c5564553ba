"""Makes several calls in a row, to test whether a call affects later ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from .execution import as_used, changed, copy_of, tensors_in


def steps(
    function: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], int | None]],
    no_grad: bool = False,
) -> list[Any]:
    """Makes several calls; a call's state can be the last argument of a later call.

    Each item of `calls` contains a call's arguments, and the number of the earlier call whose state
    it gets, or None. The state is the last item in the earlier call's result. The state is passed
    on as the same object, so that the results, which the caller reads after the last call, show
    whether a later call has changed the state.

    If no state is passed on, later calls get the same tensor objects as earlier calls, but with new
    numbers, so that anything that the answer has cached for a tensor is out of date. The numbers
    are written through `.data`, which changes neither a tensor's address nor its version. Likewise,
    dictionaries are reused with new items. Each result is changed in place before the next call, as
    a caller may do.

    A layer's calls must not create parameters, even if these require no gradients.
    """
    before = _parameters(function)
    with as_used(function, no_grad):
        if all(after is None for _, after in calls):
            values = _with_the_same_objects(function, [args for args, _ in calls])
        else:
            values = _with_states(function, calls)
    known = {id(parameter) for parameter in before.values()}
    created = [
        name
        for name, parameter in _parameters(function).items()
        if name not in before and id(parameter) not in known
    ]
    if created:
        raise RuntimeError(f"`forward` has created a parameter: {', '.join(created)}")
    return values


def _parameters(function: Callable[..., Any]) -> dict[str, nn.Parameter]:
    if not isinstance(function, nn.Module):
        return {}
    return dict(function.named_parameters(remove_duplicate=False))


def _with_states(
    function: Callable[..., Any], calls: Sequence[tuple[Sequence[Any], int | None]]
) -> list[Any]:
    """Returns the results of calls that may get an earlier call's state."""
    memo: dict[int, torch.Tensor] = {}
    values: list[Any] = []
    for args, after in calls:
        handed = [] if after is None else [_state(values[after])]
        values.append(function(*(copy_of(arg, memo) for arg in args), *handed))
    return values


def _with_the_same_objects(
    function: Callable[..., Any], calls: Sequence[Sequence[Any]]
) -> list[Any]:
    """Returns the results of calls whose argument tensors are reused and overwritten."""
    kept: dict[Any, Any] = {}
    held: list[_HeldResult] = []
    for args in calls:
        memo: dict[int, torch.Tensor] = {}
        copies = [copy_of(arg, memo) for arg in args]
        # A tensor at two positions must stay one tensor, and two tensors must stay two.
        is_shared = len(memo) < len(tensors_in(copies))
        given = [_written_over(kept, (n, is_shared), arg) for n, arg in enumerate(copies)]
        value = function(*given)
        # A view of an argument rightly changes with it, so copy it.
        value = _apart(value, {_memory_of(leaf) for leaf in tensors_in(given)})
        held.append(_HeldResult(value))
    return [one.returned() for one in reversed(held)][::-1]


class _HeldResult:
    """A call's result; it is changed in place if possible, because a caller may change it, too."""

    def __init__(self, value: Any) -> None:
        self._value = self._before = self._after = value
        self._leaves = [leaf.detach() for leaf in tensors_in(value)]
        if all(leaf.layout is torch.strided for leaf in self._leaves):  # others are wrong anyway
            self._before = copy_of(value)
            self._change()
            self._after = copy_of(value)

    def _change(self) -> None:
        """Changes every number to an unusual value, so that later writes can be recognized."""
        if isinstance(self._value, dict):
            self._value.clear()
        for leaf in {id(leaf): leaf for leaf in tensors_in(self._value)}.values():
            try:
                own = leaf if leaf.is_inference() else leaf.detach()
                _ = own.logical_not_() if leaf.dtype is torch.bool else own.mul_(-3).add_(7)
            except RuntimeError:
                # No caller can change a tensor whose elements share memory. But a tensor from
                # inference mode is an error, because it can't be used in training either.
                if leaf.is_inference():
                    raise

    def returned(self) -> Any:
        """Returns a copy of the result, including changes that a later call has made.

        If a later call has undone the caller's change, returns the changed numbers instead, because
        the later call has written into the result. Restores the result's original values, because
        an earlier call may have returned the same object.
        """
        if self._before is self._value:
            return self._value
        if not _is_untouched(self._value, self._after):
            is_undone = _is_untouched(self._value, self._before)
            return self._after if is_undone else copy_of(self._value)
        if isinstance(self._value, dict):
            self._value.update(self._before)
        for leaf, before in zip(self._leaves, tensors_in(self._before), strict=False):
            with contextlib.suppress(RuntimeError):
                leaf.copy_(before)
        return self._before


def _is_untouched(value: Any, after: Any) -> bool:
    leaves, others = tensors_in(value), tensors_in(after)
    if not leaves or len(leaves) != len(others):
        return changed([copy_of(value)], [after]) is None
    return all(
        torch.equal(one, other) or torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True)
        for one, other in zip(leaves, others, strict=True)
    )


def _written_over(kept: dict[Any, Any], place: tuple[int, bool], arg: Any) -> Any:
    """Returns the earlier argument at `place` with the numbers of `arg`, if the forms are equal."""
    if isinstance(arg, dict):
        return _with_items(kept.setdefault(place, arg), dict(arg))
    leaves = tensors_in(arg)
    if not leaves or not all(leaf.is_contiguous() for leaf in leaves):
        return arg
    before = kept.setdefault((*place, *((leaf.shape, leaf.dtype) for leaf in leaves)), arg)
    for old, new in zip(tensors_in(before), leaves, strict=True):
        old.data.copy_(new)  # no version counter sees it
    return before


def _with_items(held: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    held.clear()
    held.update(items)
    return held


def _apart(value: Any, memories: set[int]) -> Any:
    """Returns the value, in which copies replace the tensors whose memory is in `memories`."""
    if not any(_memory_of(leaf) in memories for leaf in tensors_in(value)):
        return value
    if isinstance(value, torch.Tensor):
        return value.clone()
    items = [_apart(item, memories) for item in value]
    return items if isinstance(value, list) else tuple(items)


def _memory_of(tensor: torch.Tensor) -> int:
    """Returns the address of a tensor's memory, or -1 if its layout is not strided."""
    if tensor.layout is not torch.strided:
        return -1
    # `untyped_storage()` would create an object, which takes longer than everything else here
    return tensor.data_ptr() - int(tensor.storage_offset()) * tensor.element_size()


def _state(value: Any) -> Any:
    if not isinstance(value, tuple | list) or len(value) < 2:
        raise TypeError(
            f"a call returned a {type(value).__name__}; expected a pair whose second item goes "
            "into the next call"
        )
    return value[-1]
