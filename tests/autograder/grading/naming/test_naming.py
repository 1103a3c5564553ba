"""Mistakes are named by comparison with stored answers and with families of changes."""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from autograder.course import Course
from autograder.grading.exercises import ExerciseGrader
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.naming import known as known_module
from autograder.grading.naming.changed_entries import ChangedEntries
from autograder.grading.naming.column import Column
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.naming.families import Member, members
from autograder.grading.naming.families.places import Change, node_at
from autograder.grading.naming.families.words import id_of
from autograder.grading.naming.pairs import PairSearch
from autograder.grading.naming.probe import Replies, events_of, replies_of
from autograder.grading.naming.record import (
    UNCHANGED,
    AnswerRecord,
    Call,
    Event,
    answered,
    behaviour_of,
    figures_of,
    measured,
)
from autograder.grading.naming.rows import NOTE, Row, name_and_hint
from autograder.grading.naming.search import Search
from autograder.grading.naming.store import Store
from autograder.grading.naming.table import Table
from autograder.grading.naming.unmatched import (
    MISSING,
    OTHER_LAYERS,
    OTHER_NAMES,
    SHARED,
    TOO_MANY,
    kind_returned,
    parameter_sentences,
    writes_into_arguments,
)
from autograder.records import Exercise, QuestionResult
from autograder.sandbox.replies import Batch
from autograder.submission.bounded import memory_limited
from autograder.suite.local import LocalImplementation
from autograder.suite.raised import kind_of
from tools.unseen import ask_here

X = torch.linspace(0.5, 2.0, 600).reshape(20, 30)


def _answered(*values: Any) -> AnswerRecord:
    own = measured([Event("call", value) for value in values])
    return replace(own, words="what a test says")


def test_one_different_entry_makes_another_answer() -> None:
    other = X.clone()
    other[7, 11] += 0.5
    assert not _answered(X).equals(_answered(other))


def test_rounding_makes_no_other_answer_and_no_other_behaviour() -> None:
    near = _answered(X * (1 + 1e-7))
    assert _answered(X).equals(near)
    assert behaviour_of({"test": _answered(X)}) == behaviour_of({"test": near})


def test_shape_dtype_and_nan_make_another_answer() -> None:
    with_nan = X.clone()
    with_nan[0, 0] = torch.nan
    others = (X.double(), X.flatten(), with_nan, [X, X])
    assert not any(_answered(X).equals(_answered(other)) for other in others)


def test_a_column_compares_all_answers_like_single_comparisons() -> None:
    values = (X, X + 1, X * (1 + 1e-7), X.double(), X.flatten(), X * torch.nan, [X, X])
    calls = [call for value in values for call in _answered(value).calls]
    calls += [call for text in ("ValueError", "IndexError") for call in _raised(text).calls]
    column = Column(calls)
    for other in calls:
        assert column.equal_to(other).tolist() == [call.equals(other) for call in calls]
        for count in {1, len(other.figures)} - {0}:
            some = column.figures_equal_to(other, count)
            assert some.all(1).tolist() == [c.equals(other) for c in calls]


def _raised(kind: str) -> AnswerRecord:
    return answered([Event("call", raised=kind)])


def test_zeros_and_a_row_of_nan_are_not_only_nan() -> None:
    (right,), some = _answered(X).calls, X.clone()
    some[0] = torch.nan
    found = [_answered(value).calls[0] for value in (X * torch.nan, X * 0, some, X / 0)]
    assert [call.is_only_nan(right) for call in found] == [True, False, False, False]


def _layer(names: Sequence[str], size: int = 3, raised: str = "LookupError: none") -> AnswerRecord:
    weights = {name: (size, size) for name in names}
    return answered([Event("load_weights", raised=raised), Event("weights", weights)])


def test_wrong_parameter_names_are_distinguished_from_layers_and_sizes() -> None:
    right = [_layer(["W_query", "W_key"], raised="")]
    name, sentence = parameter_sentences([_layer(["q", "k"])], right)
    assert name == OTHER_NAMES
    assert sentence.endswith("there is `k`, `q`, but no `W_key`, `W_query`")
    assert parameter_sentences([_layer(["q"], 6)], right)[0] == OTHER_LAYERS
    name, sentence = parameter_sentences([_layer(["W_key"])], right)
    assert name == MISSING and sentence.endswith("are missing: `W_query`")
    name, sentence = parameter_sentences([_layer(["W_key", "W_query", "W_out"])], right)
    assert name == TOO_MANY and sentence.endswith("does not name: `W_out`")
    name, sentence = parameter_sentences([_layer(["W_query", "W_key"], 4)], right)
    assert name == "parameters_of_w_key_and_w_query_have_other_sizes_than_the_question_gives"
    assert sentence.startswith("the parameters of W_key and W_query do not have the sizes")
    assert parameter_sentences([_layer(["W_query", "W_key"])], right) == ("", "")
    assert parameter_sentences([_layer(["q", "k"], raised="")], right) == ("", "")
    assert (
        parameter_sentences([answered([Event("call", X)])], [answered([Event("call", X)])])[0] == ""
    )


