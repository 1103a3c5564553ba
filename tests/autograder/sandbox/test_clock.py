"""A question's wall clock counts only the time in which the worker was observed and could run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from autograder.sandbox import clock as clocks
from autograder.sandbox.clock import Budget, Clock, cpu_seconds, waited_seconds


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Returns a function that sets how long the worker waited for a processor, initially 0 s."""

    def say(seconds: float) -> None:
        monkeypatch.setattr(clocks, "waited_seconds", lambda pid: seconds)

    say(0.0)
    return say


def _spent(monkeypatch: pytest.MonkeyPatch, budget: Budget, times: Iterable[float]) -> list[bool]:
    """Returns, for each of the given times, whether the clock's limit was exceeded."""
    now = iter(times)
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    clock = Clock(budget, os.getpid())
    looks = []
    try:
        while True:
            looks.append(clock.spent() is not None)
    except StopIteration:
        return looks


def test_only_observed_seconds_count(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_waiting_for_a_processor_does_not_count_against_an_answer(
    monkeypatch: pytest.MonkeyPatch, waited: Callable[[float], None]
) -> None:
    waited(1.0)
    times = [number / 10 for number in range(40)]
    looks = _spent(monkeypatch, Budget(2.05, 1e6), times)
    assert looks == [False] * 30 + [True] * 9


def test_refunded_time_is_kept_for_the_next_call(
    monkeypatch: pytest.MonkeyPatch, waited: Callable[[float], None]
) -> None:
    waited(3.0)
    budget, left = Budget(2.0, 1e6), []
    for _ in range(2):
        now = iter([0.0, 0.9, 1.8, 2.7])
        monkeypatch.setattr(time, "monotonic", now.__next__)
        clock = Clock(budget, os.getpid())
        used_up = [clock.spent() is not None for _ in range(2)]
        clock.stop()
        left.append((used_up, budget.wall > 0))
    assert left == [([False, False], True), ([False, False], False)]


def test_a_process_that_shares_one_processor_has_waited_for_it() -> None:
    (processor, *_) = os.sched_getaffinity(0)
    code = f"import os; os.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    with contextlib.ExitStack() as stack:
        pids = []
        for _ in range(2):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-S", "-c", code]))
            stack.callback(process.kill)
            pids.append(process.pid)
        if not Path(f"/proc/{pids[0]}/schedstat").exists():
            pytest.skip("this kernel does not count how long a process waits")
        while min(map(cpu_seconds, pids)) < 0.3:
            time.sleep(0.05)
        assert min(map(waited_seconds, pids)) > 0.0
    assert waited_seconds(pids[0]) == 0.0  # because the process has ended


def test_an_ended_process_tree_is_empty_and_uses_no_time() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        process.wait()
    assert clocks.descendants(process.pid) == []
    assert clocks.cpu_of_tree(process.pid) == 0.0


def test_a_process_tree_includes_all_descendants() -> None:
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "child.communicate(sys.stdin.readline().encode())"
    )
    run = [sys.executable, "-S", "-c", code]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        child = int(process.stdout.readline())
        assert clocks.descendants(process.pid) == [child]
        process.stdin.write("\n")
