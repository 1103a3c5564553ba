"""The wall clock of a question: only time in which somebody looked at the worker counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import pytest

from autograder.sandbox.clock import Budget, Clock


def _spent(monkeypatch: pytest.MonkeyPatch, budget: Budget, times: Iterable[float]) -> list[bool]:
    """Whether the time was used up at each of the looks, of which the first begins the call."""
    now = iter(times)
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    clock = Clock(budget, os.getpid())
    looks = []
    try:
        while True:
            looks.append(clock.spent() is not None)
    except StopIteration:
        return looks


def test_seconds_in_which_somebody_looks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [number / 10 for number in range(40)]
    looks = _spent(monkeypatch, Budget(2.05, 1e6), times)
    assert looks == [False] * 20 + [True] * 19


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 1e9])
def test_a_clock_that_jumps_takes_no_time_of_a_question(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    budget = Budget(5.0, 1e6)
    times = [0.0, 0.1, 0.2, jump, jump + 0.1, jump + 0.2]
    assert not any(_spent(monkeypatch, budget, times))


def test_a_call_takes_its_time_from_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.5, 1.25])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    budget = Budget(5.0, 1e6)
    clock = Clock(budget, os.getpid())
    clock.spent()
    clock.stop()
    assert budget.wall == pytest.approx(3.75)
