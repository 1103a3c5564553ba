"""The supplied parts behave as their questions require, but are not accepted as answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from autograder import parts
from autograder.course import Course, load_course
from autograder.grading.judging.parts import modules_of, parts_given, refusal
from autograder.grading.validation.cases import cases_of, part_texts
from autograder.suite import load_module

ROOT = Path(__file__).parents[3]
SOLUTIONS = ROOT / "solutions"


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.mark.parametrize(
    ("part", "assignment", "arguments"),
    [
        ("CausalAttention", "causal_attention", (6, 4, 7, 0.0, True)),
        ("MultiHeadSelfAttention", "transformer_block", (6, 3)),
    ],
)
def test_a_class_computes_what_its_solution_does(
    part: str, assignment: str, arguments: tuple[object, ...]
) -> None:
    (file,) = (SOLUTIONS / assignment).glob(f"{parts._MODULES[part]}.py")
    layer = getattr(parts, part)(*arguments).double()
    reference = getattr(load_module(file), part)(*arguments).double()
    reference.load_state_dict(layer.state_dict(), strict=False)
    for shape in ((2, 5, 6), (1, 1, 6)):
        x = torch.randn(*shape, dtype=torch.float64)
        torch.testing.assert_close(layer(x), reference(x))


def test_more_tokens_than_the_context_are_refused() -> None:
    with pytest.raises(ValueError, match="5 tokens"):
        parts.CausalAttention(3, 2, 4, 0.0)(torch.zeros(1, 5, 3))


def test_a_part_is_never_accepted_as_a_students_answer(course: Course) -> None:
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            given = parts_given(exercise.solution.read_text(encoding="utf-8"))
            for case in cases_of(course, exercise, ["module"]):
                if case.kind in ("solution", "alternative"):
                    for question in exercise.questions:
                        assert refusal(case.text, question.name, given) is None, case.label


def test_a_part_is_never_accepted_as_an_answer(course: Course) -> None:
    seen = set()
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            given = parts_given(exercise.solution.read_text(encoding="utf-8"))
            for question, name, text in part_texts(exercise):
                seen.add(question)
                reason = refusal(text, question, given)
                assert reason is not None, (question, name)
                assert "which is meant for other exercises" in reason
    assert {"CausalAttention", "FeedForward", "MultiHeadSelfAttention"} <= seen


def test_a_worker_gets_the_modules_that_a_part_needs_first() -> None:
    names = [module.name for module in modules_of(("CachedAttention",))]
    assert names == ["angles", "turning", "cached_attention"]


def test_a_class_replacing_a_part_may_use_the_parts_imports(course: Course) -> None:
    [exercise] = [
        exercise
        for assignment in course.assignments
        for exercise in assignment.exercises
        if exercise.name == "decoder_block"
    ]
    given = parts_given(exercise.solution.read_text(encoding="utf-8"))
    text = (
        "from autograder.parts import FeedForward, apply_rotary, rotary_angles\n"
        "class CachedAttention:\n    turn = apply_rotary, rotary_angles\n"
        "class DecoderBlock:\n    parts = CachedAttention, FeedForward\n"
    )
    assert refusal(text, "DecoderBlock", given) is None
    offered = {part for module in modules_of(given) for part in module.parts}
    assert {"apply_rotary", "rotary_angles"} <= offered
    assert refusal(text.replace("FeedForward", "CausalAttention"), "DecoderBlock", given)
