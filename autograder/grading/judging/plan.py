"""Plans a suite: records the requests that its tests make, so that they are sent in one batch.

A test's requests may depend on earlier replies. If, for a submission, a test makes a request that
is not in the plan, the test begins again without the plan, and its calls are made one by one. If a
worker fails during the batch, it is replaced, and all calls are made one by one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ...errors import AnswerFault, AnswerRaised
from ...records import Limits
from ...sandbox import Budget
from ...sandbox.replies import RAISED, Batch, RawReply, reply_in, value_of
from ...sandbox.session import Session
from ...submission import SubmittedExercise
from ...suite.local import LocalImplementation
from ...suite.witness import Witness, with_witnesses
from ...worker import late, wire
from ...worker.answering import Worker, answer
from ...worker.operator_watch import THREAD
from .remote import RemoteImplementation, question_seed
from .reply_agreement import Agreement, JointAgreement, agreement
from .requests import RequestCopies, RequestImplementation, bytes_of
from .right_answers import ReferenceSubstitution
from .suites import Observer, RunTest, SuiteRunner, failed_by_solution
from .verdicts import TestOutcome

#: a test is not planned if its requests have more bytes than this; the largest test needs 6 MB. A
#: limit of 256 KB excluded two tests of `simplified_attention`, which cost an eighth of a
#: submission's CPU time
_MAX_BYTES = 1 << 23

#: selects names in code
_Selects = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class TestPlan:
    """The encoded requests of a test, and the position of the replies to them in the batch.

    `asks` contains the answers that the test calls. `names` contains, for each answer in whose code
    the test looks for names, the function that selects these names, and the solution's names.
    `passed` is the outcome for replies and names that agree with the solution's. `agreement`
    decides whether replies agree; it is None if the solution fails the test.
    """

    start: int
    requests: tuple[bytes, ...]
    asks: frozenset[str]
    names: tuple[tuple[str, _Selects, frozenset[str]], ...]
    agreement: Agreement | None
    passed: TestOutcome


@dataclass(frozen=True, slots=True)
class Plan:
    """All of a suite's requests for one seed; `cpu_seconds` is the CPU time of the solution.

    `agreements` combines, for each question, the agreements (see `reply_agreement`) of its tests.
    """

    seed: int
    batch: Batch
    tests: Mapping[tuple[str, str], TestPlan]
    agreements: Mapping[str, JointAgreement]
    cpu_seconds: float


def rehearse(
    runner: SuiteRunner,
    suite: Path,
    seed: int,
    only: str | None = None,
    seeded: Callable[[str], tuple[Any, ...]] | None = None,
) -> Rehearsal:
    """Runs a suite, or one of its questions, against its solution, and records its requests.

    `seeded`, if given, returns the request that sets the random seed for a test.
    """
    solution = runner.solution(suite)
    assert isinstance(solution, LocalImplementation)
    rehearsal = Rehearsal(solution, seed, seeded)
    start, were_late = time.process_time(), late.kernels_are_late()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # for tests that draw random numbers themselves
        runner.judge(suite, rehearsal, seed, rehearsal, only)
    rehearsal.cpu_seconds = time.process_time() - start
    rehearsal.kernels = were_late and not late.kernels_are_late()
    return rehearsal


def reply_of(worker: Worker, request: tuple[Any, ...]) -> RawReply:
    """Returns the reply of a worker in this process."""
    return reply_in(b"".join(answer(worker, 0, request)))


def _seed_request(seed: int, question: str) -> tuple[Any, ...]:
    return "seed", question_seed(seed, question)


class Rehearsal(RequestImplementation, Observer):
    """Answers requests with the solution, like a worker, and records each test's requests.

    `requests` contains the requests, and `replies` the replies to them, both keyed by question and
    test. `cpu_seconds` is the total time of
    the requests, and `kernels` says whether these requests were the first to need the second
    device's kernels, which are loaded only on first use.
    """

    cpu_seconds = 0.0
    kernels = False

    def __init__(
        self,
        solution: LocalImplementation,
        seed: int,
        seeded: Callable[[str], tuple[Any, ...]] | None = None,
    ) -> None:
        super().__init__()
        self._seeded = seeded
        self._solution = solution
        self._worker = Worker(lambda request: None, names=solution.namespace)
        self._seed = seed
        self._question = ""
        #: the state of the worker's random number generator
        self._drawn: torch.Tensor | None = None
        self.requests: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        self._noted: list[tuple[Any, ...]] = []
        self._copies = RequestCopies()
        self.replies: dict[tuple[str, str], list[RawReply]] = {}
        self._witnesses: dict[tuple[str, str], list[Witness]] = {}
        self._outcomes: dict[tuple[str, str], TestOutcome] = {}
        self._asks: dict[tuple[str, str], set[str]] = {}
        self._names: dict[tuple[str, str], dict[tuple[str, _Selects], frozenset[str]]] = {}

    def begin_question(self, question: str) -> None:
        self._question = question
        self._answer(_seed_request(self._seed, question))

    def begin_test(self, test: str) -> None:
        super().begin_test(test)
        self._test = self._question, test
        if self._seeded is not None:
            self._answer(self._seeded(test))
        self._noted = self.requests[self._test] = []
        self._copies = RequestCopies()
        self.replies[self._test], self._witnesses[self._test] = [], []

    def judged(self, run: RunTest) -> TestOutcome:
        outcome = self._outcomes[self._test] = run(soft=True)
        failure = outcome.failure
        if isinstance(failure, Exception) and not isinstance(failure, AssertionError | AnswerFault):
            raise failed_by_solution(self._test[1], failure)
        return outcome

    def ask(self, name: str, *request: Any) -> Any:
        self._noted.append(self._copies.copy(request))
        self._asks.setdefault(self._test, set()).add(name)
        header, data = self._answer(request)
        self.replies[self._test].append((header, data))
        known: dict[int, Witness] = {}
        reply = with_witnesses(wire.decode(header, bytearray(data)), known)
        self._witnesses[self._test] += [w for w in known.values() if not w.is_meta]
        return value_of(reply)

    def _answer(self, request: tuple[Any, ...]) -> RawReply:
        """Answers a request with a random state that is not affected when tests draw numbers."""
        theirs = torch.get_rng_state()
        if self._drawn is not None:
            torch.set_rng_state(self._drawn)
        reply = reply_of(self._worker, request)
        self._drawn = torch.get_rng_state()
        torch.set_rng_state(theirs)
        return reply

    def names_used(self, name: str, is_wanted: _Selects) -> frozenset[str]:
        found = self._solution.names_used(name, is_wanted)
        self._names.setdefault(self._test, {})[name, is_wanted] = found
        return found

    def plan(self) -> Plan:
        """Returns the recorded requests as one batch; each question begins by setting a seed."""
        asked: list[tuple[Any, ...]] = []
        tests: dict[tuple[str, str], TestPlan] = {}
        joined: dict[str, list[tuple[int, Agreement]]] = {}
        seeded = None
        for (question, test), requests in self.requests.items():
            in_bytes = tuple(map(bytes_of, requests))
            if sum(map(len, in_bytes)) > _MAX_BYTES:
                continue
            if question != seeded:
                seeded = question
                asked.append(_seed_request(self._seed, question))
            key = question, test
            agreement = self._agreement(key)
            tests[key] = TestPlan(
                len(asked),
                in_bytes,
                frozenset(self._asks.get(key, ())),
                tuple((*which, found) for which, found in self._names.get(key, {}).items()),
                agreement,
                self._outcomes[key],
            )
            if agreement is not None:
                joined.setdefault(question, []).append((len(asked), agreement))
            asked += requests
        agreements = {question: JointAgreement.of(own) for question, own in joined.items()}
        batch = Batch.of(asked, self.kernels)
        return Plan(self._seed, batch, tests, agreements, self.cpu_seconds)

    def _agreement(self, test: tuple[str, str]) -> Agreement | None:
        """Returns a test's agreement, or None if the solution fails the test."""
        if self._outcomes[test].failure is not None:
            return None
        return agreement(self.replies[test], self._witnesses[test])


