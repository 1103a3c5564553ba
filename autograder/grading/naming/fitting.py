"""Which known mistakes explain what was answered: all of it, two at once, or most of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from .answered import Answered
from .answers import Answers
from .by_itself import by_itself, of_parameters
from .explained import Explained, explained, wrong_values
from .families import OF_SIZES, is_plain, is_small
from .known import KnownMistakes
from .mistake import Mistake
from .pairs import evidence, likely_pairs, wrong_calls

#: requests whose answers say which pairs are likely; mistakes whose samples are compared
_REQUESTS, _LIKELY = 40, 8
#: of a mistake that does not explain every value
_NOTE = " Something else may be wrong as well."
#: how often a stochastic misconception is asked the same: a kind of answer that it
#: gives with probability q is met before with 1 - (1 - q)^n
_SAMPLES = 8
#: the same before figures are called too far off
_MORE_SAMPLES = 40


@dataclass(frozen=True, slots=True)
class Found:
    """The mistakes that explain an answer, whatever its code says; `note` says what they leave."""

    catalogue: Sequence[Mistake]
    members: Sequence[Mistake] = ()
    note: str = ""


class Fitting:
    """Compares answers to one exercise with its known mistakes."""

    def __init__(self, known: KnownMistakes) -> None:
        self._known = known

    def of_sizes(self, question: str, answers: Answers) -> list[Mistake]:
        """Sizes that explain errors alone, where nothing else does and some calls are right."""
        known = self._known
        tests = known.tests(question)
        if not any(answers.answered(t).is_partly_right(known.right(question, t)) for t in tests):
            return []
        members = known.family_members(question)
        found = [m for m in members if all(self._equals(m, t, answers, False) for t in tests)]
        sizes = [mistake for mistake in found if mistake.name == OF_SIZES]
        return sizes if all(is_small(mistake.rank) for mistake in found) else []

    def fails_alike(self, mistake: Mistake, answers: Answers) -> bool:
        """Whether tests say the same of a mistake and an answer that is hardly wrong."""
        return all(
            self._known.judged(mistake, test).words == answers.judged(test).words
            for test in self._known.tests(mistake.question)
        )

    def fitting(
        self, question: str, mistakes: Sequence[Mistake], answers: Answers
    ) -> list[Mistake]:
        """The mistakes that answer alike; where none does, by chance, or but for edges."""
        right = {
            test: answers.answered(test).equals(self._known.right(question, test))
            for test in self._known.tests(question)
        }
        # wrong tests first: most mistakes part there
        tests = sorted(right, key=lambda test: right[test])
        stochastic = [m for m in mistakes if m.is_stochastic]
        return (
            [m for m in mistakes if all(self._equals(m, t, answers, False) for t in tests)]
            or [m for m in stochastic if all(self._fits(m, t, answers, False) for t in tests)]
            or self._closest(tests, mistakes, answers)
        )

    def _closest(
        self, tests: Sequence[str], mistakes: Sequence[Mistake], answers: Answers
    ) -> list[Mistake]:
        """Of those that answer alike but for edges, those that do so in the most calls."""
        fitting = [m for m in mistakes if all(self._fits(m, t, answers, True) for t in tests)]
        calls = [self._alike_calls(mistake, tests, answers) for mistake in fitting]
        return [m for m, alike in zip(fitting, calls, strict=True) if 0 < alike == max(calls)]

    def _alike_calls(self, mistake: Mistake, tests: Sequence[str], answers: Answers) -> int:
        """In how many calls a mistake answers alike; 0 where that is not most of them.

        And where no wrong value says that it does.
        """
        known = self._known
        pairs = {test: (known.answered(mistake, test), answers.answered(test)) for test in tests}
        if not any(
            known.is_stochastic(mistake, test)
            or own.shares_a_mistake_with(answer, known.right(mistake.question, test))
            for test, (own, answer) in pairs.items()
        ):
            return 0
        alike = sum(own.alike_calls(answer) for own, answer in pairs.values())
        return alike if 2 * alike > sum(len(own.calls) for own, _ in pairs.values()) else 0

    def most(self, question: str, answers: Answers) -> Found:
        """Two mistakes that explain all together, else those that explain the most."""
        catalogue = self._known.catalogue(question)
        plain = [m for m in self._known.family_members(question) if is_plain(m.rank)]
        pairs = self._pairs(question, plain, answers)
        if pairs:
            return Found([], pairs)
        shown = of_parameters(self._known, question, answers)
        if shown:
            return Found([], shown)
        hopes = {m: self._explained(m, answers, True) for m in (*catalogue, *plain)}
        likely = sorted((m for m in hopes if hopes[m].is_most), key=lambda m: -hopes[m].margin)
        found = {m: self._explained(m, answers, False) for m in likely[:_LIKELY]}
        best = max((e.margin for e in found.values() if e.is_most), default=0)
        most = {m for m, e in found.items() if e.is_most and e.margin == best}
        if not most:
            return Found([], by_itself(self._known, question, answers))
        return Found(
            [m for m in catalogue if m in most],
            [m for m in plain if m in most],
            "" if all(found[m].is_all for m in most) else _NOTE,
        )

    def _pairs(self, question: str, members: Sequence[Mistake], answers: Answers) -> list[Mistake]:
        """Two members that explain all together; short tests say which are likely."""
        known, tests = self._known, self._known.tests(question)
        short = self._short(question, answers)
        came, right = self._all(short, question, answers)
        found = {m: evidence([known.answered(m, t) for t in short], came, right) for m in members}
        pairs = likely_pairs(found, wrong_calls(came, right))
        return [pair for pair in pairs if all(self._equals(pair, t, answers, False) for t in tests)]

    def _short(self, question: str, answers: Answers) -> list[str]:
        """Wrong tests that many mistakes can be asked: the shortest, up to so many requests."""
        known, requests = self._known, self._known.probe(question).requests
        wrong = [
            test
            for test in sorted(requests, key=lambda test: len(requests[test]))
            if wrong_values(answers.answered(test), known.right(question, test))
        ]
        ends = accumulate(len(requests[test]) for test in wrong)
        return [test for test, end in zip(wrong, ends, strict=True) if end <= _REQUESTS]

    def _all(
        self, tests: Sequence[str], question: str, answers: Answers
    ) -> tuple[list[Answered], list[Answered]]:
        """What came in some tests, and what is right."""
        right = [self._known.right(question, test) for test in tests]
        return [answers.answered(test) for test in tests], right

    def _explained(self, mistake: Mistake, answers: Answers, hopes: bool) -> Explained:
        """How far a mistake explains what is wrong; nothing as soon as it can't be most of it.

        With `hopes`, all of a test in which it draws random numbers: samples are compared later.
        """
        known, whole = self._known, Explained()
        right = {
            test: known.right(mistake.question, test) for test in known.tests(mistake.question)
        }
        wrong = {test: wrong_values(answers.answered(test), right[test]) for test in right}
        left = sum(wrong.values())
        for test in sorted(right, key=lambda test: -wrong[test]):
            own, answer = known.answered(mistake, test), answers.answered(test)
            if not len(answer.calls) == len(own.calls) == len(right[test].calls):
                return Explained()
            found = explained(answer, own, right[test])
            if found.against and (
                known.draws_in(mistake, test) if hopes else self._fits(mistake, test, answers, True)
            ):
                found = Explained(wrong[test])
            whole, left = whole + found, left - wrong[test]
            if not (whole + Explained(left)).is_most:
                return Explained()
        return whole

    def _equals(self, mistake: Mistake, test: str, answers: Answers, edges: bool) -> bool:
        """Whether a mistake answers so; with `edges`, but for errors."""
        own, answer = self._known.answered(mistake, test), answers.answered(test)
        right = self._known.right(mistake.question, test)
        return own.equals(answer) or (edges and own.is_alike_but_for_edges(answer, right))

    def _fits(self, mistake: Mistake, test: str, answers: Answers, edges: bool) -> bool:
        """Whether a mistake answers so, or may, where it answers by chance."""
        return self._equals(mistake, test, answers, edges) or (
            self._known.may_answer_in_that_form(mistake, test, answers.answered(test))
            and self._known.is_stochastic(mistake, test)
            and self._may_be_right(mistake, test, answers)
            and self._may_be_a_sample(mistake, test, answers.judged(test))
        )

    def _may_be_right(self, mistake: Mistake, test: str, answers: Answers) -> bool:
        """Whether some sample is right wherever an answer is: what never is differs."""
        came, right = answers.answered(test).calls, self._known.right(mistake.question, test).calls
        samples = [self._known.answered(mistake, test, time).calls for time in range(_SAMPLES)]
        return all(
            any(drawn.equals(asked) for drawn in here)
            for own, asked, *here in zip(came, right, *samples, strict=False)
            if own.equals(asked)
        )

    def _may_be_a_sample(self, mistake: Mistake, test: str, answer: Answered) -> bool:
        """Whether a stochastic mistake may have given this answer."""
        for times in (_SAMPLES, _MORE_SAMPLES):
            samples = [self._known.judged(mistake, test, n) for n in range(times)]
            if all(sample.signature != answer.signature for sample in samples):
                return False
            if answer.is_among(samples):
                return True
        return False
