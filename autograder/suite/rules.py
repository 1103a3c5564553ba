"""Calls that a question does not allow: by operator for the verdict, by name for the message."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import AnswerForbidden


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The calls that one question rules out, and what is meant instead.

    `operators` are exact names as torch dispatches them (`aten::_softmax`). `names` are the last
    parts of dotted torch names in source (`softmax` finds `torch.softmax`, `F.softmax` and
    `scores.softmax`).
    """

    operators: frozenset[str]
    names: frozenset[str]
    instead: str

    def check(self, question: str, operators: frozenset[str], names: frozenset[str]) -> None:
        """Raises `AnswerForbidden` if a ruled-out call was written or dispatched."""
        written = sorted(name for name in names if name.rsplit(".", 1)[-1] in self.names)
        dispatched = sorted(operators & self.operators)
        if not written and not dispatched:
            return
        found = written[0] if written else f"the operator {dispatched[0]}"
        raise AnswerForbidden(
            f"{question}: your code uses {found}, which this question does not allow.\n"
            f"next step: {self.instead}"
        )
