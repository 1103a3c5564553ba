"""A correct answer that rounds differently is accepted within the tolerance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

from autograder.course import load_course
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.records import Exercise
from autograder.suite import Draw, Expect, LocalImplementation
from autograder.suite.compare import tolerance_of
from autograder.suite.traits import Tensor, Traits, check_trait
from autograder.suite.traits.declaration import GENERATED

ROOT = Path(__file__).parents[3]
COURSE = load_course(ROOT)
EXERCISES = {
    f"{exercise.assignment}/{exercise.name}": exercise
    for assignment in COURSE.assignments
    for exercise in assignment.exercises
}
#: a division by the square root of a size, as solutions write it
_SCALE = re.compile(r"/ (?:math\.sqrt\(([\w.]+(?:\[-1\]|\(-1\))?)\)|([\w.]+(?:\[-1\])?)\*\*0\.5)")
#: questions whose results are views or copies of the inputs, and must be exact
EXACT = {"split_heads", "merge_heads", "embed"}


class _Rounded:
    """The solution, with a change to each returned number."""

    def __init__(self, inner: Any, change: Any) -> None:
        self._inner, self._change = inner, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _all(self, value: Any) -> Any:
        return tree_map(lambda leaf: self._change(leaf), value)

    def call(self, *args: Any) -> Any:
        outcome = self._inner.call(*args)
        return replace(outcome, value=self._all(outcome.value))

    def forward(self, *args: Any) -> Any:
        outcome = self._inner.forward(*args)
        return replace(outcome, value=self._all(outcome.value))

    def gradients(self, *args: Any) -> Any:
        found = self._inner.gradients(*args)
        return replace(
            found,
            value=self._all(found.value),
            inputs=self._all(found.inputs),
            weights=self._all(dict(found.weights)),
        )

    def steps(self, *args: Any) -> Any:
        return self._all(self._inner.steps(*args))

    def build(self, name: str, args: Sequence[Any]) -> Any:
        return _Rounded(self._inner.build(name, args), self._change)

    def restored(self) -> Any:
        return _Rounded(self._inner.restored(), self._change)


def _few_steps(leaf: Any) -> Any:
    """Increases a number by three rounding steps, as summing in a different order might."""
    return leaf * (1 + 3 * torch.finfo(leaf.dtype).eps) if _is_float(leaf) else leaf


def _half_of_the_tolerance(leaf: Any) -> Any:
    return leaf * (1 + tolerance_of(leaf.dtype).rtol / 2) if _is_float(leaf) else leaf


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


@pytest.fixture(scope="module")
def runner() -> Iterator[SuiteRunner]:
    threads = torch.get_num_threads()
    yield collect_suites(ROOT, [exercise.hidden_suite for exercise in EXERCISES.values()])
    torch.set_num_threads(threads)


def _refused(runner: SuiteRunner, exercise: Exercise, change: Any) -> dict[str, str]:
    answer: Any = _Rounded(runner.solution(exercise.hidden_suite), change)
    outcomes = {
        question.name: runner.first_failure(exercise.hidden_suite, question.name, answer, seed=1)
        for question in exercise.questions
        if question.name not in EXACT
    }
    return {
        question: f"{outcome.name}: {outcome.failure}"
        for question, outcome in outcomes.items()
        if outcome is not None
    }


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("change", [_few_steps, _half_of_the_tolerance])
def test_other_rounding_costs_nothing(runner: SuiteRunner, name: str, change: Any) -> None:
    assert _refused(runner, EXERCISES[name], change) == {}


SCALED = {name: one for name, one in EXERCISES.items() if _SCALE.search(one.solution.read_text())}


@pytest.mark.parametrize("seed", (4, 5))  # each of these seeds once refused a right answer
@pytest.mark.parametrize("name", SCALED)
def test_a_scale_in_float32_is_right(runner: SuiteRunner, name: str, seed: int) -> None:
    exercise = SCALED[name]
    text = _SCALE.sub(r"* torch.tensor(float(\1\2)).rsqrt()", exercise.solution.read_text())
    module = ModuleType("scaled")
    exec(compile(text, "scaled", "exec"), vars(module))
    answer = LocalImplementation(vars(module), text)
    for question in exercise.questions:
        assert not runner.first_failure(exercise.hidden_suite, question.name, answer, seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("trait", GENERATED)
def test_torchs_own_norm_is_right_in_a_new_course(trait: str, seed: int) -> None:
    def norm(x: torch.Tensor) -> torch.Tensor:
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5)

    answer = LocalImplementation(
        {"norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:])}
    )
    expect = Expect(answer, LocalImplementation({"norm": norm}), Draw(seed, "norm"))

    # with fewer entries, some rows hardly vary in some draws
    check_trait(expect, Traits("norm", [Tensor("... D")], smallest={"D": 4}), trait)
