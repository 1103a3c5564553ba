"""Several calls in a row, as a test of what is left of a call asks for them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .execution import as_used, changed, copy_of, tensors_in


def steps(
    function: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], int | None]],
    no_grad: bool = False,
) -> list[Any]:
    """Calls several times, and hands the state of one call to a later one as its last argument.

    Each call is its arguments and the number of the earlier call whose state it gets, or None. A
    state is the last item of what a call returned, and goes on as the object that it is: what a
    later call writes into it shows in the values, which the caller reads after the last call.
    Where no state is handed on, tensors of a form that came before are the same objects with other
    numbers, as weights are that an optimizer changes: what is kept by the object is out of date.
    And each result is changed in place by its caller, whose it is, before the next call.
    """
    memo: dict[int, torch.Tensor] = {}
    values: list[Any] = []
    with as_used(function, no_grad):
        if all(after is None for _, after in calls):
            return _with_the_same_objects(function, [args for args, _ in calls])
        for args, after in calls:
            handed = [] if after is None else [_state(values[after])]
            values.append(function(*(copy_of(arg, memo) for arg in args), *handed))
    return values


def _with_the_same_objects(
    function: Callable[..., Any], calls: Sequence[Sequence[Any]]
) -> list[Any]:
    """What calls return whose arguments are kept and written over."""
    kept: dict[Any, Any] = {}
    held: list[_Held] = []
    for args in calls:
        memo: dict[int, torch.Tensor] = {}
        copies = [copy_of(arg, memo) for arg in args]
        # one tensor in two places stays one, and two stay two
        is_shared = len(memo) < len(tensors_in(copies))
        given = [_written_over(kept, (n, is_shared), arg) for n, arg in enumerate(copies)]
        value = function(*given)
        # a view of an argument changes with it, which is right
        value = _apart(value, {_memory_of(leaf) for leaf in tensors_in(given)})
        held.append(_Held(value))
    return [one.returned() for one in reversed(held)][::-1]


class _Held:
    """A result that its caller holds, and changes in place as far as that is possible."""

    def __init__(self, value: Any) -> None:
        self._value = self._before = self._after = value
        self._leaves = [leaf.detach() for leaf in tensors_in(value)]
        if all(leaf.layout is torch.strided for leaf in self._leaves):  # others are no answer
            self._before = copy_of(value)
            self._change()
            self._after = copy_of(value)

    def _change(self) -> None:
        """Changes every number; what later calls write shows, as hardly any has such numbers."""
        if isinstance(self._value, dict):
            self._value.clear()
        for leaf in {id(leaf): leaf for leaf in tensors_in(self._value)}.values():
            # one whose elements share their memory takes no change
            with contextlib.suppress(RuntimeError):
                own = leaf.detach()
                _ = own.logical_not_() if leaf.dtype is torch.bool else own.mul_(-3).add_(7)

    def returned(self) -> Any:
        """A copy of what the call returned; of what stands there now, where a later call wrote it.

        The object is as it was again: it may have been returned by an earlier call, too.
        """
        if self._before is self._value:
            return self._value
        if not _is_untouched(self._value, self._after):
            return copy_of(self._value)
        if isinstance(self._value, dict):
            self._value.update(self._before)
        for leaf, before in zip(self._leaves, tensors_in(self._before), strict=False):
            with contextlib.suppress(RuntimeError):
                leaf.copy_(before)
        return self._before


def _is_untouched(value: Any, after: Any) -> bool:
    leaves, others = tensors_in(value), tensors_in(after)
    if not leaves or len(leaves) != len(others):
        return changed([value], [after]) is None
    return all(
        torch.equal(one, other) or torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True)
        for one, other in zip(leaves, others, strict=True)
    )


def _written_over(kept: dict[Any, Any], place: tuple[int, bool], arg: Any) -> Any:
    """The argument that stood at a place before, in the same form, with the numbers of this one."""
    leaves = tensors_in(arg)
    if not leaves or not all(leaf.is_contiguous() for leaf in leaves):
        return arg
    before = kept.setdefault((*place, *((leaf.shape, leaf.dtype) for leaf in leaves)), arg)
    for old, new in zip(tensors_in(before), leaves, strict=True):
        old.copy_(new)
    return before


def _apart(value: Any, memories: set[int]) -> Any:
    """The same with copies of the tensors that share one of these memories."""
    if not any(_memory_of(leaf) in memories for leaf in tensors_in(value)):
        return value
    if isinstance(value, torch.Tensor):
        return value.clone()
    items = [_apart(item, memories) for item in value]
    return items if isinstance(value, list) else tuple(items)


def _memory_of(tensor: torch.Tensor) -> int:
    """Where a tensor's numbers lie; -1 for one of another kind, such as a sparse one."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else -1


def _state(value: Any) -> Any:
    if not isinstance(value, tuple | list) or len(value) < 2:
        raise TypeError(
            f"a call returned a {type(value).__name__}; expected a pair whose second item goes "
            "into the next call"
        )
    return value[-1]
