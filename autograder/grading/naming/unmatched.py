"""Describes a wrong answer that matches no known mistake."""

from __future__ import annotations

from ...suite.raised import kind_of
from .call_facts import CallFacts
from .families.step_tables import CHECK, IN_PLACE
from .families.words import id_of, lead_of, words_of
from .findings import found_by_statistics
from .known import KnownMistakes
from .parameters import SHARED, parameter_sentences
from .probe import ProbeReplies
from .record import OF_GRADIENTS, OFF_PLAN, PASSED, AnswerRecord, Call
from .returned import kind_returned, writes_into_arguments
from .rows import Row
from .unequal_sizes import sizes_that_meet
from .where import told_of, where_right

_PARAMETERS = "Compare `named_parameters()` of your layer with the names and sizes of the question."
_OWN = "Print each name of `named_parameters()` with its `requires_grad`: is it there, and trained?"
_RETURNED = "Print the type and the shape of what comes back, next to what the docstring says."
#: the words for an answer with right values and wrong gradients
GRADIENTS = "all values are right, and gradients are not"
_GRADIENTS = "Which step leaves the gradient out, as `no_grad()`, `.detach()` and `.item()` do?"
#: the number of characters of an id
_LONGEST = 60
_ERRORS = "The message shows the line that stops, and what to do about it."


def unmatched_rows(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns rows about parameters, the type of results, where the answer is right, its errors."""
    return (
        of_parameters(known, question, answers)
        or _of_results(known, question, answers)
        or _of_chance(known, question, answers)
        or _of_calls(known, question, answers)
    )


def of_parameters(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row about wrong parameters of a layer."""
    words, told = parameter_sentences(*_came_and_right(known, question, answers))
    lead = _OWN if words == SHARED else _PARAMETERS
    return [_shown(words, lead, told)] if words else []


def _of_results(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    came, right = _came_and_right(known, question, answers)
    if writes_into_arguments(came, right):
        return [Row.shown(id_of(IN_PLACE), words_of(IN_PLACE), lead_of(IN_PLACE))]
    words, told = kind_returned(came, right)
    return [_shown(words, _RETURNED, told)] if words else []


def _of_chance(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row about random zeros, if nothing else failed."""

    def is_right(test: str) -> bool:
        return answers.answered(test).equals(known.right(question, test))

    # wrong values come first: most answers have some, and then no other test need be run
    tests = sorted(known.tests(question), key=is_right)
    said = (answers.judged(test).words for test in tests)
    words, lead = found_by_statistics(w for w in said if w not in (PASSED, OFF_PLAN))
    return [_shown(words, lead)] if words else []


def _of_calls(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row about where the answer is right; otherwise about its errors, if only those."""
    wrong = _wrong(known, question, answers)
    if wrong and all(o.operation in OF_GRADIENTS and not o.raised for o, _ in wrong):
        return [_shown(GRADIENTS, _GRADIENTS)]
    if wrong and all(asked.raised and not own.raised for own, asked in wrong):
        return [Row.shown(id_of(CHECK), words_of(CHECK), lead_of(CHECK))]
    cases: list[CallFacts] = []
    errors: set[str] = set()
    calls = known.calls(question)
    for test, requests in known.probe(question).requests.items():
        came, right = answers.answered(test).calls, known.right(question, test).calls
        raised = zip(answers.errors(test), came, right, strict=False)
        cases += calls.cases(requests, came, right, answers.errors(test)) if calls else []
        errors |= {e for e, own, asked in raised if own.is_failing(asked) and own.is_asked and e}
    if words := where_right(cases):
        told, lead = told_of(words, cases)
        return [_shown(words, lead, told)]
    only_errors = all(case.is_right or case.is_raised for case in cases)
    if words := kind_of(errors, question) if only_errors else "":
        meet = sizes_that_meet([(c.named_sizes, c.error) for c in cases if c.is_raised])
        told = f"{words}: {meet[0]} in one, {meet[1]} in the other" if meet else words
        return [_shown(words, _ERRORS, told)]
    return []


def _shown(words: str, lead: str, told: str = "") -> Row:
    """Returns a row whose id is the first of the words; `told` is the longer text for a student."""
    name = f"{id_of(words)}_"[:_LONGEST].rpartition("_")[0]
    return Row.shown(name, told or words, lead)


def _wrong(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[tuple[Call, Call]]:
    """Returns the wrong calls, each with the right one."""
    return [
        (own, asked)
        for came, right in zip(*_came_and_right(known, question, answers), strict=True)
        for own, asked in zip(came.calls, right.calls, strict=False)
        if not own.equals(asked)
    ]


def _came_and_right(
    known: KnownMistakes, question: str, answers: ProbeReplies
) -> tuple[list[AnswerRecord], list[AnswerRecord]]:
    tests = known.tests(question)
    return [answers.answered(t) for t in tests], [known.right(question, t) for t in tests]
