"""Calls that a question does not allow: by operator for the verdict, by name for the message."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import AnswerForbidden

#: ways around every rule: what is called there is not seen, or is the function written out
_AROUND = (
    *("torch._refs", "torch._decomp", "torch._prims", "torch._inductor.decomposition"),
    *("threading", "_thread", "concurrent.futures", "multiprocessing", "torch.multiprocessing"),
    *("torch.jit.fork", "torch.jit._fork", "torch.futures"),
)


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The calls that one question rules out, and what is meant instead.

    `operators` are exact names as torch dispatches them (`aten::_softmax`). `names` are the last
    parts of dotted torch names in source (`softmax` finds `torch.softmax`, `F.softmax` and
    `scores.softmax`, `getattr(torch, "softmax")`). Whatever the rule, an answer under it starts no
    thread or process and calls none of torch's own reference implementations and decompositions.
    """

    operators: frozenset[str]
    names: frozenset[str]
    instead: str

    def check(self, question: str, operators: frozenset[str], names: frozenset[str]) -> None:
        """Raises `AnswerForbidden` if a ruled-out call was written or dispatched."""
        written = sorted(name for name in names if self._rules_out(name))
        dispatched = sorted(operators & self.operators)
        if not written and not dispatched:
            return
        found = written[0] if written else f"the operator {dispatched[0]}"
        raise AnswerForbidden(
            f"{question}: your code uses {found}, which this question does not allow.\n"
            f"next step: {self.instead}"
        )

    def _rules_out(self, name: str) -> bool:
        around = any(name == way or name.startswith(f"{way}.") for way in _AROUND)
        return around or name.rsplit(".", 1)[-1] in self.names