def test_a_weight_that_is_set_but_not_trained_is_reported() -> None:
    right = [_layer(["W_query", "W_key"], raised="")]
    words, sentence = parameter_sentences([_layer(["W_query"], raised="")], right)
    assert words == SHARED and sentence == "`W_key` is not a separate trained parameter"
    assert parameter_sentences([_layer(["q"], raised="")], right) == ("", "")
    assert parameter_sentences([_layer(["W_query"], raised=""), right[0]], right * 2) == ("", "")
    words, sentence = parameter_sentences([_layer(["W_query", "W_key", "W_out"], raised="")], right)
    assert words == TOO_MANY and sentence.endswith("does not name: `W_out`")


@pytest.mark.parametrize(
    ("came", "asked", "sentence"),
    [
        ((X, X), X, "two tensors are returned where one tensor is required"),
        (X, (X, X, X), "one tensor is returned where three tensors are required"),
        ((X, X), (X, X, X), "two tensors are returned where three tensors are required"),
        ([X], X, "a list or a tuple is returned where one tensor is required"),
        ((X, None), X, "a list or a tuple is returned where one tensor is required"),
        ([X[0], X[1]], X, "a list or a tuple is returned where one tensor is required"),
        ({"q": X}, (X, X), "a dict is returned where two tensors are required"),
        (X.tolist(), X, "a list is returned where one tensor is required"),
        ((X > 0).tolist(), X, "a list is returned where one tensor is required"),
        (X[0], X, "the result has one dimension fewer than required"),
        (X[None, None], X, "the result has two dimensions more than required"),
        ((X, X[0]), (X, X), "the second result has one dimension fewer than required"),
        (None, X, "None is returned"),
        (X[:5], X, ""),
        ((X[0], X[0]), (X, X), ""),
        ("text", X, ""),
    ],
)
def test_a_result_of_another_type_is_described(came: Any, asked: Any, sentence: str) -> None:
    came, asked = ([answered([Event("call", (value, UNCHANGED))] * 3)] for value in (came, asked))
    assert kind_returned(came, asked)[1] == sentence
    right_once = [*came, *asked]
    assert kind_returned(right_once, asked * 2) == ("", "")


def test_lists_of_one_and_of_several_tensors_are_described() -> None:
    came = [answered([Event("call", (v, UNCHANGED)) for v in ([X], [X, X], [X, X, X])])]
    asked = [answered([Event("call", (X, UNCHANGED))] * 3)]
    assert kind_returned(came, asked)[1].startswith("a list or a tuple of tensors is returned")


@pytest.mark.parametrize("value", [X, X + 1])
def test_writing_into_arguments_in_each_wrong_call_is_reported(value: torch.Tensor) -> None:
    right = [answered([Event("call", (X, UNCHANGED))] * 4 + [Event("gradients", X)])]
    changed = [Event("call", (value, [X * 2]))] * 3
    for last, is_reported in ((X, True), (X + 1, False)):
        unchanged = [Event("call", (last, UNCHANGED)), Event("gradients", raised="RuntimeError")]
        came = [answered([*changed, *unchanged])]
        assert writes_into_arguments(came, right) == is_reported
    assert not writes_into_arguments(right, right)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("TypeError: 'Parameter' object is not callable", "a parameter is called as if it were"),
        ("TypeError: softmax() received an invalid combination of arguments", "a function is"),
        (
            "TypeError: f() takes 1 positional argument but 2 were given",
            "the arguments in the `def`",
        ),
        ("TypeError: helper() missing 1 required positional argument: 'x'", "a function is called"),
        ("RuntimeError: 1D tensors expected, but got 2D and 1D tensors", "a product gets a"),
    ],
)
def test_errors_in_calls_are_described(error: str, words: str) -> None:
    assert kind_of([error], "f").startswith(words)
    assert kind_of([error, "KeyError: 'x'"], "f") == ""


def _dropped(
    times: int, p: float = 0.3, scale: float = 1 / 0.7, rows: int = 1
) -> list[AnswerRecord]:
    shape = (20, 30 if rows == 1 else 1)
    return [_answered(X * (torch.rand(shape) >= p) * scale) for _ in range(times)]


def test_samples_of_the_same_mistake_are_recognized() -> None:
    torch.manual_seed(3)
    samples = _dropped(8)
    assert all(answer.is_among(samples) for answer in _dropped(20))


@pytest.mark.parametrize("other", [{"p": 0.5}, {"scale": 1.0}, {"rows": 20}], ids=str)
def test_samples_of_another_mistake_are_not_recognized(other: dict[str, Any]) -> None:
    torch.manual_seed(3)
    samples = _dropped(40)
    assert not any(answer.is_among(samples) for answer in _dropped(5, **other))


def test_a_few_draws_prove_nothing() -> None:
    torch.manual_seed(3)
    (answer, *samples) = _dropped(5)
    others = [_answered(sample.calls) for sample in samples]
    assert not answer.is_among([*samples, *others])


def test_two_draws_are_compared_only_by_kind() -> None:
    torch.manual_seed(3)
    (answer, *samples) = _dropped(3, p=0.5)
    assert answer.is_among(samples)
    assert not _answered(X.double()).is_among(samples)


