"""What a wrong question is asked once more: all requests of its tests, in one frame.

The inputs depend on the suite alone. So what known mistakes answer to the same is found out once,
and without running a test: only what came is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import AnswerFault, AnswerRaised
from ...sandbox.batch import Batch, RawReply, reply_in
from ...sandbox.replies import value_of
from ...submission.bounded import memory_limited
from ...suite.implementation import Watched
from ...suite.message import in_short
from ...worker import wire
from ...worker.answering import Worker, answer, requests_in
from ..judging.plan import bytes_of, rehearse
from ..judging.planned import OffPlan
from ..judging.requests import AskedImplementation
from ..judging.suites import SuiteRunner
from ..judging.verdicts import test_result
from .record import OFF_PLAN, PASSED, Answered, Request, answered, events_of, in_words

Replies = Sequence[RawReply]
#: how an answer computes is no mark of a mistake
_NOT_ASKED = "operators"
#: what a mistake may take in this process: a change of a size may ask for gigabytes
_MOST_BYTES = 512 << 20
_INTERRUPTED = b'{"U": ["raised", "KeyboardInterrupt"'


class Probe:
    """The second asking of one question; `seed` is what its inputs are drawn from."""

    def __init__(self, runner: SuiteRunner, suite: Path, question: str, seed: int) -> None:
        self._runner, self._suite, self._question, self._seed = runner, suite, question, seed

    @cached_property
    def requests(self) -> Mapping[str, tuple[Request, ...]]:
        """What each test asks; a solution is asked for it once."""
        rehearsal = rehearse(self._runner, self._suite, self._seed, self._question)
        return {
            test: tuple(request for request in noted if request[0] != _NOT_ASKED)
            for (_, test), noted in rehearsal.requests.items()
        }

    @cached_property
    def batch(self) -> Batch:
        """All of it in one frame; each test begins with random numbers of its own."""
        return self.batch_of((0,))

    def batch_of(self, times: Sequence[int], tests: Sequence[str] = ()) -> Batch:
        """The same, or some tests, once for each of `times`: each has other random numbers."""
        asked = [
            (self._seeded(test, time), *self.requests[test])
            for time in times
            for test in tests or self.requests
        ]
        return Batch.of([request for of_test in asked for request in of_test])

    def split(self, replies: Replies, tests: Sequence[str] = ()) -> Mapping[str, Replies]:
        """The replies to a batch, by test."""
        return self.split_times(replies, tests)[0]

    def split_times(
        self, replies: Replies, tests: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Replies]]:
        """The same of a batch that asks several times."""
        every, start = [], 0
        while start < len(replies):
            found: dict[str, Replies] = {}
            for test in tests or self.requests:
                end = start + 1 + len(self.requests[test])  # the first one is its seed
                found[test] = replies[start + 1 : end]
                start = end
            every.append(found)
        return every

    def ask(self, names: Mapping[str, Any], test: str) -> Replies:
        """What a module in this process replies."""
        worker = Worker(lambda request: None, names=names)
        with silence(), memory_limited(_MOST_BYTES):
            answer(worker, 0, self._seeded(test))
            return [
                _not_interrupted(reply_in(b"".join(answer(worker, 0, request))))
                for request in self.requests[test]
            ]

    def answered(self, test: str, replies: Replies) -> Answered:
        """The record of replies to a test."""
        return answered(events_of(self.requests[test], replies))

    def judged(self, test: str, replies: Replies) -> Answered:
        """The same with what is compared of stochastic answers: what the test says, and shares."""
        replayed = _Replayed(self.requests[test], replies)
        try:
            with silence():
                run = self._runner.run_test
                outcome = run(self._suite, self._question, test, replayed, self._seed)
        except OffPlan:
            words = OFF_PLAN
        else:
            result = test_result(outcome)
            words = in_words(in_short(result.message)) if not result.passed else PASSED
        return answered(events_of(self.requests[test], replies), words, with_shares=True)

    def _seeded(self, test: str, time: int = 0) -> Request:
        return "seed", zlib.crc32(f"{self._seed} {test} {time}".encode())


def replies_of(names: Mapping[str, Any], batch: Batch) -> Replies:
    """What a module in this process replies to a batch; it is our own, and no student's."""
    worker = Worker(lambda request: None, names=names)
    with silence():
        return [
            reply_in(b"".join(answer(worker, 0, request))) for request in requests_in(batch.frame)
        ]


class Asked:
    """What one answer said in the probe; judged only where chance may be part of it."""

    def __init__(self, probe: Probe, replies: Replies) -> None:
        self._probe = probe
        self._replies = probe.split(replies)
        self._answered: dict[str, Answered] = {}
        self._judged: dict[str, Answered] = {}

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal replies."""
        digest = hashlib.blake2b(digest_size=16)
        for replies in self._replies.values():
            for header, data in replies:
                digest.update(header)
                digest.update(data)
        return digest.digest()

    def answered(self, test: str) -> Answered:
        """The record of one test."""
        if test not in self._answered:
            self._answered[test] = self._probe.answered(test, self._replies[test])
        return self._answered[test]

    def errors(self, test: str) -> Sequence[str]:
        """What each request of a test raised, with its class; empty where it did not."""
        return [_error(reply) for reply in self._replies[test]]

    def judged(self, test: str) -> Answered:
        """The same, to be compared with stochastic answers."""
        if test not in self._judged:
            self._judged[test] = self._probe.judged(test, self._replies[test])
        return self._judged[test]


class _Replayed(AskedImplementation):
    """An answer whose replies are known, for a test that is run over them."""

    def __init__(self, requests: Sequence[Request], replies: Replies) -> None:
        super().__init__()
        self._left = iter(list(zip(requests, replies, strict=True)))

    def ask(self, name: str, *request: Any) -> Any:
        """See `AskedImplementation.ask`."""
        planned, (header, data) = next(self._left, ((), (b"", b"")))
        if bytes_of(planned) != bytes_of(request):
            raise OffPlan
        return value_of(wire.decode(header, bytearray(data)))

    def operators(self, name: str, args: Sequence[Any], backward: bool) -> Watched:
        """Not asked: how an answer computes is no mark of a mistake. What it returns is."""
        value = self.call(name, args).value
        return Watched(value=value, unwatched=value)

    def names_used(self, name: str) -> frozenset[str]:
        """Not looked at either."""
        return frozenset()


def _error(reply: RawReply) -> str:
    try:
        value_of(wire.decode(reply[0], bytearray(reply[1])))
    except AnswerRaised as error:
        return str(error)
    except (AnswerFault, wire.BadFrame):
        return ""
    return ""


def _not_interrupted(reply: RawReply) -> RawReply:
    """A reply; one that was cut short by the user's interrupt is not kept for an answer."""
    if reply[0].startswith(_INTERRUPTED):
        raise KeyboardInterrupt
    return reply


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """What is warned of in a mistake is for nobody's eyes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
