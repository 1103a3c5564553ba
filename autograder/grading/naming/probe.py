"""Makes the probe, which sends all requests in a question's tests to a wrong answer in one batch.

The inputs depend only on the suite, so the results that known mistakes give for the same requests
are computed once. The tests themselves need not run, because only replies are compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ...errors import AnswerFault, AnswerRaised
from ...records import Limits
from ...sandbox.replies import RAISED, Batch, RawReply, value_of
from ...submission.bounded import memory_limited
from ...suite.implementation import WatchedCall
from ...suite.message import short_message
from ...worker import wire
from ...worker.answering import Worker, answer, requests_in
from ..judging.plan import RequestNotPlanned, rehearse, reply_of
from ..judging.requests import RequestImplementation, bytes_of
from ..judging.suites import SuiteRunner
from ..judging.verdicts import test_result
from .compared import compared_parts
from .record import (
    NOT_ASKED,
    OFF_PLAN,
    PASSED,
    AnswerRecord,
    Event,
    Request,
    answered,
    in_words,
    measured,
)

Replies = Sequence[RawReply]
#: sends a batch to an answer; returns the replies, or None if the answer can't be called
Ask = Callable[[Batch], Replies | None]
#: the operation that is left out, because how an answer computes does not identify a mistake
_NOT_ASKED = "operators"
#: the maximum memory, in bytes, for a mistake in this process; a changed size may need gigabytes
_MOST_MEMORY = 512 << 20
_INTERRUPTED = RAISED + b'"KeyboardInterrupt"'
MAKING = ("restore", "build", "load_weights")
#: the maximum number of bytes in a reply's tensors; a tensor counts once for each reference to it,
#: because each reference is read
_MOST_BYTES = Limits().reply_bytes


class Probe:
    """The probe for a question; its inputs are drawn from `seed`."""

    def __init__(self, runner: SuiteRunner, suite: Path, question: str, seed: int) -> None:
        self._runner, self._suite, self._question, self._seed = runner, suite, question, seed

    @property
    def requests(self) -> Mapping[str, tuple[Request, ...]]:
        """The requests in each test; of tests that differ only in numbers, only one is included."""
        return self._rehearsed[0]

    @property
    def right(self) -> Mapping[str, AnswerRecord]:
        """The solution's records in the tests whose requests are all made."""
        return self._rehearsed[1]

    @cached_property
    def _rehearsed(self) -> tuple[Mapping[str, tuple[Request, ...]], Mapping[str, AnswerRecord]]:
        place = self._runner, self._suite, self._seed, self._question
        rehearsal = rehearse(*place, self._seeded)
        asked = self._runner.different_tests(self._suite, self._question)
        requests: dict[str, tuple[Request, ...]] = {}
        right: dict[str, AnswerRecord] = {}
        for (question, test), noted in rehearsal.requests.items():
            if test not in asked:
                continue
            requests[test] = tuple(request for request in noted if request[0] != _NOT_ASKED)
            if len(requests[test]) == len(noted):  # the others may have drawn random numbers
                replies = rehearsal.replies[question, test]
                right[test] = answered(events_of(requests[test], replies))
        return requests, right

    @cached_property
    def batch(self) -> Batch:
        """All requests in one frame; each test's requests begin by setting the test's seed."""
        return self.batch_of((0,))

    @lru_cache(maxsize=256)  # noqa: B019 - one of these lives as long as the run
    def batch_of(self, times: Sequence[int], tests: Sequence[str] = ()) -> Batch:
        """Returns a batch of tests (default: all); each of `times` has different random numbers."""
        asked = [
            (self._seeded(test, time), *self.requests[test])
            for time in times
            for test in tests or self.requests
        ]
        return Batch.of([request for of_test in asked for request in of_test])

    def split(self, replies: Replies, tests: Sequence[str] = ()) -> Mapping[str, Replies]:
        """Splits the replies to a batch by test."""
        return self.split_times(replies, tests)[0]

    def split_times(
        self, replies: Replies, tests: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Replies]]:
        """Splits the replies to a batch by repetition, and those of each repetition by test."""
        every, start = [], 0
        while start < len(replies):
            found: dict[str, Replies] = {}
            for test in tests or self.requests:
                end = start + 1 + len(self.requests[test])  # the first one is the seed
                found[test] = replies[start + 1 : end]
                start = end
            every.append(found)
        return every

    def ask(
        self, names: Mapping[str, Any], test: str, count: int | None = None, time: int = 0
    ) -> Replies:
        """Runs a module in this process; returns its replies to a test's first `count` requests.

        By default, makes all requests. The random numbers are different for each `time`.
        """
        worker = Worker(lambda request: None, names=names)
        with silence(), memory_limited(_MOST_MEMORY):
            answer(worker, 0, self._seeded(test, time))
            asked = self.requests[test][:count]
            return [_not_interrupted(reply_of(worker, request)) for request in asked]

    def batch_of_names(
        self, names: Sequence[str], tests: Sequence[str], count: int | None = None
    ) -> Batch:
        """Returns one batch for several answers: the requests in each test, or the first `count`.

        `names` contains the names of the answers, which are all in the same module.
        """
        return Batch.of(
            [
                request
                for name in names
                for test in tests
                for request in (
                    self._seeded(test),
                    *(_with_name(name, request) for request in self.requests[test][:count]),
                )
            ]
        )

    def answered_by_names(
        self, replies: Replies, tests: Sequence[str], count: int | None = None
    ) -> list[list[AnswerRecord]]:
        """Returns each answer's records, given the replies to a batch from `batch_of_names`."""
        found: list[AnswerRecord] = []
        for test in itertools.cycle(tests):
            if not replies:
                break
            end = 1 + len(self.requests[test][:count])  # the first one is the seed
            found.append(self.answered(test, replies[1:end]))
            replies = replies[end:]
        return [found[at : at + len(tests)] for at in range(0, len(found), len(tests))]

    def answered(self, test: str, replies: Replies) -> AnswerRecord:
        """Returns the record of the replies to a test, or to only the first of its requests."""
        return answered(events_of(self.requests[test][: len(replies)], replies))

    def message(self, test: str, replies: Replies) -> str:
        """Runs a test on known replies; returns the test's message without numbers."""
        replayed = _Replayed(self.requests[test], replies)
        try:
            with silence():
                run = self._runner.run_test
                outcome = run(self._suite, self._question, test, replayed, self._seed)
        except RequestNotPlanned:
            return OFF_PLAN
        result = test_result(outcome)
        return in_words(short_message(result.message)) if not result.passed else PASSED

    def judged(self, test: str, replies: Replies) -> AnswerRecord:
        """Returns the record of a test with shares and with the test's message."""
        events = events_of(self.requests[test], replies)
        return replace(measured(events), words=self.message(test, replies))

    def _seeded(self, test: str, time: int = 0) -> Request:
        return "seed", zlib.crc32(f"{self._seed} {test} {time}".encode())


