"""Keeps the solution's results, because a suite makes the same calls for each submission.

The key of a result is a digest of everything that determines it: the function or class, the
arguments, and everything that was done with a layer before. Therefore, results are correct even if
calls change a layer. A call that draws random numbers is made each time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...suite.implementation import PLAIN, GradientOptions, Gradients, Layer, Outcome, Step
from ...suite.local import LocalImplementation
from ...worker import wire
from ...worker.execution import COPY, changed, copy_of

#: the maximum number of bytes in all tensors that are kept
_MOST_BYTES = 128 << 20
_DIGEST_BYTES = 16

_Compute = Callable[[], tuple[Any, ...]]
_Change = Callable[[Layer], Any]


class Results:
    """Results by key; the oldest ones are dropped if all together are too large."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._known: dict[bytes, tuple[Any, int]] = {}
        self._bytes_left = most_bytes

    def get(self, key: bytes, compute: _Compute) -> tuple[Any, ...]:
        """Returns a result, which is computed if it is not known."""
        return self.find(key) or self.computed(key, compute)

    def find(self, key: bytes) -> tuple[Any, ...] | None:
        """Returns a copy of a result, or None if it is not known."""
        return copy_of(self._known[key][0]) if key in self._known else None

    def computed(self, key: bytes, compute: _Compute) -> tuple[Any, ...]:
        """Computes a result, and keeps it if no random number was drawn."""
        before = torch.get_rng_state()
        result = compute()
        if torch.equal(before, torch.get_rng_state()):
            self._put(key, copy_of(result))
        return result

    def _put(self, key: bytes, result: Any) -> None:
        size = sum(tensor.nbytes for tensor in _all_tensors(result))
        self._known[key] = result, size
        self._bytes_left -= size
        while self._bytes_left < 0:
            self._bytes_left += self._known.pop(next(iter(self._known)))[1]


class CachedSolution:
    """A solution that makes a call only if its result is not known yet. See `Implementation`."""

    def __init__(self, solution: LocalImplementation, results: Results, own: bytes) -> None:
        """`own` tells this solution's results from those of other solutions."""
        self._solution, self._results, self._own = solution, results, own
        self.namespace = solution.namespace
        self.operators, self.names_used = solution.operators, solution.names_used

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Implementation.call`."""
        key = _key(self._own, "call", name, args, no_grad)
        call = self._solution.call
        found = self._results.get(key, lambda: _with_changes(args, call(name, args, no_grad)))
        return _outcome(args, found)

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Implementation.gradients`."""
        key = _key(self._own, "gradients", name, args, cotangent, options.request)
        pull = self._solution.gradients
        return Gradients(
            *self._results.get(key, lambda: _parts(pull(name, args, cotangent, options)))
        )

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        """See `Implementation.steps`."""
        key = _key(self._own, "steps", name, _calls(steps), no_grad)
        return self._results.get(key, lambda: self._solution.steps(name, steps, no_grad))

    def build(self, name: str, args: Sequence[Any]) -> Layer:
        """See `Implementation.build`."""
        own = copy_of(tuple(args))
        key = _key(self._own, "build", name, own)
        return _CachedLayer(lambda: self._solution.build(name, own), key, self._results)


class _CachedLayer:
    """A layer of the solution that is built only if a result is not known yet. See `Layer`."""

    def __init__(self, build: Callable[[], Layer], state: bytes, results: Results) -> None:
        self._build, self._results = build, results
        #: a digest of the constructor's arguments, and of everything that was done since
        self._state = state
        #: everything that was done with this layer, and how much of it was done with `_layer`
        self._changes: list[_Change] = []
        self._done = 0
        self._layer: Layer | None = None

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Layer.forward`."""
        own = copy_of(tuple(args))
        self._add(
            lambda layer: _with_changes(own, layer.forward(own, no_grad)), "forward", own, no_grad
        )
        return _outcome(args, self._result())

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Layer.gradients`."""
        own, seeds = copy_of((tuple(args), cotangent))
        self._add(
            lambda layer: _parts(layer.gradients(own, seeds, options)),
            *("gradients", own, seeds, options.request),
        )
        return Gradients(*self._result())

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Layer.steps`."""
        own = copy_of(_calls(steps))
        self._add(lambda layer: layer.steps([Step(*call) for call in own]), "steps", own)
        return self._result()

    def weights(self) -> dict[str, torch.Tensor]:
        """See `Layer.weights`."""
        self._add(lambda layer: (layer.weights(),), "weights")
        (weights,) = self._result()
        return dict(weights)

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """See `Layer.load`."""
        own = copy_of(dict(weights))
        self._add(lambda layer: layer.load(own, way), "load", own, way)

    def train(self, mode: bool) -> None:
        """See `Layer.train`."""
        self._add(lambda layer: layer.train(mode), "train", mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """See `Layer.move`."""
        self._add(lambda layer: layer.move(dtype=dtype, device=device), "move", str(dtype), device)

    def restored(self) -> Layer:
        """See `Layer.restored`."""
        now = _CachedLayer(self._build, self._state, self._results)
        now._changes = [*self._changes]
        state = _key(self._state, "restored")
        return _CachedLayer(lambda: now._made(len(now._changes)).restored(), state, self._results)

    def _add(self, change: _Change, *request: Any) -> None:
        self._changes.append(change)
        self._state = _key(self._state, *request)

    def _result(self) -> tuple[Any, ...]:
        """Returns the result of the last change, which is a call."""
        last = len(self._changes) - 1
        known = self._results.find(self._state)
        if known is not None:
            return known
        layer = self._made(last)  # the weights that a new layer draws are replaced before a call
        self._done += 1
        return self._results.computed(self._state, lambda: self._changes[last](layer))

    def _made(self, count: int) -> Layer:
        """Returns the layer after its first `count` changes."""
        layer = self._layer = self._layer or self._build()
        while self._done < count:
            self._changes[self._done](layer)
            self._done += 1
        return layer


def _key(earlier: bytes, *request: Any) -> bytes:
    """Returns a digest of a request and of the key of everything before it."""
    digest = hashlib.blake2b(earlier, digest_size=_DIGEST_BYTES)
    try:
        for part in wire.encode(0, request, layouts=True):
            digest.update(part)
    except wire.BadFrame:  # no result is found by this key
        digest.update(os.urandom(_DIGEST_BYTES))
    return digest.digest()


def _calls(steps: Sequence[Step]) -> tuple[tuple[Any, int | None], ...]:
    return tuple((step.args, step.after) for step in steps)


def _parts(gradients: Gradients) -> tuple[Any, ...]:
    return gradients.value, gradients.inputs, dict(gradients.weights), gradients.left


def _with_changes(args: Sequence[Any], outcome: Outcome) -> tuple[Any, ...]:
    """Returns a call's value, and its arguments after the call, or None if they are unchanged."""
    return outcome.value, changed(list(args), list(outcome.inputs_after))


def _outcome(args: Sequence[Any], result: tuple[Any, ...]) -> Outcome:
    value, after = result
    return Outcome(value, tuple(args if after is None else after))


def _all_tensors(value: Any) -> list[torch.Tensor]:
    """Returns the tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _all_tensors(item)]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in _all_tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []
