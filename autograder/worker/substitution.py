"""Lets the grader compute correct results for a wrong answer that another answer calls.

For example, a student's `attention_weights` may call the student's own `scale_scores`. If
`scale_scores` is wrong, the worker replaces it with a function that sends the arguments to the
grader, which returns the correct value or gradient. The solution itself never enters the worker.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten

from .execution import tensors_in

#: a function that sends a request to the grader, and returns its reply
Exchange = Callable[[tuple[Any, ...]], Any]


def stand_in(name: str, own: Callable[..., Any], exchange: Exchange) -> Callable[..., Any]:
    """Returns a differentiable substitute for the student's `own` function with that name.

    If there is no `own` function, for example because its cell has failed, the arguments are sent
    to the grader in the order in which the caller passes them.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        given = _given(own, args, kwargs)
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors_in(given)):
            return _differentiable(name, exchange, given)
        return _reply(exchange(("substitute", "call", name, list(given))))

    return function


def _given(own: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments in the order of the student's own signature, including its defaults."""
    try:
        signature = inspect.signature(own)
    except (TypeError, ValueError):  # `own` has no signature, or is not a function
        return (*args, *kwargs.values())
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _differentiable(name: str, exchange: Exchange, args: tuple[Any, ...]) -> Any:
    """Returns the grader's value, in which autograd tracks all tensors, even those in tuples."""
    leaves, form = tree_flatten(list(args))
    forms: list[TreeSpec] = []
    # torch's `apply` has no type annotations.
    apply: Any = _Substituted.apply
    values = apply(name, exchange, form, forms, *leaves)
    return tree_unflatten(list(values), forms[0])


class _Substituted(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, name: str, exchange: Exchange, form: TreeSpec, forms: list[TreeSpec], *leaves: Any
    ) -> tuple[Any, ...]:
        args = tree_unflatten(list(leaves), form)
        ctx.request = (name, exchange, args)
        values, value_form = tree_flatten(_reply(exchange(("substitute", "call", name, args))))
        forms.append(value_form)
        return tuple(values)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        name, exchange, args = ctx.request
        # A tensor at two positions gets a gradient for each of them, which autograd adds up here.
        apart = tree_map(lambda leaf: leaf.clone() if torch.is_tensor(leaf) else leaf, args)
        gradients = _reply(exchange(("substitute", "gradients", name, apart, list(cotangents))))
        return None, None, None, None, *tree_leaves(gradients)


def _reply(reply: Any) -> Any:
    kind, value = reply
    if kind == "ok":
        return value
    raised, text = value
    error = getattr(builtins, raised, RuntimeError)
    raise error(text)
