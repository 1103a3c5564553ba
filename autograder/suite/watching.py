"""Makes a call under a rule twice, watched and unwatched: both must return the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import AnswerRaised
from ..worker.execution import tensors_in
from .compare import difference
from .implementation import Outcome, Watched


def watched(watch: Callable[[], tuple[list[str], Any]], call: Callable[[], Outcome]) -> Watched:
    """Return what `watch` saw of a call, and the same call unwatched; raises what `call` raises."""
    try:
        operators, value = watch()
    except AnswerRaised:
        return Watched(unwatched=call().value, failed=True)
    return Watched(frozenset(operators), value, call().value)


def differs(watched: Watched, call: Callable[[], Any]) -> bool:
    """Return whether an answer behaves differently only while it is watched, and not at random.

    `call` makes the call again; it is used only if there is a difference.
    """
    if not watched.failed and (
        not tensors_in(watched.unwatched) or _same(watched.value, watched.unwatched)
    ):
        return False
    try:
        again = call()
    except AnswerRaised:
        return False
    return watched.failed or _same(again, watched.unwatched)


def _same(one: Any, other: Any) -> bool:
    return difference(one, other) is None
