"""What a suite asks with one seed: found out once with the solution, then asked of all at once.

A test may ask what depends on an earlier answer. So each request of a test is kept as it was: where
a submission's test asks anything else, the plan ends for that test.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...sandbox.batch import Batch, RawReply, reply_in
from ...sandbox.replies import value_of
from ...suite.local import LocalImplementation
from ...suite.witness import Witness, with_witnesses
from ...worker import late, wire
from ...worker.answering import Worker, answer
from .agreement import Agreement, agreement
from .observer import Observer, RunTest
from .remote import question_seed
from .requests import AskedImplementation
from .suites import SuiteRunner
from .verdicts import TestOutcome

#: a test that asks for more bytes than this is asked call by call; the largest one asks for 2 MB.
#: With 256 KB it was two tests of `simplified_attention`, and an eighth of a submission's CPU
_MAX_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class TestPlan:
    """The requests of one test: where their replies begin in the batch, and each one's bytes.

    `asks` are the answers that it asks, `names` those of which it looks at the names that they use.
    `passed` is the outcome where replies fit the `agreement`, if there is one.
    """

    start: int
    requests: tuple[bytes, ...]
    asks: frozenset[str]
    names: frozenset[str]
    agreement: Agreement | None
    passed: TestOutcome


@dataclass(frozen=True, slots=True)
class Plan:
    """What one suite asks with one seed. `cpu_seconds` is what the solution needs for it."""

    seed: int
    batch: Batch
    tests: Mapping[tuple[str, str], TestPlan]
    cpu_seconds: float


def rehearse(runner: SuiteRunner, suite: Path, seed: int, only: str | None = None) -> Rehearsal:
    """Runs a suite, or one question of it, against its solution, and notes what it asks."""
    solution = runner.solution(suite)
    assert isinstance(solution, LocalImplementation)
    rehearsal = Rehearsal(solution, seed)
    start, were_late = time.process_time(), late.kernels_are_late()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # a request may hold an earlier answer by chance
        runner.judge(suite, rehearsal, seed, rehearsal, only)
    rehearsal.cpu_seconds = time.process_time() - start
    rehearsal.kernels = were_late and not late.kernels_are_late()
    return rehearsal


def bytes_of(request: tuple[Any, ...]) -> bytes:
    """A request as it crosses."""
    return b"".join(wire.encode(0, request, layouts=True))


class Rehearsal(AskedImplementation, Observer):
    """The solution, asked as a worker would be; notes the requests of each test.

    `requests` are those of each test, by question and name; `cpu_seconds` is what all took, and
    `kernels` whether they were the first to need those of the second device that are late.
    """

    cpu_seconds = 0.0
    kernels = False

    def __init__(self, solution: LocalImplementation, seed: int) -> None:
        super().__init__()
        self._solution = solution
        self._worker = Worker(lambda request: None, names=solution.namespace)
        self._seed = seed
        self._question = ""
        self.requests: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        self._noted: list[tuple[Any, ...]] = []
        self._replies: dict[tuple[str, str], list[RawReply]] = {}
        self._witnesses: dict[tuple[str, str], list[Witness]] = {}
        self._outcomes: dict[tuple[str, str], TestOutcome] = {}
        self._asks: dict[tuple[str, str], set[str]] = {}
        self._names: dict[tuple[str, str], set[str]] = {}

    def begin_question(self, question: str) -> None:
        self._question = question

    def begin_test(self, test: str) -> None:
        super().begin_test(test)
        self._test = self._question, test
        self._noted = self.requests[self._test] = []
        self._replies[self._test], self._witnesses[self._test] = [], []

    def judged(self, run: RunTest) -> TestOutcome:
        outcome = self._outcomes[self._test] = run(soft=True)
        return outcome

    def ask(self, name: str, *request: Any) -> Any:
        self._noted.append(request)
        self._asks.setdefault(self._test, set()).add(name)
        header, data = reply_in(b"".join(answer(self._worker, 0, request)))
        self._replies[self._test].append((header, data))
        known: dict[int, Witness] = {}
        reply = with_witnesses(wire.decode(header, bytearray(data)), known)
        self._witnesses[self._test] += [w for w in known.values() if not w.is_meta]
        return value_of(reply)

    def names_used(self, name: str) -> frozenset[str]:
        self._names.setdefault(self._test, set()).add(name)
        return self._solution.names_used(name)

    def plan(self) -> Plan:
        """All that was recorded, in one batch: each question begins with its seed."""
        asked: list[tuple[Any, ...]] = []
        tests: dict[tuple[str, str], TestPlan] = {}
        seeded = None
        for (question, test), requests in self.requests.items():
            in_bytes = tuple(map(bytes_of, requests))
            if sum(map(len, in_bytes)) > _MAX_BYTES:
                continue
            if question != seeded:
                seeded = question
                asked.append(("seed", question_seed(self._seed, question)))
            key = question, test
            tests[key] = TestPlan(
                len(asked),
                in_bytes,
                frozenset(self._asks.get(key, ())),
                frozenset(self._names.get(key, ())),
                self._agreement(key),
                self._outcomes[key],
            )
            asked += requests
        return Plan(self._seed, Batch.of(asked, self.kernels), tests, self.cpu_seconds)

    def _agreement(self, test: tuple[str, str]) -> Agreement | None:
        """What agrees with the replies; None where the test looks at more, or fails."""
        if test in self._names or self._outcomes[test].failure is not None:
            return None
        return agreement(self._replies[test], self._witnesses[test])


class Plans:
    """The plans of a run's suites, by seed; each is made when it is first asked for."""

    def __init__(self, runner: SuiteRunner) -> None:
        self._runner = runner
        self._plans: dict[tuple[Path, int, str | None], Plan] = {}

    def of(self, suite: Path, seed: int, only: str | None = None) -> Plan:
        """The plan of one suite, or of one question of it."""
        key = suite, seed, only
        if key not in self._plans:
            self._plans[key] = rehearse(self._runner, *key).plan()
        return self._plans[key]
