"""Finds and names the known mistake that explains a wrong answer.

A wrong answer is called again, with inputs that depend only on the suite (the probe). A table
contains each known mistake's results for the same requests. If a mistake has the same results as
the answer for all requests, the answer is given this mistake's name. If no catalog entry fits, the
next candidates are a single change to the solution (a member of a family), then two changes
together, and then mistakes that explain only some of the wrong calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...course import Course
from ...records import Exercise, QuestionResult, Verdict
from ...suite.variants import Variant
from ..judging.suites import SuiteRunner
from .asked_again import AskedAgain
from .changed_entries import AskText
from .families.step_tables import CUT
from .known import KnownMistakes
from .pairs import pair
from .partly import PartialSearch
from .probe import Ask, ProbeReplies
from .record import behaviour_of
from .rows import Row, name_and_hint
from .search import Search, SearchResult
from .unmatched import described_rows, of_causes, of_parameters, unmatched_rows

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)


@dataclass(slots=True)
class _Explanation:
    behaviour: str
    entries: Sequence[Row]
    others: SearchResult | None = None


class Diagnosis:
    """Diagnoses answers to an exercise's questions.

    Answers with equal replies are diagnosed only once.
    """

    def __init__(
        self, runner: SuiteRunner, course: Course, exercise: Exercise, ask_text: AskText
    ) -> None:
        """`ask_text` executes catalog entries when a table is made."""
        self._exercise = exercise
        self._known = KnownMistakes(runner, course, exercise, ask_text)
        self._diagnosed: dict[tuple[str, bytes], _Explanation] = {}

    def prepare(self, result: QuestionResult) -> None:
        """Makes the table that is needed to diagnose a result; this may take a while."""
        if result.verdict in _DIAGNOSED:
            self._known.table(result.question)

    def may_keep_draws(self, result: QuestionResult) -> bool:
        """Returns whether an answer may have kept random numbers from earlier calls.

        This is assumed to be possible if any known mistake for the question draws random numbers.
        """
        return result.verdict in _DIAGNOSED and bool(self._known.table(result.question).samples)

    def explain(self, result: QuestionResult, ask: Ask, text: str) -> QuestionResult:
        """Adds the answer's behavior to a result and, if a known mistake fits, the mistake's name.

        `text` is the source code of the answer's module. If a catalog entry's description quotes
        names, the entry is reported only if this code contains one of these names.
        """
        if result.verdict not in _DIAGNOSED:
            return result
        probe = self._known.probe(result.question)
        replies = ask(probe.batch)
        if replies is None:
            return result
        asked = ProbeReplies(probe, replies, ask)
        name, hint, behaviour = self.diagnose(result.question, asked, text)
        if not name:
            again = AskedAgain(self._known, result.question, asked)
            rows = again.rows() or of_causes(self._known, result.question, asked, beside=True)
            if rows:
                name, hint = name_and_hint((), rows)
        misconception = f"{self._exercise.name}.{name}" if name else None
        return replace(result, misconception=misconception, hint=hint or None, behaviour=behaviour)

    def named(self, variant: Variant, time: int = 0) -> str | None:
        """Diagnoses the code of a known mistake; returns the name that is found for it, or None.

        The random numbers are different for each `time`.
        """
        replies = self._known.entry_replies(variant, (time,))
        if not replies:
            return None
        ask = partial(self._known.ask_entry, variant)
        asked = ProbeReplies(self._known.probe(variant.question), replies, ask)
        name = self.diagnose(variant.question, asked, "")[0]
        return f"{self._exercise.name}.{name}" if name else None

    def alike(self, question: str, name: str) -> tuple[tuple[str, ...], bool]:
        """Returns misconceptions with the same results as `name`, and whether their hints agree."""
        table = self._known.table(question)
        numbers = [n for n, row in enumerate(table.rows) if row.is_entry and row.name == name]
        found = table.entries_like(numbers[0]) if numbers else []
        return tuple(row.name for row in found), len({row.hint for row in found}) <= 1

    def is_stochastic(self, variant: Variant) -> bool:
        """Returns whether a misconception draws random numbers when it is called."""
        table = self._known.table(variant.question)
        return any(table.rows[row].name == variant.name for row, _ in table.samples)

    def diagnose(self, question: str, asked: ProbeReplies, text: str) -> tuple[str, str, str]:
        """Returns an answer's name, hint and behavior."""
        key = question, asked.digest
        search = None
        if key not in self._diagnosed:
            tests = {test: asked.answered(test) for test in self._known.tests(question)}
            search = self._search(question, asked)
            self._diagnosed[key] = _Explanation(behaviour_of(tests), search.entries())
        known = self._diagnosed[key]
        spoken_of = [row for row in known.entries if not text or row.is_spoken_of_in(text)]
        if spoken_of:
            return *name_and_hint(spoken_of, ()), known.behaviour
        if known.others is None:
            search = search or self._search(question, asked)
            known.others = self._others(question, asked, search, known.entries)
        name, hint = name_and_hint(known.others.entries, known.others.members)
        return name, hint and f"{hint}{known.others.note}", known.behaviour

    def _search(self, question: str, answers: ProbeReplies) -> Search:
        ask = partial(self._known.of_member, question)
        return Search(self._known.table(question), self._known.columns(question), answers, ask)

    def _others(
        self, question: str, asked: ProbeReplies, search: Search, entries: Sequence[Row]
    ) -> SearchResult:
        """Returns family members, partial explanations, or a description of the answer's results.

        These rows are needed even if catalog entries fit, because an entry is not reported if the
        code contains none of the names that the entry's description quotes.
        """
        if search.is_right:
            return SearchResult()
        known, shown = self._known, partial(unmatched_rows, self._known, question, asked)
        pairs = [(asked.answered(t), known.right(question, t)) for t in known.tests(question)]
        if not any(answer.has_another_value_than(right) for answer, right in pairs):
            return SearchResult((), () if entries else shown())
        members, parameters = search.members(), of_parameters(known, question, asked)
        # a tensor that is not a parameter has no gradient either, and was not passed to `Parameter`
        if any(row.name == CUT or row.is_vague for row in members):
            members = parameters or members
        if entries or name_and_hint((), members)[0]:  # all members have one name
            return SearchResult((), members)
        causes = of_causes(known, question, asked)
        ask, changed = partial(known.of_pair, question), known.changed_entries(question)
        both = () if members else pair(search, ask, changed)  # a single mistake explains everything
        members = causes or both or parameters
        if members:
            return SearchResult((), members)
        part = PartialSearch(search)
        found = part.found()
        if not (found.entries or found.members):
            return SearchResult((), shown())
        described = () if part.is_most else described_rows(known, question, asked)
        return SearchResult((), described) if described else found
