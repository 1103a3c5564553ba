"""Provides an `Implementation` that runs an exercise's answers in a sandboxed worker.

The worker is replaced after a crash or timeout, so that one answer's failure does not affect the
others.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import (
    AnswerFault,
    AnswerForbidden,
    AnswerMissing,
    AnswerProtocol,
    AnswerRaised,
    AnswerTimeout,
)
from ...records import Limits
from ...sandbox import Budget
from ...sandbox.replies import Batch, RawReply
from ...sandbox.session import Session
from ...submission import SubmittedExercise
from ...suite.implementation import WatchedCall
from ...suite.names import names_used
from ...worker.operator_watch import THREAD
from .parts import modules_of, refusal
from .requests import RequestImplementation
from .right_answers import ReferenceSubstitution

#: the number of lost workers after which a question is not tried again
_MAX_ENDS = 2
_AT_IMPORT = (
    "\nSubmit definitions only: remove code that tries them out, or put it below "
    '`if __name__ == "__main__":`'
)
#: the kinds of objects that functions return because of a wrong keyword, with advice for each
_NO_ANSWERS = (
    ("generator", " (this one uses `yield`: write `return`)"),
    ("coroutine", " (this one is `async def`: write `def`)"),
)


class RemoteImplementation(RequestImplementation):
    """Calls an exercise's answers in a sandbox; close it after use."""

    def __init__(
        self,
        open_worker: Callable[[], Session],
        answers: SubmittedExercise,
        limits: Limits,
        seed: int,
        substitution: ReferenceSubstitution | None = None,
        given: tuple[str, ...] = (),
    ) -> None:
        """`given` contains the parts that the exercise may import."""
        super().__init__()
        self._substitution = substitution
        self._given = given
        self._open_worker = open_worker
        self._answers = answers
        self._limits = limits
        # derived, so that a worker does not learn the seed of the inputs
        self._seed = int.from_bytes(hashlib.sha256(f"worker {seed}".encode()).digest()[:4], "big")
        self._session: Session | None = None
        self._load_fault: AnswerFault | None = None
        self._budget = Budget.of(limits)
        self._ends: list[AnswerFault] = []
        self._refusals: dict[str, str | None] = {}
        self.ruled: set[str] = set()  # questions for which a test looks at the names in the code
        self._draws = seed
        self._question = ""
        self._seeded = ""
        #: the questions that the worker has answered; each may have left a thread in it
        self._asked_for: set[str] = set()

    def begin_question(self, question: str) -> None:
        """Begins a question with a full budget; ends the worker if it still runs a thread."""
        self._budget = Budget.of(self._limits)
        self._ends = []
        self._question, self._seeded = question, ""
        if self._substitution is not None:
            self._substitution.begin_question(question)
        if self._session is not None and not self._session.idle:
            self.close()

    def refuse(self, fault: AnswerFault) -> None:
        """Refuses all requests for the current question by raising this fault for each."""
        self._ends = [fault] * _MAX_ENDS

    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        self.ruled.add(name)
        apart = self._substitution.names if self._substitution else ()
        return frozenset(filter(is_wanted, names_used(self._answers.text, name, apart)))

    def ask(self, name: str, *request: Any) -> Any:
        """Sends a request to the worker, within the question's budget."""
        self._refuse(name)
        self._refuse_any()
        session = self._ready()
        self._asked_for.add(self._question)
        try:
            if self._seeded != self._question:
                self._seeded = self._question
                session.ask(self._budget, "seed", question_seed(self._draws, self._question))
            return session.ask(self._budget, *request)
        except AnswerFault as fault:
            self._advise(name, fault)
            if not session.alive:
                self._check_that_the_answer_failed()
                self._ends.append(copy.copy(fault))
            raise

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        """Watches a call; repeats it in a new worker if another question may have left a thread."""
        watched = super().operators(name, args, backward, wanted)
        if THREAD in watched.operators and self._asked_for - {self._question}:
            self.close()
            watched = super().operators(name, args, backward, wanted)
        return watched

    def replies(self, batch: Batch, budget: Budget) -> list[RawReply]:
        """Returns the encoded replies to a batch; raises `AnswerFault` if the worker ends."""
        return self._ready().ask_several(budget, batch)

    def _refuse(self, name: str) -> None:
        """Raises an answer's fault if the fault is known without a call."""
        if name in self._answers.broken:
            raise AnswerFault(self._answers.broken[name])
        if text := self._refusal(name):
            raise AnswerForbidden(text)

    def _refuse_any(self) -> None:
        """Raises a fault if the current question has used up its workers or its time."""
        if len(self._ends) >= _MAX_ENDS:
            raise copy.copy(self._ends[-1])
        if self._budget.wall <= 0 or self._budget.cpu <= 0:
            raise AnswerTimeout("earlier tests have used up the time for this question")

    def _refusal(self, name: str) -> str | None:
        if name not in self._refusals:
            self._refusals[name] = refusal(self._answers.text, name, self._given)
        return self._refusals[name]

    def _check_that_the_answer_failed(self) -> None:
        """Starts a new worker; if the fork server has ended, this raises `SandboxError`."""
        probe = self._open_worker()
        try:
            probe.ask(Budget.of(self._limits), "load", "probe", "", 0)
        finally:
            probe.close()

    def _advise(self, name: str, fault: AnswerFault) -> None:
        if isinstance(fault, AnswerMissing):
            hint = self._answers.hints.get(name, "was it deleted or renamed?")
            fault.args = (f"{fault}: {hint}",)
        if isinstance(fault, AnswerProtocol):
            advice = next((text for kind, text in _NO_ANSWERS if kind in str(fault)), "")
            fault.args = (f"{fault}{advice}",)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _ready(self) -> Session:
        if self._load_fault is not None:
            raise copy.copy(self._load_fault)
        if self._session is not None and self._session.alive:
            return self._session
        self.close()
        self._session = self._open_worker()
        self.generation += 1
        self._seeded = ""
        self._asked_for = set()
        parts = [(part.name, part.text, list(part.parts)) for part in modules_of(self._given)]
        answers, substitution = self._answers, self._substitution
        substituted = substitution.names if substitution else ()
        if substitution is not None:
            self._session.substitute = substitution.answer
        request = (
            *("load", answers.exercise, answers.text, self._seed, parts),
            *(list(answers.questions), statement_seconds(self._limits), list(substituted)),
        )
        try:
            self._session.ask(Budget.of_import(self._limits), *request)
        except AnswerFault as fault:
            if not self._session.alive:
                self._check_that_the_answer_failed()
            text = f"{self._answers.file} fails when it is imported: {fault}{_AT_IMPORT}"
            # No answer has raised this error, so a test that expects an error must not accept it.
            kind = AnswerFault if isinstance(fault, AnswerRaised) else type(fault)
            self._load_fault = kind(text)
            raise copy.copy(self._load_fault) from None
        return self._session


def statement_seconds(limits: Limits) -> list[float]:
    """Returns two CPU time limits: for statements that no answer needs, and for all others."""
    return [limits.cpu_seconds / 10, min(limits.wall_seconds, limits.cpu_seconds)]


def question_seed(seed: int, question: str) -> int:
    """Returns a seed for an answer's own random numbers that does not reveal the inputs' seed.

    With this seed, equal answers draw equal numbers, no matter what earlier answers have drawn.
    """
    text = f"worker {seed} {question}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
