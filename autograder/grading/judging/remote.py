"""Makes a sandboxed worker look like an implementation: one exercise of one submission.

The worker is replaced after a crash or time-out, so that one answer's end does not take the
others with it.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

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
from ...sandbox.session import Session
from ...submission import Answers
from ...suite.implementation import Gradients, Outcome, Step
from ...suite.names import names_used
from . import replies
from .parts import modules_of, refusal
from .substitution import Lender

#: after so many dead workers a question is not tried again
_MAX_ENDS = 2
_AT_IMPORT = (
    "\nHand in definitions only: take out what tries them, or put it below "
    '`if __name__ == "__main__":`'
)
#: what a forgotten word makes of a function, and which word
_NO_ANSWERS = (
    ("generator", " (this one uses `yield`: write `return`)"),
    ("coroutine", " (this one is `async def`: write `def`)"),
)


class RemoteImplementation:
    """The answers of one exercise, behind the wall. Close it."""

    def __init__(
        self,
        open_worker: Callable[[], Session],
        answers: Answers,
        limits: Limits,
        seed: int,
        lender: Lender | None = None,
        given: tuple[str, ...] = (),
    ) -> None:
        """`given` are the parts that the exercise may import."""
        self._lender = lender
        self._given = given
        self._open_worker = open_worker
        self._answers = answers
        self._limits = limits
        # not itself: a worker does not learn the seed of its inputs
        self._seed = int.from_bytes(hashlib.sha256(f"worker {seed}".encode()).digest()[:4], "big")
        self._session: Session | None = None
        self._load_fault: AnswerFault | None = None
        self._budget = Budget.of(limits)
        self._ends: list[AnswerFault] = []
        self._refusals: dict[str, str | None] = {}
        self.generation = 0
        self.ruled: set[str] = set()  # questions with a rule: a test asks for names that they use

    def begin_question(self, question: str) -> None:
        """A question starts with a full budget, and without what the one before left running."""
        self._budget = Budget.of(self._limits)
        self._ends = []
        if self._session is not None and not self._session.settled:
            self.close()

    def refuse(self, fault: AnswerFault) -> None:
        """Nothing is asked for the question that has begun: each call raises this."""
        self._ends = [fault] * _MAX_ENDS

    def call(self, name: str, args: Sequence[Any]) -> Outcome:
        """See `Implementation.call`."""
        return replies.outcome(self.ask(name, "call", name, list(args)), len(args))

    def gradients(self, name: str, args: Sequence[Any], cotangent: Any) -> Gradients:
        """See `Implementation.gradients`."""
        return replies.gradients(self.ask(name, "gradients", name, list(args), cotangent), args)

    def steps(self, name: str, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Implementation.steps`."""
        return replies.values(self.ask(name, "steps", name, replies.calls(steps)), len(steps))

    def operators(self, name: str, args: Sequence[Any]) -> frozenset[str]:
        """See `Implementation.operators`."""
        reply = self.ask(name, "operators", name, list(args))
        if not isinstance(reply, list) or not all(isinstance(item, str) for item in reply):
            raise AnswerProtocol("the reply is no list of operators")
        return frozenset(reply)

    def names_used(self, name: str) -> frozenset[str]:
        """See `Implementation.names_used`."""
        self.ruled.add(name)
        return names_used(self._answers.text, name)

    def build(self, name: str, args: Sequence[Any]) -> RemoteLayer:
        """See `Implementation.build`."""
        handle = self.ask(name, "build", name, list(args))
        if not isinstance(handle, int):
            raise AnswerProtocol("the reply is no layer")
        return RemoteLayer(self, name, handle, self.generation)

    def ask(self, name: str, *request: Any) -> Any:
        """One request to the worker, on the question's budget."""
        if name in self._answers.broken:
            raise AnswerFault(self._answers.broken[name])
        if text := self._refusal(name):
            raise AnswerForbidden(text)
        if self._load_fault is not None:
            raise copy.copy(self._load_fault)
        if len(self._ends) >= _MAX_ENDS:
            raise copy.copy(self._ends[-1])
        if self._budget.wall <= 0 or self._budget.cpu <= 0:
            raise AnswerTimeout("the time of this question is used up by the tests before")
        session = self._ready()
        try:
            return session.ask(self._budget, *request)
        except AnswerFault as fault:
            self._advise(name, fault)
            if not session.alive:
                self._make_sure_that_it_was_the_answer()
                self._ends.append(copy.copy(fault))
            raise

    def _refusal(self, name: str) -> str | None:
        if name not in self._refusals:
            self._refusals[name] = refusal(self._answers.text, name, self._given)
        return self._refusals[name]

    def _make_sure_that_it_was_the_answer(self) -> None:
        """A worker ends with its parent too: raises `SandboxError` where that gives no other."""
        probe = self._open_worker()
        try:
            probe.ask(Budget.of(self._limits), "load", "probe", "", 0)
        finally:
            probe.close()

    def _advise(self, name: str, fault: AnswerFault) -> None:
        if isinstance(fault, AnswerMissing):
            hint = self._answers.hints.get(name, "was it deleted, or given another name?")
            fault.args = (f"{fault}: {hint}",)
        if isinstance(fault, AnswerProtocol):
            advice = next((text for kind, text in _NO_ANSWERS if kind in str(fault)), "")
            fault.args = (f"{fault}{advice}",)

    def close(self) -> None:
        """Ends the worker."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _ready(self) -> Session:
        if self._session is not None and self._session.alive:
            return self._session
        self.close()
        self._session = self._open_worker()
        self.generation += 1
        parts = [(part.name, part.text, list(part.parts)) for part in modules_of(self._given)]
        request = ("load", self._answers.exercise, self._answers.text, self._seed, parts)
        try:
            self._session.ask(Budget.of_import(self._limits), *request)
            if self._lender is not None:
                self._session.lender = self._lender.answer
                self._session.ask(Budget.of(self._limits), "borrow", list(self._lender.names))
        except AnswerFault as fault:
            if not self._session.alive:
                self._make_sure_that_it_was_the_answer()
            text = f"{self._answers.file} fails when it is imported: {fault}{_AT_IMPORT}"
            # no answer has raised this: a test that asks for an error must not take it for one
            kind = AnswerFault if isinstance(fault, AnswerRaised) else type(fault)
            self._load_fault = kind(text)
            raise copy.copy(self._load_fault) from None
        return self._session


class RemoteLayer:
    """A layer that lives in the worker. See `Layer`."""

    def __init__(
        self, implementation: RemoteImplementation, name: str, handle: int, generation: int
    ) -> None:
        self._implementation = implementation
        self._name = name
        self._handle = handle
        self._generation = generation

    def forward(self, args: Sequence[Any]) -> Outcome:
        """See `Layer.forward`."""
        return replies.outcome(self._ask("forward", list(args)), len(args))

    def gradients(self, args: Sequence[Any], cotangent: Any) -> Gradients:
        """See `Layer.gradients`."""
        return replies.gradients(self._ask("layer_gradients", list(args), cotangent), args)

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Layer.steps`."""
        return replies.values(self._ask("layer_steps", replies.calls(steps)), len(steps))

    def weights(self) -> dict[str, torch.Tensor]:
        """See `Layer.weights`."""
        reply = self._ask("weights")
        if not replies.is_named_tensors(reply):
            raise AnswerProtocol("the reply is no table of weights")
        return dict(reply)

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """See `Layer.load`."""
        self._ask("load_weights", dict(weights))

    def train(self, mode: bool) -> None:
        """See `Layer.train`."""
        self._ask("train", mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """See `Layer.move`."""
        name = None if dtype is None else str(dtype).removeprefix("torch.")
        self._ask("move", name, device)

    def copied(self) -> RemoteLayer:
        """See `Layer.copied`."""
        return self._other("copy")

    def restored(self) -> RemoteLayer:
        """See `Layer.restored`."""
        return self._other("restore")

    def _other(self, operation: str) -> RemoteLayer:
        handle = self._ask(operation)
        if not isinstance(handle, int):
            raise AnswerProtocol("the reply is no layer")
        return RemoteLayer(self._implementation, self._name, handle, self._generation)

    def _ask(self, operation: str, *args: Any) -> Any:
        if self._generation != self._implementation.generation:
            raise AnswerFault("the layer ended with its process")
        return self._implementation.ask(self._name, operation, self._handle, *args)