def test_samples_with_only_two_values_are_compared_exactly() -> None:
    samples = [_answered(X * times / 0.7) for times in (0, 1, 1, 0, 1, 1, 0, 1)]
    assert _answered(X / 0.7).is_among(samples)
    assert not _answered(X).is_among(samples)


def test_a_sample_of_another_size_is_the_same_mistake() -> None:
    torch.manual_seed(3)
    samples = [_answered(X[torch.rand_like(X) >= 0.3] / 0.7) for _ in range(40)]
    cut, as_it_was = X[torch.rand_like(X) >= 0.3] / 0.7, X[torch.rand_like(X) >= 0.3]
    assert _answered(cut).is_among(samples) and not _answered(as_it_was).is_among(samples)


def _replies(names: dict[str, Any], *requests: tuple[Any, ...]) -> Replies:
    return replies_of(names, Batch.of(requests))


def test_a_layer_without_the_weights_shows_only_its_parameters() -> None:
    requests = [
        ("build", 0, "layer", [2, 3]),
        ("load_weights", 0, {"other": X}),
        ("forward", 0, [torch.ones(2)]),
        ("weights", 0),
        ("restore", 0, 1),
        ("forward", 1, [torch.ones(2)]),
    ]
    found = list(events_of(requests, _replies({"layer": torch.nn.Linear}, *requests)))
    assert [bool(event.raised) for event in found] == [False, True, True, False, True, True]
    assert found[3].value == {"weight": (3, 2), "bias": (3,)}


class _Sum(torch.nn.Module):
    """Two layers, created in the order of `names`."""

    def __init__(self, names: str) -> None:
        super().__init__()
        for name in names:
            self.add_module(name, torch.nn.Linear(2, 2))

    def forward(self, x: torch.Tensor) -> Any:
        return self.get_submodule("a")(x) + 2 * self.get_submodule("b")(x)


def test_the_order_of_making_layers_does_not_change_an_answer() -> None:
    weights = {f"{layer}.weight": torch.ones(2, 2) for layer in "ab"}
    weights |= {f"{layer}.bias": torch.ones(2) for layer in "ab"}
    records = []
    for names in ("ab", "ba"):
        requests: list[tuple[Any, ...]] = [
            ("build", 0, "f", [names]),
            ("load_weights", 0, weights),
            ("weights", 0),
            ("layer_gradients", 0, [torch.ones(2)], torch.ones(2), []),
        ]
        records.append(answered(events_of(requests, _replies({"f": _Sum}, *requests))))
    assert records[0].equals(records[1]) and not any(call.raised for call in records[0].calls)


def test_arguments_count_where_an_answer_changes_them() -> None:
    def changes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    request = ("call", "f", [X.clone()])
    (changed,) = events_of([request], _replies({"f": changes}, request))
    (plain,) = events_of([request], _replies({"f": lambda x: x + 1}, request))
    assert not answered([changed]).equals(answered([plain]))


_SOLUTION = """
import torch
def weights(queries, keys):
    ### BEGIN SOLUTION
    scores = queries @ keys.mT
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    ### END SOLUTION
"""


def test_families_change_known_steps(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_SOLUTION)
    found = list(members(solution, "weights", {"torch": torch}))
    q, k = torch.randn(3, 5), torch.randn(4, 5)
    unscaled = torch.softmax(q @ k.mT, -1)
    names = {
        id_of(member.key) for member in found if _gives(member.change.answer(), (q, k), unscaled)
    }
    assert "the_division_by_a_root_is_left_out" in names and not names & {"the_mask_has_no_effect"}
    assert len({id_of(member.key) for member in found}) > 20


def test_a_large_class_has_members_of_every_known_step(course: Course) -> None:
    solution = course.assignment("decoder_attention").exercise("cross_attention").solution
    namespace = LocalImplementation.from_file(solution).namespace
    found = list(members(solution, "CrossAttention", namespace))
    chosen = [member for _, member in known_module.likeliest(found)]
    of_steps = {id_of(member.key) for member in found if member.rank == 0}
    assert of_steps <= {id_of(member.key) for member in chosen}
    relus = [m.detail() for m in chosen if m.key == "a_relu_is_applied_that_is_one_too_many"]
    assert "one ReLU too many is applied (in the result)" in relus
    assert not any("W_" in detail for detail in relus)  # a stored layer is not a result
    assert len(chosen) < len(found) / 2


def _both(found: Sequence[Member], one: str, other: str) -> list[Any]:
    """Returns the answers in which two changes, given by their ids, are made together."""
    pairs = [
        first.change.with_(second.change)
        for first in found
        for second in found
        if (id_of(first.key), id_of(second.key)) == (one, other)
    ]
    return [pair.answer() for pair in pairs if pair]


@pytest.mark.parametrize("turned", [False, True])
def test_two_changes_may_be_nested(tmp_path: Path, turned: bool) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_SOLUTION)
    found = list(members(solution, "weights", {"torch": torch}))
    names = [
        "softmax_runs_along_another_dimension_than_the_one_asked_for",
        "the_division_is_by_a_number_itself_not_by_its_root",
    ]
    q, k = torch.randn(3, 5), torch.randn(3, 5)
    expected = torch.softmax(q @ k.mT / 5, 0)
    both = _both(found, *(reversed(names) if turned else names))
    assert any(_gives(answer, (q, k), expected) for answer in both)


