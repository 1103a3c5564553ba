"""Checks that questions' rules are stated in their files and enforced by their suites.

A rule forbids a call or promises an error. For each rule, the suite is run with an answer that
breaks the rule but is otherwise correct, and must reject this answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from ...course import Course
from ...course.rules import RULES, NotAllowed, PromisedError, QuestionRules, rules_beside
from ...errors import AnswerForbidden, AnswerRaised
from ...records import Assignment, Exercise
from ...suite.implementation import Outcome, WatchedCall
from ..judging.suites import SuiteRunner, collect_suites

T = TypeVar("T")
#: the seed for the suites' inputs when rules are checked
_SEED = 1


def rule_problems(course: Course, chosen: Sequence[Assignment]) -> Iterator[str]:
    """Yields a sentence for each rule that a suite doesn't check or a file doesn't state.

    Also yields one for each question whose public checks reject the solution. Raises `ContentError`
    for rules or suites that can't be read.
    """
    asked: list[tuple[Exercise, str, QuestionRules]] = []
    for assignment in chosen:
        declared = rules_beside(assignment.exercises[0].hidden_suite)
        yield from _unknown(course, assignment.name, declared)
        asked += [
            (exercise, question.name, declared.get(question.name, QuestionRules()))
            for exercise in assignment.exercises
            for question in exercise.questions
        ]
    suites = dict.fromkeys(s for e, _, _ in asked for s in (e.hidden_suite, e.public_suite))
    runner = collect_suites(course.root, list(suites))
    for exercise, question, rules in asked:
        place = f"{exercise.assignment}/{exercise.name}/{question}"
        if failure := _rejection(runner, exercise.public_suite, question):
            yield f"solution {place}: rejected by {exercise.public_suite}: {failure}"
        for text in _missing(runner, exercise, question, rules):
            yield f"rules of {place}: {text}"


def _rejection(runner: SuiteRunner, suite: Path, question: str) -> BaseException | None:
    """Returns the first failure of the solution in a suite, or None if the suite accepts it."""
    outcome = runner.first_failure(suite, question, runner.solution(suite), _SEED)
    return outcome.failure if outcome is not None else None


def _unknown(course: Course, assignment: str, declared: Iterable[str]) -> Iterator[str]:
    exercises = course.assignment(assignment).exercises
    known = [question.name for exercise in exercises for question in exercise.questions]
    for name in declared:
        if name not in known:
            path = course.root / "source" / assignment / RULES
            yield f"{path}: no question is called {name!r}; use one of: {', '.join(known)}"


def _missing(
    runner: SuiteRunner, exercise: Exercise, question: str, rules: QuestionRules
) -> Iterator[str]:
    for suite in (exercise.hidden_suite, exercise.public_suite):
        if (
            rules.not_allowed
            and not _refuses(runner, suite, question, rules.not_allowed)
            # a test that rejects the solution stops before it looks for forbidden calls
            and not _rejection(runner, suite, question)
        ):
            yield (
                f"{suite} accepts calls that are not allowed: call expect.allowed(..., "
                f"rule=rules_of(__file__)[{question!r}]) in a test"
            )
        for promise in rules.promises:
            answer: Any = _RaisesNothing(runner.solution(suite), promise)
            if runner.first_failure(suite, question, answer, _SEED) is None:
                yield (
                    f"no test in {suite} expects the {promise.error} if {promise.when}: write one "
                    "with expect.raises"
                )
    yield from _missing_statements(exercise, rules)


def _refuses(runner: SuiteRunner, suite: Path, question: str, rule: NotAllowed) -> bool:
    """Returns whether a suite rejects a forbidden call, by name and by operator, with advice."""
    for by_name in (True, False):
        answer: Any = _BreaksRule(runner.solution(suite), rule, by_name)
        outcome = runner.first_failure(suite, question, answer, _SEED)
        failure = outcome.failure if outcome is not None else None
        if not isinstance(failure, AnswerForbidden) or rule.instead not in str(failure):
            return False
    return True


def _missing_statements(exercise: Exercise, rules: QuestionRules) -> Iterator[str]:
    """Yields a sentence for each rule that is missing from a student's files, if these exist."""
    words = [f"{promise.error}: {promise.when}." for promise in rules.promises]
    words += rules.words
    notebook = exercise.stub.with_suffix(".ipynb")
    for path, wanted in ((exercise.stub, words), (notebook, [rules.page])):
        text = " ".join(_text_of(path).split())
        for sentence in wanted if text else ():
            if sentence not in text:
                yield f"{path} does not say {sentence!r}: run `autograder release`"


def _text_of(path: Path) -> str:
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])


class _BreaksRule:
    """Behaves like the solution, but reports a call that a rule forbids."""

    def __init__(self, inner: Any, rule: NotAllowed, by_name: bool) -> None:
        self._inner, self._rule, self._by_name = inner, rule, by_name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def names_used(self, name: str, _: object) -> frozenset[str]:
        names = sorted(self._rule.names) if self._by_name else []
        return frozenset(f"torch.{name}" for name in names[:1])

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        watched: WatchedCall = self._inner.operators(name, args, backward, wanted)
        made = frozenset() if self._by_name else self._rule.operators
        return WatchedCall(made, watched.value, watched.unwatched, watched.failed)


class _RaisesNothing:
    """Behaves like the solution, but does not raise a promised error, even in its layers."""

    def __init__(self, inner: Any, promise: PromisedError) -> None:
        self._inner, self._promise = inner, promise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        return self._quietly(lambda: self._inner.call(name, args, no_grad), _nothing(args))

    def build(self, name: str, args: Sequence[Any]) -> Any:
        layer = self._quietly(lambda: self._inner.build(name, args), self._inner)
        return _RaisesNothing(layer, self._promise)

    def forward(self, args: Sequence[Any], *rest: Any) -> Outcome:
        return self._quietly(lambda: self._inner.forward(args, *rest), _nothing(args))

    def _quietly(self, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except AnswerRaised as fault:
            if self._promise.error not in fault.bases:
                raise
            return otherwise


def _nothing(args: Sequence[Any]) -> Outcome:
    return Outcome(torch.zeros(()), tuple(args))