def _with_name(name: str, request: Request) -> Request:
    """Returns a copy of a request that calls the answer with this name instead."""
    at = {"call": 1, "gradients": 1, "steps": 1, "build": 2}.get(request[0])
    return request if at is None else (*request[:at], name, *request[at + 1 :])


def replies_of(names: Mapping[str, Any], batch: Batch) -> Replies:
    """Computes a module's replies to a batch in this process. Don't use it for students' code."""
    worker = Worker(lambda request: None, names=names)
    with silence():
        return [reply_of(worker, request) for request in requests_in(batch.frame)]


class ProbeReplies:
    """An answer's replies to the probe; tests are run on the replies only if they are random."""

    def __init__(self, probe: Probe, replies: Replies, ask: Ask) -> None:
        """`ask` calls the answer again."""
        self._probe = probe
        self._replies = probe.split(replies)
        self.ask = ask
        self._again: dict[str, Replies | None] = {}
        self._events: dict[str, Sequence[Event]] = {}
        self._answered: dict[str, AnswerRecord] = {}
        self._measured: dict[str, AnswerRecord] = {}
        self._judged: dict[str, AnswerRecord] = {}

    @cached_property
    def digest(self) -> bytes:
        """A digest of all replies, which is the same for answers with equal replies."""
        digest = hashlib.blake2b(digest_size=16)
        for replies in self._replies.values():
            for header, data in replies:
                digest.update(header)
                digest.update(data)
        return digest.digest()

    def answered(self, test: str) -> AnswerRecord:
        """Returns the answer's record in a test."""
        if test not in self._answered:
            self._answered[test] = answered(self._events_of(test))
        return self._answered[test]

    def errors(self, test: str) -> Sequence[str]:
        """Returns the error message for each request in a test, or "" if no error was raised."""
        return [_error(reply) for reply in self._replies[test]]

    def again(self, test: str) -> Replies | None:
        """Returns the replies to a test with different random numbers, or None if this fails."""
        if test not in self._again:
            replies = self.ask(self._probe.batch_of((1,), (test,)))
            self._again[test] = replies and self._probe.split(replies, (test,))[test]
        return self._again[test]

    def is_changed(self, test: str) -> bool:
        """Returns whether the replies to a test depend on random numbers; True if this fails."""
        return self.again(test) != self._replies[test]

    def size(self, test: str) -> int:
        """Returns the number of bytes in the replies to a test."""
        return sum(len(data) for _, data in self._replies[test])

    def measured(self, test: str) -> AnswerRecord:
        """Returns the record of a test with shares, but without the test's message."""
        if test not in self._measured:
            self._measured[test] = measured(self._events_of(test))
        return self._measured[test]

    def judged(self, test: str) -> AnswerRecord:
        """Returns the record of a test in the form that can be compared with stochastic answers."""
        if test not in self._judged:
            words = self._probe.message(test, self._replies[test])
            self._judged[test] = replace(self.measured(test), words=words)
        return self._judged[test]

    def _events_of(self, test: str) -> Sequence[Event]:
        if test not in self._events:
            requests = self._probe.requests[test]
            self._events[test] = [*events_of(requests, self._replies[test])]
        return self._events[test]


