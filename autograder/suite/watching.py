"""A call under a rule is made twice, watched and unwatched: both must answer alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import AnswerRaised
from ..worker.execution import tensors_in
from .compare import difference
from .implementation import Outcome, Watched


def watched(watch: Callable[[], tuple[list[str], Any]], call: Callable[[], Outcome]) -> Watched:
    """What `watch` saw of a call, next to the same call unwatched; raises what that one raises."""
    try:
        operators, value = watch()
    except AnswerRaised:
        return Watched(unwatched=call().value, failed=True)
    return Watched(frozenset(operators), value, call().value)


def differs(watched: Watched, call: Callable[[], Any]) -> bool:
    """Whether it answers otherwise only while it is watched, and not at random.

    `call` calls once more, which is asked for only where there is a difference.
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