class Plans:
    """The plans for a run's suites, keyed by seed; each plan is made when it is first needed."""

    def __init__(self, runner: SuiteRunner) -> None:
        self._runner = runner
        self._plans: dict[tuple[Path, int, str | None], Plan] = {}

    def of(self, suite: Path, seed: int, only: str | None = None) -> Plan:
        """Returns the plan for one suite, or for one of its questions."""
        key = suite, seed, only
        if key not in self._plans:
            self._plans[key] = rehearse(self._runner, *key).plan()
        return self._plans[key]


#: the limit on the CPU seconds for all questions together is the first number, plus the second
#: number times the solution's time. This is enough for answers that loop over every number, which
#: take up to 3 s. If the time runs out, all calls are made again, one by one
_CPU_SECONDS, _TIMES = 3.0, 4.0
#: the beginnings of replies that depend only on the request and the code. Other replies report that
#: a limit was reached, or contain a hint about the submission
_PLAIN = (b'{"U": ["ok", ', RAISED)
_MISSING = b'{"U": ["missing", '
_A_THREAD = THREAD.encode()


class RequestNotPlanned(BaseException):
    """Raised if a test's request is not in the plan, so its calls must be made one by one."""


class PlannedImplementation(RemoteImplementation):
    """Calls an exercise's answers according to a plan; close it after use."""

    def __init__(
        self,
        open_worker: Callable[[], Session],
        answers: SubmittedExercise,
        limits: Limits,
        seed: int,
        plan: Plan,
        substitution: ReferenceSubstitution | None = None,
        given: tuple[str, ...] = (),
    ) -> None:
        """`given` contains the parts that the exercise may import."""
        super().__init__(open_worker, answers, limits, seed, substitution, given)
        self._plan = plan
        self._replies: Sequence[RawReply] | None = None
        #: whether the replies to the question's tests agree with the solution's; see `Agreement`
        self._agrees = False
        self._asked = False
        #: the digests of requests that were made one by one, with their replies; None if a reply
        #: reported that a limit was reached
        self._apart: list[bytes] | None = []
        self._test: TestPlan | None = None
        self._next = 0

    def begin_question(self, question: str) -> None:
        super().begin_question(question)
        if not self._asked:
            self._asked = True
            self._replies = self._all_replies()
        joint = self._plan.agreements.get(question)
        self._agrees = bool(joint and self._replies and joint.holds(self._replies))

    def begin_test(self, test: str) -> None:
        super().begin_test(test)
        self._next = 0
        self._test = None
        if self._replies is not None and not self._ends:
            self._test = self._plan.tests.get((self._question, test))

    def leave_plan(self) -> None:
        """Makes all following calls of the current test one by one."""
        self._test = None

    def passed(self) -> TestOutcome | None:
        """Returns the test's outcome if the replies agree with the solution's, otherwise None."""
        if self._test is None or self._test.agreement is None or self._replies is None:
            return None
        if any(map(self._fails, self._test.asks)):
            return None
        start = self._test.start
        replies = self._replies[start : start + len(self._test.requests)]
        agreement = self._test.agreement
        if not (self._agrees and not agreement.raises) and not agreement.holds(replies):
            return None
        names = self._test.names
        is_alike = all(self.names_used(name, chosen) == found for name, chosen, found in names)
        return self._test.passed if is_alike else None

    def digest(self) -> bytes | None:
        """Returns a digest of everything that affects the outcome, or None if this is unknown."""
        if self._test is None or self._replies is None or any(map(self._fails, self._test.asks)):
            return None
        digest = hashlib.blake2b(digest_size=16)
        start = self._test.start
        for header, data in self._replies[start : start + len(self._test.requests)]:
            if not header.startswith(_PLAIN):
                return None
            digest.update(header)
            digest.update(data)
        for name, is_wanted, _ in self._test.names:
            digest.update(repr(sorted(self.names_used(name, is_wanted))).encode())
        return digest.digest()

    def replies_hash(self) -> int | None:
        """Returns a hash of all replies, or None if they depend on more than the submitted text."""
        if self._replies is None or self._apart is None:
            return None
        headers = {header for header, _ in self._replies}
        if not all(header.startswith((*_PLAIN, _MISSING)) for header in headers):
            return None
        return hash((*self._replies, *self._apart))

    def _fails(self, name: str) -> bool:
        try:
            self._refuse(name)
        except AnswerFault:
            return True
        return False

    def ask(self, name: str, *request: Any) -> Any:
        if self._test is None or self._replies is None:
            return self._ask_apart(name, request)
        self._refuse(name)
        at, self._next = self._next, self._next + 1
        if at >= len(self._test.requests) or bytes_of(request) != self._test.requests[at]:
            raise RequestNotPlanned
        header, data = self._replies[self._test.start + at]
        try:
            most = self._limits.reply_bytes
            return value_of(wire.decode(header, bytearray(data), most_bytes=most))
        except wire.BadFrame:  # call the answers again, in a new worker
            self.close()
            self._replies = None
            raise RequestNotPlanned from None
        except AnswerFault as fault:
            self._advise(name, fault)
            raise

    def _ask_apart(self, name: str, request: tuple[Any, ...]) -> Any:
        """Makes a request that is not in the plan, and remembers a digest of request and reply."""
        try:
            value = super().ask(name, *request)
        except AnswerRaised as fault:
            self._remember(request, str(fault), fault.type_name, list(fault.bases))
            raise
        except AnswerFault:
            self._apart = None
            raise
        self._remember(request, value)
        return value

    def _remember(self, request: tuple[Any, ...], *reply: Any) -> None:
        if self._apart is not None:
            asked = bytes_of((*request, *reply))
            self._apart.append(hashlib.blake2b(asked, digest_size=16).digest())

    def _all_replies(self) -> Sequence[RawReply] | None:
        """Returns the replies to the whole plan, or None if the calls must be made one by one."""
        cpu = _CPU_SECONDS + _TIMES * self._plan.cpu_seconds
        budget = Budget(self._limits.wall_seconds, min(cpu, self._limits.cpu_seconds))
        try:
            replies = self.replies(self._plan.batch, budget)
        except AnswerFault:
            self.close()
            return None
        is_idle = self._session is not None and self._session.idle
        # Any question may have started a thread; only separate calls show which one did.
        if is_idle and not any(_A_THREAD in header for header, _ in replies):
            return replies
        self.close()
        return None
