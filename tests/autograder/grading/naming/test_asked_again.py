"""An unknown mistake is described by what changes when the answer is called again."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from autograder.course import Course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.naming.known import KnownMistakes
from autograder.grading.naming.probe import replies_of
from autograder.grading.naming.record import _is_near
from autograder.records import QuestionResult
from autograder.suite.local import LocalImplementation
from tools.unseen import ask_here


def _named(course: Course, place: str, question: str, answer: Any) -> QuestionResult:
    assignment, exercise_name = place.split("/")
    exercise = course.assignment(assignment).exercise(exercise_name)
    runner = collect_suites(course.root, [exercise.hidden_suite])
    answers = {question: answer}
    own = LocalImplementation(answers, "")
    (result,) = runner.judge(exercise.hidden_suite, own, 3, only=question)
    diagnosis = Diagnosis(runner, course, exercise, ask_here)
    return diagnosis.explain(result, partial(replies_of, answers), "")


def _kept_by_shape() -> Any:
    kept: dict[Any, torch.Tensor] = {}

    def query_scores(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        return kept.setdefault((inputs.shape, inputs.dtype), inputs @ query)

    return query_scores


def _one_more_if_large(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    scores = inputs @ query
    return scores + (scores.abs() > 3)


def _seeded(
    weights: torch.Tensor, values: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    torch.manual_seed(123)
    return torch.dropout(weights, p, training) @ values


@pytest.mark.parametrize(
    ("place", "question", "answer", "name"),
    [
        (
            "simplified_attention/scores",
            "query_scores",
            _kept_by_shape(),
            "calls_with_equal_shapes_give_equal_results",
        ),
        (
            "simplified_attention/scores",
            "query_scores",
            functools.lru_cache(lambda inputs, query: inputs @ query),
            "single_calls_are_right_and_a_series_of_calls_with_the_same_tensors_is_wrong",
        ),
        (
            "simplified_attention/scores",
            "query_scores",
            _one_more_if_large,
            "results_are_right_if_the_numbers_are_16_times_smaller",
        ),
        (
            "causal_attention/dropout",
            "dropout_attention_weights",
            _seeded,
            "results_that_should_be_random_are_the_same_every_time",
        ),
    ],
)
def test_what_changes_in_another_call_is_reported(
    course: Course, place: str, question: str, answer: Any, name: str
) -> None:
    found = _named(course, place, question, answer)
    assert found.misconception == f"{place.split('/')[1]}.{name}"


class _ContextDropped(nn.Module):
    """Applies dropout to the merged heads, not to the attention weights."""

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        if d_out % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        attend = nn.functional.scaled_dot_product_attention
        heads = attend(queries, keys, values, is_causal=True)
        result: torch.Tensor = self.out_proj(self.dropout(heads.transpose(1, 2).flatten(2)))
        return result


def test_a_solution_that_is_random_proves_no_chance(course: Course) -> None:
    place = "multi_head_attention/multi_head_attention"
    found = _named(course, place, "MultiHeadAttention", _ContextDropped)
    assert found.misconception == "multi_head_attention.dropout_on_contexts"


class _MaskWithoutNewDimensions(nn.Module):
    """Aligns the samples of the mask with the queries."""

    def __init__(self, d_model: int, d_context: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_context, d_model)
        self.W_value = nn.Linear(d_context, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self, x: torch.Tensor, context: torch.Tensor, key_padding_mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        queries, keys, values = (
            projected.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for projected in (self.W_query(x), self.W_key(context), self.W_value(context))
        )
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask, -torch.inf)
        heads = torch.softmax(scores, dim=-1) @ values
        result: torch.Tensor = self.out_proj(heads.transpose(1, 2).reshape(x.shape))
        return result


def test_entries_without_a_common_name_keep_their_common_hint(course: Course) -> None:
    place = "decoder_attention/cross_attention"
    found = _named(course, place, "CrossAttention", _MaskWithoutNewDimensions)
    assert found.misconception is None
    assert "line up with the queries" in (found.hint or "")


def test_calls_are_not_described_if_results_are_not_compared(course: Course) -> None:
    exercise = course.assignment("causal_attention").exercise("masking")
    runner = collect_suites(course.root, [exercise.hidden_suite])
    known = KnownMistakes(runner, course, exercise, ask_here)
    for question, are_compared in (("mask_scores", False), ("causal_attention_weights", True)):
        facts = [fact for test in known.tests(question) for fact in known.facts(question, test)]
        assert any(facts) == are_compared


def test_a_rare_event_may_be_in_no_sample() -> None:
    assert _is_near(0.05, [0.0] * 6)
    assert not _is_near(0.2, [0.0] * 6)
    assert not _is_near(0.05, [0.0, 0.5] * 3)
