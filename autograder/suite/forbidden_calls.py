"""Calls that a question does not allow: operators decide the verdict, names the message.

A call under a rule is made twice, watched and unwatched: both must return the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..course.rules import rules_beside
from ..errors import AnswerForbidden, AnswerRaised
from ..worker.execution import tensors_in
from ..worker.operator_watch import THREAD
from .compare import difference
from .implementation import Outcome, WatchedCall

#: ways around every rule: calls made there are not seen, or are the function written out
_AROUND = (
    *("torch._refs", "torch._decomp", "torch._prims", "torch._inductor.decomposition"),
    *("threading", "_thread", "concurrent.futures", "multiprocessing", "torch.multiprocessing"),
    *("torch.jit.fork", "torch.jit._fork", "torch.futures"),
)


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The calls that one question does not allow, and the calls to use instead.

    `operators` are exact names as torch dispatches them (`aten::_softmax`), and torch functions
    that are not operators (`torch.nn.functional::multi_head_attention_forward`). `names` are the
    last parts of dotted torch names in source (`softmax` finds `torch.softmax`, `F.softmax`,
    `scores.softmax` and `getattr(torch, "softmax")`). Under any rule, an answer may not start a
    thread or process, or call torch's own reference implementations and decompositions.
    """

    operators: frozenset[str]
    names: frozenset[str]
    instead: str

    def check(
        self,
        question: str,
        operators: frozenset[str],
        names: frozenset[str],
        differs: bool = False,
    ) -> None:
        """Raise `AnswerForbidden` if a forbidden call was written or dispatched.

        Also raise it if a thread was started, or if an answer `differs` because it was watched.
        """
        found = self._found(operators, names)
        if found is None and differs:
            found = "answers otherwise while the calls that it makes are watched"
        if found is not None:
            raise AnswerForbidden(
                f"{question}: your code {found}, which this question does not allow.\n"
                f"next step: {self.instead}"
            )

    def _found(self, operators: frozenset[str], names: frozenset[str]) -> str | None:
        written = sorted(name for name in names if self._rules_out(name))
        dispatched = sorted(operators & self.operators)
        if written:
            return f"uses {written[0]}"
        if dispatched:
            return f"uses the operator {dispatched[0]}"
        return "starts a thread" if THREAD in operators else None

    def _rules_out(self, name: str) -> bool:
        around = any(name == way or name.startswith(f"{way}.") for way in _AROUND)
        return around or name.rsplit(".", 1)[-1] in self.names


def rules_of(suite: str) -> Mapping[str, Forbidden]:
    """Return the forbidden calls of each question, for a suite that passes its `__file__`.

    They are declared once, in `rules.toml`: see `course.rules`.
    """
    declared = {name: rules.not_allowed for name, rules in rules_beside(Path(suite)).items()}
    return {
        name: Forbidden(rule.operators, rule.names, rule.instead)
        for name, rule in declared.items()
        if rule is not None
    }


def watched(watch: Callable[[], tuple[list[str], Any]], call: Callable[[], Outcome]) -> WatchedCall:
    """Return the record of a watched call, and the result of the same call unwatched.

    Raises what `call` raises.
    """
    try:
        operators, value = watch()
    except AnswerRaised:
        return WatchedCall(unwatched=call().value, failed=True)
    return WatchedCall(frozenset(operators), value, call().value)


def differs(watched: WatchedCall, call: Callable[[], Any]) -> bool:
    """Return whether an answer behaves differently only while it is watched, and not at random.

    `call` makes the call again; it is used only if there is a difference.
    """
    if not watched.failed and (
        not tensors_in(watched.unwatched) or _same(watched.value, watched.unwatched)
    ):
        return False
    try:
        again = call()
    except AnswerRaised:
        return False
    return watched.failed or _same(again, watched.unwatched)


def _same(one: Any, other: Any) -> bool:
    return difference(one, other) is None
