"""Selects the parts of a reply that are compared with a known mistake's reply."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ...suite.compare import is_rounding
from ...worker.execution import changed, tensors_in
from ..judging.requests import gradients_of, is_named_tensors, outcome_of, values_of
from .record import OF_GRADIENTS, THROUGH_NAN, UNCHANGED, Request

#: gradients are scaled only if the incoming ones are larger than this power of ten, or smaller than
#: its inverse
_ORDINARY = 2
#: the rounding errors of a gradient that is zero, in units of the largest gradient's precision
_CANCELLED = 100.0


def compared_parts(request: Request, value: Any) -> Any:
    """Returns the parts of a value to compare; raises `AnswerProtocol` if it is malformed."""
    operation, asked = request[0], request[2:3]
    if operation in ("call", "forward"):
        (args,) = asked
        outcome = outcome_of(value, args)
        after = changed(list(args), list(outcome.inputs_after))
        return outcome.value, UNCHANGED if after is None else after
    if operation in OF_GRADIENTS:
        found = gradients_of(value, request[2])
        if not _is_finite(found.value):
            return found.value, THROUGH_NAN
        scaled = _for_ones([list(found.inputs), dict(found.weights)], _size(request[3]))
        inputs, weights = _without_zeros(scaled)
        return found.value, inputs, _by_name(weights), *found.left
    if operation in ("steps", "layer_steps"):
        return values_of(value, len(*asked))
    if operation == "weights" and is_named_tensors(value):
        return {name: tuple(weight.shape) for name, weight in _by_name(value)}
    return None


def _size(cotangent: Any) -> float:
    """Returns the power of ten nearest to the size of incoming gradients, or 1 if it is near 1."""
    largest = max((float(t.abs().max()) for t in tensors_in(cotangent) if t.numel()), default=1.0)
    power = round(math.log10(largest)) if largest > 0 and math.isfinite(largest) else 0
    return 10.0**power if abs(power) > _ORDINARY else 1.0


def _for_ones(gradients: Any, size: float) -> Any:
    """Rescales gradients as if the incoming gradients had size 1, so that they can be compared."""
    return _each(gradients, lambda g: g / size if size != 1 and g.is_floating_point() else g)


def _without_zeros(gradients: list[Any]) -> Any:
    """Replaces gradients that are pure rounding errors with None, because suites accept both.

    The errors of a sum whose terms cancel grow with the largest of all gradients.
    """
    every = tensors_in([gradients[0], [*gradients[1].values()]])
    plain = (tensor for tensor in every if _is_number(tensor) and tensor.numel())
    sizes = (float(tensor.abs().max()) for tensor in plain)
    largest = max(filter(math.isfinite, sizes), default=0.0)

    def is_zero(gradient: torch.Tensor) -> bool:
        far = _CANCELLED * largest * torch.finfo(gradient.dtype).eps
        return is_rounding(gradient) or bool((gradient.abs() <= far).all())

    return _each(gradients, lambda g: None if _is_number(g) and is_zero(g) else g)


def _is_number(gradient: torch.Tensor) -> bool:
    return gradient.device.type != "meta" and gradient.is_floating_point()


def _each(gradients: Any, of: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(gradients, tuple | list):
        return type(gradients)(_each(item, of) for item in gradients)
    if isinstance(gradients, dict):
        return {key: _each(item, of) for key, item in gradients.items()}
    return of(gradients) if isinstance(gradients, torch.Tensor) else gradients


def _by_name(weights: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Returns weights sorted by name, because layers may be built in any order."""
    return sorted(weights.items(), key=lambda named: named[0])


def _is_finite(value: Any) -> bool:
    """Returns whether all numbers in a result are finite; if not, its gradients say little."""
    return all(
        tensor.device.type == "meta" or bool(tensor.isfinite().all())
        for tensor in tensors_in(value)
    )