def test_a_change_may_surround_two_others() -> None:
    (definition,) = ast.parse("def f(a, b):\n    return (a - b) * (b + a)").body
    assert isinstance(definition, ast.FunctionDef)
    product = ("body", 0, "value")
    sides = ((*product, "left", "op"), ast.Pow()), ((*product, "right", "op"), ast.Mult())
    node = copy.deepcopy(node_at(definition, product))
    around = ast.UnaryOp(ast.USub(), cast(ast.expr, node))
    both = Change(definition, sides, {}), Change(definition, ((product, around),), {})
    for one, other in (both, both[::-1]):
        combined = one.with_(other)
        answer = combined.answer() if combined else None
        assert answer and answer(2, 3) == -48  # -((2 ** 3) * (3 * 2))
    removed = Change(definition, ((product, ast.Constant(1)),), {})
    assert removed.with_(both[0]) is None


_STEPS = """
import torch
def mixed(x: torch.Tensor, size: int, shift: float = 1.0):
    ### BEGIN SOLUTION
    positive = torch.relu(x)
    return torch.softmax(positive / size, dim=-1) + shift
    ### END SOLUTION
"""


def test_one_part_of_a_sum_may_be_added_twice(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_STEPS)
    found = list(members(solution, "mixed", {"torch": torch}))
    x = torch.randn(3, 5)
    expected = torch.softmax(torch.relu(x) / 2, -1) + 5 + 5
    assert "one_part_of_a_sum_is_added_twice" in {
        m.key for m in found if _gives(m.change.answer(), (x, 2, 5.0), expected)
    }


_ATTENTION = """
import torch
class Module(torch.nn.Module):
    def forward(self, x: torch.Tensor, past: torch.Tensor | None = None) -> tuple:
        ### BEGIN SOLUTION
        seen = ~torch.ones(3, 3, dtype=torch.bool).triu(1)
        kept = x if past is None else past + x
        return torch.nn.functional.scaled_dot_product_attention(x, kept, x, attn_mask=seen), kept
        ### END SOLUTION
"""


_ATTEND = torch.nn.functional.scaled_dot_product_attention


@pytest.mark.parametrize(
    ("words", "means"),
    [
        (
            "the_mask_is_the_other_way_round",
            lambda x: _ATTEND(x, x, x, attn_mask=torch.ones(3, 3).triu(1) > 0),
        ),
        ("the_mask_has_no_effect", lambda x: _ATTEND(x, x, x)),
        ("the_scores_are_not_scaled", lambda x: _ATTEND(x * 5**0.5, x, x, is_causal=True)),
    ],
)
def test_torchs_own_attention_has_families(tmp_path: Path, words: str, means: Any) -> None:
    solution, x = tmp_path / "solution.py", torch.randn(1, 3, 5)
    solution.write_text(_ATTENTION)
    found = []
    for member in members(solution, "Module", {"torch": torch}):
        make = member.change.answer() if id_of(member.key) == words else None
        if make is not None:
            module = make()
            module(x)
            found += module(x)
    assert any(torch.allclose(value, means(x), equal_nan=True) for value in found)


_SPLIT = """
def split(x, keys, heads):
    ### BEGIN SOLUTION
    by_head = (*x.shape[:2], heads, x.shape[2] // heads)
    return x.view(by_head).transpose(1, 2), keys.transpose(-2, -1)
    ### END SOLUTION
"""


def test_only_a_split_into_heads_can_deal_out_columns(tmp_path: Path) -> None:
    """The change that deals out columns to heads in turn does not affect a transpose of keys."""
    solution, x, keys = tmp_path / "solution.py", torch.randn(2, 3, 8), torch.randn(2, 2, 3, 4)
    solution.write_text(_SPLIT)
    dealt_out = "columns_are_dealt_out_to_the_heads_in_turn_not_in_blocks"
    found = [m.change.answer() for m in members(solution, "split", {}) if m.key == dealt_out]
    assert found
    for answer in found:
        heads, same = cast(Any, answer)(x, keys, 2)
        assert torch.equal(heads, x.unflatten(-1, (4, 2)).permute(0, 3, 1, 2))
        assert torch.equal(same, keys.mT)


_MIXED = """
import torch
def mixed(weights: torch.Tensor, values: torch.Tensor):
    ### BEGIN SOLUTION
    mixed = weights @ values
    return mixed
    ### END SOLUTION
def merged(a: torch.Tensor, b: torch.Tensor):
    ### BEGIN SOLUTION
    both = torch.logaddexp(a, b)
    return torch.exp(a - both)
    ### END SOLUTION
"""
_OTHER_SUMS = {
    "the_first_or_last_item_of_a_sum_is_left_out_or_taken_twice": (
        *("mixed", lambda w, v: w[:, :-1] @ v[:-1]),
    ),
    "one_side_of_a_product_is_transposed_that_should_not_be": ("mixed", lambda w, v: w.mT @ v),
    "a_sum_runs_over_another_dimension_than_the_one_that_both": (
        *("mixed", lambda w, v: w.sum(0)[:, None] * v),
    ),
    "one_row_comes_back_not_all_of_them": ("mixed", lambda w, v: w[1] @ v),
    "both_sides_of_a_product_are_multiplied_and_rows_added_up": (
        *("mixed", lambda w, v: (w * v).sum(-1)),
    ),
    "a_norm_is_applied_to_an_argument": (
        *("mixed", lambda w, v: w @ torch.nn.functional.layer_norm(v, v.shape[-1:])),
    ),
    "the_first_or_last_row_or_column_is_0_or_false": (
        *("mixed", lambda w, v: (w @ v) * torch.tensor([1, 1, 0])[:, None]),
    ),
}


