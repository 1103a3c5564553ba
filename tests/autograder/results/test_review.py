"""Results that need a person's attention have a reason, such as an error in every question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import autograder
from autograder.records import Verdict
from autograder.results.review import never_ran, reasons_to_look, unsettled_places
from autograder.results.unnamed import unnamed_in

MakeResult = Callable[..., autograder.SubmissionResult]


def stopped(result: autograder.SubmissionResult, *places: int) -> autograder.SubmissionResult:
    """Returns a result in which these questions of the first exercise ended with an error."""
    first, *others = result.exercises
    questions = tuple(
        replace(question, verdict=Verdict.ERROR, behaviour="sha256:1", misconception=None)
        if place in places
        else question
        for place, question in enumerate(first.questions)
    )
    return replace(result, exercises=(replace(first, questions=questions), *others))


def test_one_line_that_ends_all_questions_is_not_a_mistake(
    make_result: MakeResult,
) -> None:
    every = stopped(make_result("ada", (0.0, 0.0, 2.0)), 0, 1)
    assert never_ran(every.exercises[0])
    assert reasons_to_look(every) == (
        "masking: every question stopped with an error; is a single line the cause?",
    )
    assert list(unnamed_in([every])) == []
    one = stopped(make_result("ada", (0.0, 2.0, 2.0)), 0)
    assert reasons_to_look(one) == ()
    assert [found.question.question for found in unnamed_in([one])] == ["causal_mask"]


def test_an_unused_upload_is_a_reason_to_look(make_result: MakeResult) -> None:
    note = "look at homework1.pdf: nothing in it was used"
    found = replace(make_result("ada"), notes=(note, "something else"))
    assert reasons_to_look(found) == (note,)


def test_a_reason_waits_until_a_person_has_acted(make_result: MakeResult) -> None:
    first, *others = make_result("ada").exercises
    slow, right = first.questions
    slow = replace(slow, verdict=Verdict.TIMEOUT)
    found = replace(
        make_result("ada"), exercises=(replace(first, questions=(slow, right)), *others)
    )
    place, other = ("masking", slow.question), ("dropout", "dropout")
    assert unsettled_places(found) == (place,)
    assert unsettled_places(found, {found.key: [("masking", right.question), other]}) == (place,)
    assert unsettled_places(found, {found.key: [place]}) == ()
    assert reasons_to_look(found) and not reasons_to_look(found, {found.key: [place]})
    unused = replace(make_result("ada"), notes=("look at homework1.pdf: nothing in it was used",))
    assert unsettled_places(unused) == ((),)
    assert unsettled_places(unused, {unused.key: [other]}) == ()
    assert unsettled_places(make_result("ada")) == ()
