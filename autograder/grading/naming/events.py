"""What came of each request of a probe: a value, or the name of what was raised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...errors import AnswerFault, AnswerRaised
from ...records import Limits
from ...sandbox.batch import RawReply
from ...sandbox.replies import value_of
from ...worker import wire
from ...worker.execution import tensors_in
from ..judging import replies as forms

Request = tuple[Any, ...]

_MAKING = ("restore", "build", "load_weights")
#: of the tensors of a reply, each counted as often as it is named: all of them are looked at
_MOST_BYTES = Limits().reply_bytes
#: gradients that come in are compared as they are up to that power of ten
_ORDINARY = 2
_THROUGH_NAN = "gradients of what is not finite"
#: in the place of the arguments of a call, where none was changed
UNCHANGED = "arguments as they were"
#: a layer that could not be made, or did not take its weights, tells nothing but what it has
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Event:
    """One request: what was asked, and what came - a value, or the name of what was raised."""

    operation: str
    value: Any = None
    raised: str = ""


def events_of(requests: Sequence[Request], replies: Sequence[RawReply]) -> Iterator[Event]:
    """One event for each request; the replies are hostile."""
    broken: set[Any] = set()
    missing: set[Any] = set()
    for request, reply in zip(requests, replies, strict=True):
        operation, number, *rest = request
        if (number in broken and operation not in ("build", "weights")) or (
            number in missing and operation == "weights"
        ):
            event = Event(operation, raised=NOT_ASKED)
        else:
            event = _event(request, reply)
        if event.raised and operation in _MAKING:
            made = rest[0] if operation == "restore" else number
            broken.add(made)
            missing |= set() if operation == "load_weights" else {made}
        yield event


def _event(request: Request, reply: RawReply) -> Event:
    operation = request[0]
    try:
        frame = wire.decode(reply[0], bytearray(reply[1]), most_bytes=_MOST_BYTES)
        value = value_of(frame)
        return Event(operation, _told(request, value))
    except wire.BadFrame:
        return Event(operation, raised="no answer")
    except AnswerFault as fault:
        return Event(operation, raised=_name_of(operation, fault))


def _told(request: Request, value: Any) -> Any:
    """What is compared of a value; raises `AnswerProtocol` where it is not of the right form."""
    operation, asked = request[0], request[2:3]
    if operation in ("call", "forward"):
        (args,) = asked
        outcome = forms.outcome(value, args)
        after = list(outcome.inputs_after)
        return outcome.value, UNCHANGED if _is_same(args, after) else after
    if operation in ("gradients", "layer_gradients"):
        found = forms.gradients(value, request[2])
        if not _is_finite(found.value):
            return found.value, _THROUGH_NAN
        inputs, weights = _for_ones([list(found.inputs), dict(found.weights)], _size(request[3]))
        return found.value, inputs, _by_name(weights), *found.left
    if operation in ("steps", "layer_steps"):
        return forms.values(value, len(*asked))
    if operation == "weights" and forms.is_named_tensors(value):
        return {name: tuple(weight.shape) for name, weight in _by_name(value)}
    return None


def _size(cotangent: Any) -> float:
    """The power of ten of a gradient that comes in, where it is far from 1."""
    largest = max((float(t.abs().max()) for t in tensors_in(cotangent) if t.numel()), default=1.0)
    power = round(math.log10(largest)) if largest > 0 and math.isfinite(largest) else 0
    return 10.0**power if abs(power) > _ORDINARY else 1.0


def _for_ones(gradients: Any, size: float) -> Any:
    """The gradients as they are for incoming ones of size 1, next to which others are compared."""
    if size == 1:
        return gradients
    if isinstance(gradients, tuple | list):
        return type(gradients)(_for_ones(item, size) for item in gradients)
    if isinstance(gradients, dict):
        return {key: _for_ones(item, size) for key, item in gradients.items()}
    is_number = isinstance(gradients, torch.Tensor) and gradients.is_floating_point()
    return gradients / size if is_number else gradients


def _by_name(weights: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Weights in one order: the one in which layers are made is nobody's mistake."""
    return sorted(weights.items(), key=lambda named: named[0])


def _is_finite(value: Any) -> bool:
    """Whether all numbers of a result are: gradients of others depend on how it is written."""
    return all(
        tensor.device.type == "meta" or bool(tensor.isfinite().all())
        for tensor in tensors_in(value)
    )


def _is_same(one: Any, other: Any) -> bool:
    """Whether arguments are what they were."""
    if isinstance(one, torch.Tensor):
        same = isinstance(other, torch.Tensor) and (one.dtype, one.shape, one.device) == (
            *(other.dtype, other.shape),
            other.device,
        )
        return same and (one.device.type == "meta" or torch.equal(one, other))
    if isinstance(one, tuple | list):
        return (
            type(one) is type(other) and len(one) == len(other) and all(map(_is_same, one, other))
        )
    return type(one) is type(other) and bool(one == other)


def _name_of(operation: str, fault: AnswerFault) -> str:
    """The class of what was raised; for weights that don't fit, our own words, which name one."""
    if operation == "load_weights":
        return str(fault)
    return fault.type_name if isinstance(fault, AnswerRaised) else type(fault).__name__