class _Replayed(RequestImplementation):
    """Gives a test known replies instead of calling an answer."""

    def __init__(self, requests: Sequence[Request], replies: Replies) -> None:
        super().__init__()
        self._left = iter(list(zip(requests, replies, strict=True)))

    def ask(self, name: str, *request: Any) -> Any:
        planned, (header, data) = next(self._left, ((), (b"", b"")))
        if bytes_of(planned) != bytes_of(request):
            raise RequestNotPlanned
        return value_of(wire.decode(header, bytearray(data)))

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        """Returns a value without its operators, because operators don't identify a mistake."""
        value = self.call(name, args).value
        return WatchedCall(value=value, unwatched=value)

    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        """Returns an empty set, because names in code are not compared."""
        return frozenset()


def _error(reply: RawReply) -> str:
    if reply[0].startswith(RAISED):
        try:
            value_of(wire.decode(reply[0], bytearray(reply[1])))
        except (AnswerFault, wire.BadFrame) as error:
            return str(error) if isinstance(error, AnswerRaised) else ""
    return ""


def _not_interrupted(reply: RawReply) -> RawReply:
    """Returns a reply; raises `KeyboardInterrupt` if the user interrupted the call."""
    if reply[0].startswith(_INTERRUPTED):
        raise KeyboardInterrupt
    return reply


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Ignores warnings, which mistakes may cause."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def events_of(requests: Sequence[Request], replies: Sequence[RawReply]) -> Iterator[Event]:
    """Yields an event for each request; the replies may be malformed."""
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
        if event.raised and operation in MAKING:
            made = rest[0] if operation == "restore" else number
            broken.add(made)
            missing |= set() if operation == "load_weights" else {made}
        yield event


def _event(request: Request, reply: RawReply) -> Event:
    operation = request[0]
    try:
        frame = wire.decode(reply[0], bytearray(reply[1]), most_bytes=_MOST_BYTES)
        value = value_of(frame)
        return Event(operation, compared_parts(request, value))
    except wire.BadFrame:
        return Event(operation, raised="no answer")
    except AnswerFault as fault:
        return Event(operation, raised=_name_of(operation, fault))


def _name_of(operation: str, fault: AnswerFault) -> str:
    """Returns the name of an error's class or, if weights can't be set, the error's message."""
    if operation == "load_weights":
        return str(fault)
    return fault.type_name if isinstance(fault, AnswerRaised) else type(fault).__name__
