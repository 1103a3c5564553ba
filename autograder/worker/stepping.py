"""Several calls in a row, as a test of what is left of a call asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .execution import as_used, copy_of, tensors_in


def steps(
    function: Callable[..., Any], calls: Sequence[tuple[Sequence[Any], int | None]]
) -> list[Any]:
    """Calls several times, and hands the state of one call to a later one as its last argument.

    Each call is its arguments and the number of the earlier call whose state it gets, or None. A
    state is the last item of what a call returned, and goes on as the object that it is: what a
    later call writes into it shows in the values, which the caller reads after the last call.
    Where no state is handed on, tensors of a form that came before are the same objects with other
    numbers, as weights are that an optimizer changes: what is kept by the object is out of date.
    """
    memo: dict[int, torch.Tensor] = {}
    values: list[Any] = []
    with as_used(function):
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
    values: list[Any] = []
    for args in calls:
        memo: dict[int, torch.Tensor] = {}
        copies = [copy_of(arg, memo) for arg in args]
        # one tensor in two places stays one, and two stay two
        is_shared = len(memo) < len(tensors_in(copies))
        given = [_written_over(kept, (n, is_shared), arg) for n, arg in enumerate(copies)]
        value = function(*given)
        # a view of an argument changes with it, which is right
        values.append(_apart(value, {_memory_of(leaf) for leaf in tensors_in(given)}))
    return values


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
