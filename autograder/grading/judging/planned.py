"""Sends all requests of an exercise at once; its tests then run over the recorded replies.

Calls that are not in the plan are made one by one, as without a plan: a worker that fails the batch
in any way is abandoned, and a test that asks for anything else begins again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import AnswerFault, AnswerRaised
from ...records import Limits
from ...sandbox import Budget
from ...sandbox.replies import RawReply, value_of
from ...sandbox.session import Session
from ...submission import SubmittedExercise
from ...worker import wire
from ...worker.operator_watch import THREAD
from .plan import Plan, TestPlan, bytes_of
from .remote import RemoteImplementation
from .right_answers import ReferenceSubstitution
from .verdicts import TestOutcome

#: CPU seconds that all questions together may take, in addition to what the solution took, times
#: this many. It is enough for loops over every number, which take up to 3 s; asked again call by
#: call, they take twice that. It is a third of what an endless loop takes anyway
_CPU_SECONDS, _TIMES = 3.0, 4.0
#: the beginnings of replies that depend only on the request and the code; others report a limit, or
#: get a hint about the submission
_PLAIN = (b'{"U": ["ok", ', b'{"U": ["raised", ')
_MISSING = b'{"U": ["missing", '
_A_THREAD = THREAD.encode()


class RequestNotPlanned(BaseException):
    """A test asks for something that is not in the plan; it must run again, call by call."""


class PlannedImplementation(RemoteImplementation):
    """The answers of one exercise, asked according to a plan. Close it after use."""

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
        """`given` are the parts that the exercise may import."""
        super().__init__(open_worker, answers, limits, seed, substitution, given)
        self._plan = plan
        self._replies: Sequence[RawReply] | None = None
        self._asked = False
        #: digests of requests that were made one by one with their replies; None if one reported a
        #: limit
        self._apart: list[bytes] | None = []
        self._test: TestPlan | None = None
        self._next = 0

    def begin_question(self, question: str) -> None:
        """See `RemoteImplementation.begin_question`."""
        super().begin_question(question)
        if not self._asked:
            self._asked = True
            self._replies = self._all_replies()

    def begin_test(self, test: str) -> None:
        """Begins a test; the next calls are part of it."""
        super().begin_test(test)
        self._next = 0
        self._test = None
        if self._replies is not None and not self._ends:
            self._test = self._plan.tests.get((self._question, test))

    def leave_plan(self) -> None:
        """Lets the current test make each call separately."""
        self._test = None

    def passed(self) -> TestOutcome | None:
        """Returns the outcome of the test if the replies agree with the solution's."""
        if self._test is None or self._test.agreement is None or self._replies is None:
            return None
        if any(map(self._fails, self._test.asks)):
            return None
        start = self._test.start
        replies = self._replies[start : start + len(self._test.requests)]
        return self._test.passed if self._test.agreement.holds(replies) else None

    def digest(self) -> bytes | None:
        """Returns a digest of everything the test's outcome depends on; None if that is unknown."""
        if self._test is None or self._replies is None or any(map(self._fails, self._test.asks)):
            return None
        digest = hashlib.blake2b(digest_size=16)
        start = self._test.start
        for header, data in self._replies[start : start + len(self._test.requests)]:
            if not header.startswith(_PLAIN):
                return None
            digest.update(header)
            digest.update(data)
        for name in sorted(self._test.names):
            digest.update(repr(sorted(self.names_used(name))).encode())
        return digest.digest()

    def replies_hash(self) -> int | None:
        """Returns a hash of all replies; None if they depend on more than the submitted text."""
        if self._replies is None or self._apart is None:
            return None
        if not all(header.startswith((*_PLAIN, _MISSING)) for header, _ in self._replies):
            return None
        return hash((*self._replies, *self._apart))

    def _fails(self, name: str) -> bool:
        try:
            self._refuse(name)
        except AnswerFault:
            return True
        return False

    def ask(self, name: str, *request: Any) -> Any:
        """See `AskedImplementation.ask`."""
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
        except wire.BadFrame:  # answers that return such data are asked again, in a fresh worker
            self.close()
            self._replies = None
            raise RequestNotPlanned from None
        except AnswerFault as fault:
            self._advise(name, fault)
            raise

    def _ask_apart(self, name: str, request: tuple[Any, ...]) -> Any:
        """Makes one request that is not in the plan, and remembers its reply."""
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
        """Returns the replies to the whole plan; None if anything unusual happens."""
        cpu = _CPU_SECONDS + _TIMES * self._plan.cpu_seconds
        budget = Budget(self._limits.wall_seconds, min(cpu, self._limits.cpu_seconds))
        try:
            replies = self.replies(self._plan.batch, budget)
        except AnswerFault:
            self.close()
            return None
        is_idle = self._session is not None and self._session.idle
        # A thread may have been started by another question; only a separate worker can tell.
        if is_idle and not any(_A_THREAD in header for header, _ in replies):
            return replies
        self.close()
        return None