@pytest.mark.parametrize("words", _OTHER_SUMS)
def test_sums_over_the_wrong_items_have_a_family(tmp_path: Path, words: str) -> None:
    solution, (question, means) = tmp_path / "solution.py", _OTHER_SUMS[words]
    solution.write_text(_MIXED)
    one, other = torch.rand(3, 3), torch.rand(3, 3)
    expected = means(one, other)
    found = []
    for member in members(solution, question, {"torch": torch}):
        answer = member.change.answer() if id_of(member.key) == words else None
        if answer is not None:
            found.append(answer(one, other))
    assert any(
        value.shape == expected.shape and torch.allclose(value, expected, equal_nan=True)
        for value in found
    )


def test_no_name_is_read_before_it_has_a_value(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_MIXED)
    for member in members(solution, "merged", {"torch": torch}):
        answer = member.change.answer() if "in_the_place_of" in id_of(member.key) else None
        if answer is not None:
            assert isinstance(answer(X, X), torch.Tensor)


def test_huge_numbers_cause_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = list(figures_of(torch.full((4,), 1e308, dtype=torch.float64), None))
    assert figures[0][0] == 1e308


def test_a_mistake_cannot_allocate_gigabytes() -> None:
    with memory_limited(512 << 20), pytest.raises(RuntimeError, match="memory"):
        torch.empty(1 << 30)
    assert torch.empty(1 << 30).numel() == 1 << 30


def _gives(answer: Any, args: Sequence[Any], expected: torch.Tensor) -> bool:
    try:
        value = answer(*args)
    except Exception:
        return False
    return isinstance(value, torch.Tensor) and _is_close(value, expected)


def _is_close(value: torch.Tensor, expected: torch.Tensor) -> bool:
    """Returns whether tensors are equal up to the rounding of sums in a different order."""
    alike = (value.shape, value.dtype) == (expected.shape, expected.dtype)
    return alike and torch.allclose(value, expected, atol=1e-6)


