"""Defines the parts of a failed test's message; only this module formats them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

#: the last line of a message begins with one of these
LIKELY, NEXT_STEP, REMEMBER = "likely: ", "next step: ", "remember: "
STEPS = (LIKELY, NEXT_STEP, REMEMBER)
_GOT, _EXPECTED = "got       ", "expected  "
NO_ERROR = "a result, and no error"


class ExpectationKind(enum.Enum):
    """The kind of expectation in a test, on which the failure's message depends."""

    #: a value or a gradient equals a given one
    VALUE = "value"
    #: a value has a property
    PROPERTY = "property"
    #: a call raises an error
    ERROR = "error"
    #: weights have certain names and sizes
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a student's own code: its place (`scores.py:23`), its function and its source."""

    where: str
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class Message:
    """The parts of a failed test's message.

    `call` is the call with shapes instead of tensors; `differs` contains the lines from
    `got_expected`, perhaps after other lines; `relation` is one sentence about both values; `step`
    begins with one of `STEPS`; `places` contains lines in the student's own code where an error was
    raised. Failures with the same `cause`, if it is not empty, share one message.
    """

    call: str
    differs: str
    step: str = ""
    relation: str = ""
    places: tuple[CodeLine, ...] = ()
    cause: str = ""
    about: ExpectationKind = ExpectationKind.VALUE

    def __str__(self) -> str:
        """Return the relation, the call, the difference with its places, and the next step."""
        lines = self.differs.splitlines()
        end = next((n for n, line in enumerate(lines) if line.startswith(_EXPECTED)), len(lines))
        lines[end:end] = place_lines(self.places)
        first = [_sentence(self.relation)] if self.relation else []
        call = [f"{self.call}:"] if self.call else []
        return "\n".join([*first, *call, *lines, *[self.step] * bool(self.step)])


def got_expected(got: str, expected: str) -> str:
    """Return the two lines that show a difference."""
    return f"{_GOT}{got}\n{_EXPECTED}{expected}"


def place_lines(places: tuple[CodeLine, ...]) -> list[str]:
    """Return one line for each place: file and line, function, and the source line."""
    words = ["at       "] if len(places) < 2 else ["called at", "raised at"]
    return [
        f"{word} {place.where}{f' in {place.function}' * bool(place.function)}: {place.source}"
        for word, place in zip(words, places, strict=False)
    ]


def short_message(text: str) -> str:
    """Return a message without the sentence before the call, and without the next step."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.endswith(":")), 0)
    kept = (line for line in lines[start:] if not line.startswith((*STEPS, "(the same in ")))
    return "\n".join(kept)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith("?") else ".")
