"""Records the requests of a suite with one seed, using the solution, to send them at once.

A test's requests may depend on earlier answers. So each request is recorded, and if a submission's
test asks for anything else, the plan is abandoned for that test.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...errors import AnswerFault, ContentError
from ...sandbox.replies import Batch, RawReply, reply_in, value_of
from ...suite.local import LocalImplementation
from ...suite.witness import Witness, with_witnesses
from ...worker import late, wire
from ...worker.answering import Worker, answer
from .remote import question_seed
from .reply_agreement import Agreement, agreement
from .requests import RequestImplementation
from .suites import Observer, RunTest, SuiteRunner
from .verdicts import TestOutcome

#: the bytes up to which the requests of a test are planned; the largest test needs 6 MB. A limit of
#: 256 KB excluded two tests of `simplified_attention`, an eighth of a submission's CPU time
_MAX_BYTES = 1 << 23


@dataclass(frozen=True, slots=True)
class TestPlan:
    """The requests of one test: the position of their replies in the batch, and their bytes.

    `asks` are the answers that the test calls; `names` are the answers whose used names it
    inspects. `passed` is the outcome if replies fit the `agreement`, if there is one.
    """

    start: int
    requests: tuple[bytes, ...]
    asks: frozenset[str]
    names: frozenset[str]
    agreement: Agreement | None
    passed: TestOutcome


@dataclass(frozen=True, slots=True)
class Plan:
    """All requests of one suite with one seed; `cpu_seconds` is the solution's time for them."""

    seed: int
    batch: Batch
    tests: Mapping[tuple[str, str], TestPlan]
    cpu_seconds: float


def rehearse(runner: SuiteRunner, suite: Path, seed: int, only: str | None = None) -> Rehearsal:
    """Runs a suite, or one question of it, against its solution, and records its requests."""
    solution = runner.solution(suite)
    assert isinstance(solution, LocalImplementation)
    rehearsal = Rehearsal(solution, seed)
    start, were_late = time.process_time(), late.kernels_are_late()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # for tests that draw random numbers themselves
        runner.judge(suite, rehearsal, seed, rehearsal, only)
    rehearsal.cpu_seconds = time.process_time() - start
    rehearsal.kernels = were_late and not late.kernels_are_late()
    return rehearsal


def bytes_of(request: tuple[Any, ...]) -> bytes:
    """Returns the bytes of a request."""
    return b"".join(wire.encode(0, request, layouts=True))


def _seed_request(seed: int, question: str) -> tuple[Any, ...]:
    return "seed", question_seed(seed, question)


def _unusable(test: str, failure: Exception) -> ContentError:
    """Returns the error for a test that no answer can pass, at the last line of our own."""
    places = traceback.extract_tb(failure.__traceback__)
    own = [place for place in places if "site-packages" not in place.filename]
    place = (own or places)[-1]
    return ContentError(
        Path(place.filename),
        place.lineno,
        f"{test} can't judge even the solution: {type(failure).__name__}: {failure}",
        "correct the test, or the code that it calls",
    )


class Rehearsal(RequestImplementation, Observer):
    """Answers like a worker with the solution, and records the requests of each test.

    `requests` are those of each test, by question and name; `cpu_seconds` is their total time, and
    `kernels` is whether they were the first to need the delayed kernels of the second device.
    """

    cpu_seconds = 0.0
    kernels = False

    def __init__(self, solution: LocalImplementation, seed: int) -> None:
        super().__init__()
        self._solution = solution
        self._worker = Worker(lambda request: None, names=solution.namespace)
        self._seed = seed
        self._question = ""
        #: the state of the worker's random numbers
        self._drawn: torch.Tensor | None = None
        self.requests: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        self._noted: list[tuple[Any, ...]] = []
        self._replies: dict[tuple[str, str], list[RawReply]] = {}
        self._witnesses: dict[tuple[str, str], list[Witness]] = {}
        self._outcomes: dict[tuple[str, str], TestOutcome] = {}
        self._asks: dict[tuple[str, str], set[str]] = {}
        self._names: dict[tuple[str, str], set[str]] = {}

    def begin_question(self, question: str) -> None:
        self._question = question
        self._answer(_seed_request(self._seed, question))

    def begin_test(self, test: str) -> None:
        super().begin_test(test)
        self._test = self._question, test
        self._noted = self.requests[self._test] = []
        self._replies[self._test], self._witnesses[self._test] = [], []

    def judged(self, run: RunTest) -> TestOutcome:
        outcome = self._outcomes[self._test] = run(soft=True)
        failure = outcome.failure
        if isinstance(failure, Exception) and not isinstance(failure, AssertionError | AnswerFault):
            raise _unusable(self._test[1], failure)
        return outcome

    def ask(self, name: str, *request: Any) -> Any:
        self._noted.append(request)
        self._asks.setdefault(self._test, set()).add(name)
        header, data = self._answer(request)
        self._replies[self._test].append((header, data))
        known: dict[int, Witness] = {}
        reply = with_witnesses(wire.decode(header, bytearray(data)), known)
        self._witnesses[self._test] += [w for w in known.values() if not w.is_meta]
        return value_of(reply)

    def _answer(self, request: tuple[Any, ...]) -> RawReply:
        """Answers with the random numbers of a worker, in which tests draw none."""
        theirs = torch.get_rng_state()
        if self._drawn is not None:
            torch.set_rng_state(self._drawn)
        reply = reply_in(b"".join(answer(self._worker, 0, request)))
        self._drawn = torch.get_rng_state()
        torch.set_rng_state(theirs)
        return reply

    def names_used(self, name: str) -> frozenset[str]:
        self._names.setdefault(self._test, set()).add(name)
        return self._solution.names_used(name)

    def plan(self) -> Plan:
        """Returns all recorded requests as one batch, where each question begins with its seed."""
        asked: list[tuple[Any, ...]] = []
        tests: dict[tuple[str, str], TestPlan] = {}
        seeded = None
        for (question, test), requests in self.requests.items():
            in_bytes = tuple(map(bytes_of, requests))
            if sum(map(len, in_bytes)) > _MAX_BYTES:
                continue
            if question != seeded:
                seeded = question
                asked.append(_seed_request(self._seed, question))
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
        """Returns the agreement of a test; None if it inspects names as well, or fails."""
        if test in self._names or self._outcomes[test].failure is not None:
            return None
        return agreement(self._replies[test], self._witnesses[test])


class Plans:
    """The plans of a run's suites, by seed; each is made when it is first needed."""

    def __init__(self, runner: SuiteRunner) -> None:
        self._runner = runner
        self._plans: dict[tuple[Path, int, str | None], Plan] = {}

    def of(self, suite: Path, seed: int, only: str | None = None) -> Plan:
        """Returns the plan of one suite, or of one question of it."""
        key = suite, seed, only
        if key not in self._plans:
            self._plans[key] = rehearse(self._runner, *key).plan()
        return self._plans[key]
