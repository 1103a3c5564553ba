"""How a failure reads: the call, what differs, the likely cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import AnswerFault, AnswerNotImplemented, AnswerRaised
from ..worker.execution import tensors_in
from .compare import describe

#: where the test does not know what the cause may be
_TRY_IT = "the code stops at this call: make it by yourself, and see which line stops and why"


class Failures:
    """What fails in one test. A patient one lets the test go on, so that all its calls are made.

    `first` is the failure that counts; in a test that is not patient it is raised at once.
    """

    def __init__(self, patient: bool) -> None:
        self._patient = patient
        self.first: Exception | None = None

    def add(self, failure: Exception) -> None:
        """Takes note of a failure, or raises it."""
        if not self._patient:
            raise failure
        self.first = self.first or failure

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Takes note of what the answer raises; what ends a worker ends the test, too."""
        try:
            yield
        except AnswerRaised as fault:
            self.add(fault)


def message(call: str, text: str, likely: str) -> str:
    """The form of every failure: the call, what differs, the likely cause."""
    return f"{call}:\n{text}" + (f"\nlikely: {likely}" if likely else "")


def not_a_result(fault: str) -> str:
    """What came in place of a result, and that one was expected."""
    return f"got       {fault}\nexpected  a result, and no error"


@contextmanager
def explained(call: str, likely: str) -> Iterator[None]:
    """Puts the call and the likely cause into the message of a fault."""
    try:
        yield
    except AnswerNotImplemented:
        raise
    except AnswerFault as fault:
        fault.args = (message(call, not_a_result(str(fault)), likely or _TRY_IT),)
        raise


def check_raises(
    run: Callable[[], Any],
    fail: Callable[[str, str], None],
    error: type[Exception],
    likely: str,
    naming: str,
) -> None:
    """`run` raises an `AnswerRaised` of that class whose message holds `naming`."""
    try:
        value = run()
    except AnswerRaised as raised:
        if error.__name__ not in raised.bases:
            fail(f"got       {raised}\nexpected  {error.__name__}", likely)
        if naming and naming not in str(raised):
            fail(f"got       {raised}\nexpected  {naming!r} in the message", likely)
        return
    got = describe(value) if tensors_in(value) else "no error"
    fail(f"got       {got}\nexpected  {error.__name__}", likely)