@pytest.fixture(scope="module")
def diagnosis(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Any:
    exercise = course.assignment("simplified_attention").exercise("scores")
    runner = collect_suites(course.root, [exercise.hidden_suite])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        found = Diagnosis(runner, course, exercise, ask_here)

    def name(function: Any, text: str = "") -> QuestionResult:
        answers = {"query_scores": function}

        suite, own = exercise.hidden_suite, LocalImplementation(answers, text)
        (result,) = runner.judge(suite, own, 3, only="query_scores")
        return found.explain(result, partial(replies_of, answers), text)

    return name


def test_a_known_mistake_has_its_name_and_a_behaviour(diagnosis: Any) -> None:
    one = diagnosis(lambda inputs, query: (inputs @ query).abs())
    other = diagnosis(lambda inputs, query: (inputs * query).sum(-1).abs())
    assert one.misconception is not None and one.misconception.startswith("scores.")
    assert one.misconception == other.misconception
    assert one.behaviour == other.behaviour


WRONG = (
    lambda inputs, query: (inputs @ query).abs(),
    lambda inputs, query: torch.round(inputs @ query, decimals=2),
    lambda inputs, query: (inputs - query).square().sum(-1).float(),
    lambda inputs, query: (inputs @ query).sin() * 3 + 1,
    lambda inputs, query: (inputs @ query) * (1 + 4 * torch.finfo(inputs.dtype).eps),
)


def test_random_results_where_none_are_expected_are_named(diagnosis: Any) -> None:
    found = diagnosis(lambda inputs, query: inputs @ query + torch.rand(()))
    assert found.misconception == "scores.two_equal_calls_give_different_results"


def test_names_do_not_depend_on_tables_or_order(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = course.assignment("simplified_attention").exercise("scores")
    runner = collect_suites(course.root, [exercise.hidden_suite])
    found = []
    for folder in ("one", "one", "two"):
        monkeypatch.setattr(known_module, "Store", lambda root, own=folder: Store(tmp_path / own))
        for order in (WRONG, WRONG[::-1]):
            diagnosis = Diagnosis(runner, course, exercise, ask_here)
            names = [_explained_by(diagnosis, runner, exercise, function) for function in order]
            found.append(names if order is WRONG else names[::-1])
    assert all(names == found[0] for names in found)
    assert [bool(name) for name in found[0]] == [True, True, True, False, False]


def _explained_by(
    diagnosis: Diagnosis, runner: SuiteRunner, exercise: Exercise, function: Any
) -> tuple[str, str] | None:
    answers = {"query_scores": function}
    suite, own = exercise.hidden_suite, LocalImplementation(answers, "")
    (result,) = runner.judge(suite, own, 3, only="query_scores")
    found = diagnosis.explain(result, partial(replies_of, answers), "")
    return (found.misconception, found.hint or "") if found.misconception else None


def test_a_family_names_what_the_catalogue_does_not_hold(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: torch.round(inputs @ query, decimals=2))
    assert result.misconception == "scores.numbers_are_rounded_on_the_way"
    assert "rounded" in result.hint


def _failing(inputs: torch.Tensor, often: bool) -> torch.Tensor:
    """Returns its input; raises an error if the input is not contiguous or if `often` is true."""
    if often or not inputs.is_contiguous():
        raise RuntimeError
    return inputs


def test_other_errors_hide_a_known_mistake_only_if_most(diagnosis: Any) -> None:
    some = diagnosis(lambda inputs, query: (_failing(inputs, False) @ query).abs())
    most = diagnosis(lambda inputs, query: (_failing(inputs, len(inputs) != 4) @ query).abs())
    assert some.misconception == diagnosis(lambda i, q: (i @ q).abs()).misconception is not None
    assert most.misconception is None


def test_two_mistakes_at_once_are_both_named(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: (inputs - query).square().sum(-1).float())
    assert result.misconception is not None
    assert "distances" in result.hint and "; and " in result.hint
    assert "always float32" in result.hint


def test_a_partial_explanation_is_reported_with_what_is_left(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: (inputs @ query).abs() + (len(inputs) > 40))
    assert result.misconception == diagnosis(lambda i, q: (i @ q).abs()).misconception
    assert result.hint.endswith("There may be another mistake as well.")


def test_without_a_mistake_the_right_cases_are_described(diagnosis: Any) -> None:
    def of_contiguous_rows(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        scores = inputs @ query
        return scores if inputs.is_contiguous() and query.is_contiguous() else scores.sin() + 1

    result = diagnosis(of_contiguous_rows)
    assert result.misconception == "scores.it_is_right_for_tensors_that_are_contiguous_only"
    sentence = "In the tests, it is right for tensors that are contiguous, and in no other call "
    assert result.hint.startswith(sentence)


def test_gradients_that_are_wrong_alone_have_a_name(diagnosis: Any) -> None:
    def half_of_the_gradient(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        return (inputs @ query + (inputs @ query).detach()) / 2

    result = diagnosis(half_of_the_gradient)
    assert result.misconception == "scores.all_values_are_right_and_gradients_are_not"


def test_errors_that_all_say_the_same_have_a_name(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: eval("queries @ inputs"))
    assert result.misconception == "scores.a_name_is_used_that_has_no_value"
    assert result.hint.startswith("A name is used that has no value. The message")


def test_an_unforeseen_mistake_has_a_behavior_and_no_name(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: (inputs @ query).sin() * 3 + 1)
    assert result.misconception is None and result.hint is None
    assert result.behaviour.startswith("sha256:")


def test_a_right_answer_is_not_called_again(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: inputs @ query)
    assert result.behaviour is None


def _masked_too(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    scores = queries @ keys.mT / values.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


def _softmax_along_the_last(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    numbers = torch.exp(scores)
    return numbers / numbers.sum(dim=-1, keepdim=True)


def _named(course: Course, place: str, question: str, answer: Any) -> QuestionResult:
    assignment, exercise_name = place.split("/")
    exercise = course.assignment(assignment).exercise(exercise_name)
    runner = collect_suites(course.root, [exercise.hidden_suite])
    answers = {question: answer}
    own = LocalImplementation(answers, "")
    (result,) = runner.judge(exercise.hidden_suite, own, 3, only=question)
    diagnosis = Diagnosis(runner, course, exercise, ask_here)
    return diagnosis.explain(result, partial(replies_of, answers), "")


class _FirstWeightsKept(torch.nn.Module):
    """Reuses the attention weights from an earlier input with the same shape."""

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self._kept: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_query.out_features**0.5
        if self._kept is None or self._kept.shape != scores.shape:
            self._kept = torch.softmax(scores, dim=-1)
        result: torch.Tensor = self._kept @ self.W_value(x)
        return result


class _ProductOfFirstWeights(torch.nn.Module):
    """Multiplies two of its initial weights, so weights that are loaded later have no effect."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = torch.nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = torch.nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = torch.nn.Parameter(torch.randn(d_in, d_out))
        self._product = (self.W_query @ self.W_key.T).detach() / d_out**0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ self._product @ x.mT, dim=-1) @ x @ self.W_value


def _checked_as_an_index(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    """Drops entries correctly, but raises an error of the wrong class for an invalid rate."""
    if not 0 <= p <= 1:
        raise IndexError("p")
    if not training or p == 0:
        return x
    return torch.zeros_like(x) if p == 1 else x * (torch.rand_like(x) >= p) / (1 - p)


@pytest.mark.parametrize(
    ("place", "question", "answer", "name"),
    [
        (
            "causal_attention/masking",
            "causal_mask",
            lambda n: torch.ones(n, n, dtype=torch.uint8).triu(1),
            "all_values_are_right_but_their_dtype_is_not",
        ),
        (
            "causal_attention/dropout",
            "dropout",
            _checked_as_an_index,
            "an_error_of_another_class_is_raised_than_the_one_asked_for",
        ),
        (
            "self_attention/self_attention",
            "SelfAttentionV2",
            _FirstWeightsKept,
            "a_layer_is_right_in_its_first_call_and_wrong_after_other_calls",
        ),
        (
            "self_attention/self_attention",
            "SelfAttentionV1",
            _ProductOfFirstWeights,
            "two_layers_with_equal_weights_give_different_results",
        ),
    ],
)
def test_the_cases_that_are_right_decide_a_name(
    course: Course, place: str, question: str, answer: Any, name: str
) -> None:
    found = _named(course, place, question, answer)
    assert found.misconception == f"{place.split('/')[1]}.{name}"


def test_two_tests_failing_in_equal_words_do_not_show_chance(course: Course) -> None:
    question = "scaled_dot_product_attention"
    found = _named(course, "self_attention/scaling", question, _masked_too)
    assert "dropped" not in (found.misconception or "")


def test_a_pair_gets_names_that_fit_its_code(course: Course) -> None:
    found = _named(course, "simplified_attention/softmax", "softmax", _softmax_along_the_last)
    assert "largest" not in (found.misconception or "")
    assert "exponentials are taken without a shift" in (found.hint or "")
    assert "`dim` has no effect" in (found.hint or "")


def test_an_entry_is_executed_with_the_change_of_a_family(course: Course) -> None:
    """Both mistakes affect every call, so the pair is found only by executing them together."""

    def scaled_along_the_queries(inputs: torch.Tensor) -> torch.Tensor:
        scores = inputs @ inputs.mT / inputs.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-2) @ inputs

    question = "simplified_self_attention"
    found = _named(course, "simplified_attention/context", question, scaled_along_the_queries)
    assert "softmax runs along dimension -2" in (found.hint or "")
    assert "scores are divided by the square root of d" in (found.hint or "")


def _dropped_unscaled(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    return x * (torch.rand_like(x) > p) if training and p else x


def _angles_of_one_base(
    positions: torch.Tensor, head_dim: int, base: float = 10000.0
) -> torch.Tensor:
    powers = [10000.0 ** (-2 * i / head_dim) for i in range(head_dim // 2)]
    return positions[:, None] * torch.tensor(powers, dtype=positions.dtype)


def _ahead_and_repaired(num_queries: int, num_keys: int, window: int) -> torch.Tensor:
    at = torch.arange(num_keys)
    return (at[num_keys - num_queries :, None] - at).abs() >= max(window, 1)


@pytest.mark.parametrize(
    ("place", "question", "answer", "words"),
    [
        (
            "causal_attention/dropout",
            "dropout",
            _dropped_unscaled,
            "a p below 0 or above 1 is not rejected",
        ),
        (
            "decoder_attention/rotary_embedding",
            "rotary_angles",
            _angles_of_one_base,
            "the base is always 10000, whatever is given",
        ),
        (
            "decoder_attention/kv_cache",
            "sliding_window_mask",
            _ahead_and_repaired,
            "the window reaches ahead as well as back; and a window of 0 is treated as 1",
        ),
    ],
)
def test_a_missing_error_is_one_of_two_mistakes(
    course: Course, place: str, question: str, answer: Any, words: str
) -> None:
    """If the other mistake is random, or has no name, only one of the two is named."""
    hint = _named(course, place, question, answer).hint or ""
    assert "; and " in hint or hint.endswith(NOTE)
    assert words in hint


def test_a_right_entry_is_not_a_second_mistake(course: Course) -> None:
    text = """def query_scores(inputs, query):
    dots = torch.einsum("td,d->t", inputs, query)
    return dots / (inputs.norm(dim=-1) * query.norm())
"""
    namespace: dict[str, Any] = {"torch": torch}
    exec(text, namespace)
    found = _named(course, "simplified_attention/scores", "query_scores", namespace["query_scores"])
    assert found.misconception == "scores.cosine"
    assert "gradient" not in (found.hint or "")


def test_a_broken_rule_is_not_a_second_mistake(course: Course) -> None:
    """A mistake that only breaks a rule changes no values, so it could accompany any mistake."""

    def heads_first(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> Any:
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return (torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ values).transpose(0, 1)

    found = _named(course, "multi_head_attention/heads", "causal_head_attention", heads_first)
    assert "torch's own attention function" not in (found.hint or "")


def test_a_list_is_not_named_as_a_wrong_join(course: Course) -> None:
    """An answer that does not join the heads is not said to join them in the wrong way."""

    def projected(inputs: torch.Tensor, weights: torch.Tensor) -> Any:
        return [inputs @ weight.T for weight in weights]

    found = _named(course, "multi_head_attention/head_weights", "project_heads", projected)
    assert "side by side" not in (found.hint or "")


def test_the_most_frequent_of_equal_mistakes_is_named() -> None:
    def row(name: str) -> Row:
        return Row(name, f"{name}.", member=0)

    rare, frequent = row("one_part_of_a_sum_is_added_twice"), row("softmax_is_left_out")
    assert name_and_hint((), [rare, frequent])[0] == frequent.name
    assert name_and_hint((), [rare, row("rows_are_gone")]) == ("", "")


def test_an_entry_that_families_can_not_change_has_no_changes() -> None:
    text = """def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
"""
    entries = ChangedEntries("attend", {"entry": text}, (), cast(Any, None), lambda *given: None)
    assert entries.changed(Row("entry", ""), Row("member", "", member=0)) == []


def test_a_value_of_a_class_is_not_changed() -> None:
    """Changing a class attribute could raise an error when the module is loaded."""
    text = """class attend:
    kept = None
    def forward(self, x):
        kept = x + 1
        return kept
"""
    entries = ChangedEntries("attend", {"e": text}, (), cast(Any, None), lambda *given: None)
    texts = [ast.unparse(own[0]) for _, made in entries.second(Row("e", "")) for own in made()]
    assert texts and all("kept = None\n" in own for own in texts)


def test_the_default_of_an_argument_may_be_changed() -> None:
    text = """def scaled(x, by=8):
    return x / by
"""
    entries = ChangedEntries("scaled", {"e": text}, (), cast(Any, None), lambda *given: None)
    number = Row("a_number_or_a_switch_is_another_than_the_one_asked_for", "", member=0)
    rows = [Row.of_member(m, 0) for _, m in entries._changes(Row("e", "")) if m.key == number.name]
    texts = [ast.unparse(own[0]) for row in rows for own in entries.changed(Row("e", ""), row)]
    assert any("by=0" in own for own in texts)


def test_a_second_mistake_is_no_change_of_the_first(tmp_path: Path) -> None:
    """Leaving out a division that only the first mistake contains is not a second mistake."""
    text = _SOLUTION.replace("scores / keys.shape[-1] ** 0.5", "scores")
    file = tmp_path / "solution.py"
    file.write_text(text)
    changes = [*members(file, "weights", {})]
    entries = ChangedEntries("weights", {"e": text}, changes, cast(Any, None), lambda *given: None)
    scaled = "numbers_are_scaled_by_a_root_that_is_not_asked_for"
    number, first = next((n, m) for n, m in enumerate(changes) if m.key == scaled)
    second = {row.name for row, _ in entries.second(Row.of_member(first, number))}
    assert "the_division_by_a_root_is_left_out" not in second
    assert "one_side_of_a_product_is_transposed_that_should_not_be" in second


@pytest.mark.parametrize("is_pair", [False, True])
def test_a_pair_first_gets_the_first_wrong_call(is_pair: bool) -> None:
    def calls(*figures: float) -> tuple[Call, ...]:
        return tuple(Call("call", "", "number", (figure,), (1e-3,)) for figure in figures)

    names = ("one_step_is_left_out", "softmax_is_left_out")
    rows = tuple(Row(name, "", words=name, member=at) for at, name in enumerate(names))
    right, came = calls(0, 1, 2), calls(0, 5, 6)
    known = (calls(0), calls(1, 5), calls(2, 6))
    table = Table(rows, known, np.array([[0, 1, 0], [0, 0, 1]], np.int16), (0, 0, 0), {}, {})
    asked: list[int | None] = []

    def both(one: int, other: int, test: str, count: int | None) -> AnswerRecord:
        asked.append(count)
        return AnswerRecord((came if is_pair else right)[:count])

    columns = {"test": slice(0, 3)}
    answers = cast(Any, SimpleNamespace(answered=lambda test: AnswerRecord(came)))
    search = Search(table, columns, answers, lambda number, test: None)
    entries = ChangedEntries("", {}, (), cast(Any, None), lambda text, batch: [])
    found = PairSearch(search, entries).first(both)
    assert asked == ([2, None] if is_pair else [2])
    assert bool(found) == is_pair


def test_naming_an_answer_that_may_keep_draws_gets_a_worker() -> None:
    done: list[str] = []

    def explain(result: Any, ask: object, text: str) -> Any:
        done.append(result.question)
        return result

    diagnosis = SimpleNamespace(
        prepare=lambda result: None,
        may_keep_draws=lambda result: result.question == "dropout",
        explain=explain,
    )
    watch = SimpleNamespace(enter=lambda at: None, enter_tables=lambda: None, left_out=())
    exercise = SimpleNamespace(name="dropout", hidden_suite=Path("suite"))
    task: Any = SimpleNamespace(exercise=exercise, watch=watch, answers=SimpleNamespace(text=""))
    worker: Any = SimpleNamespace(close=lambda: done.append("new worker"))
    grader = ExerciseGrader(cast(Any, None), cast(Any, None), cast(Any, {Path("suite"): diagnosis}))
    results: Any = [SimpleNamespace(question=name) for name in ("causal_mask", "dropout")]
    assert grader._named(task, worker, results) == results
    assert done == ["causal_mask", "new worker", "dropout"]


def test_without_entries_there_are_no_second_mistakes() -> None:
    entries = ChangedEntries("attend", {}, (), cast(Any, None), lambda *given: None)
    assert entries.second(Row("member", "", member=0)) == ()
