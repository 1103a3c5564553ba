"""Names of mistakes: what is compared, what is kept, what families are made of a solution."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.course import Course
from autograder.grading.judging.recorder import Event, Recorder
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.answered import Answered, answered, behaviour_of
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.naming.families import members
from autograder.grading.naming.table import Table
from autograder.records import QuestionResult
from autograder.records import TestResult as Result
from autograder.suite.local import LocalImplementation

X = torch.linspace(0.5, 2.0, 600).reshape(20, 30)


def _answered(*values: Any, passed: bool = False) -> Answered:
    events = [Event("call f", value) for value in values]
    return answered(Result("test", passed, 0.0, 1.0, "f():\ngot 1"), events)


def test_one_entry_that_differs_makes_another_answer() -> None:
    other = X.clone()
    other[7, 11] += 0.5
    assert not _answered(X).equals(_answered(other))


def test_rounding_makes_no_other_answer_and_no_other_behaviour() -> None:
    near = _answered(X * (1 + 1e-7))
    assert _answered(X).equals(near)
    assert behaviour_of({"test": _answered(X)}) == behaviour_of({"test": near})


def test_shape_dtype_and_what_is_not_finite_count() -> None:
    with_nan = X.clone()
    with_nan[0, 0] = torch.nan
    others = (X.double(), X.flatten(), with_nan, [X, X])
    assert not any(_answered(X).equals(_answered(other)) for other in others)


def _dropped(times: int, p: float = 0.3, scale: float = 1 / 0.7, rows: int = 1) -> list[Answered]:
    shape = (20, 30 if rows == 1 else 1)
    return [_answered(X * (torch.rand(shape) >= p) * scale) for _ in range(times)]


def test_a_draw_of_the_same_mistake_is_among_its_draws() -> None:
    torch.manual_seed(3)
    draws = _dropped(8)
    assert all(answer.is_among(draws) for answer in _dropped(20))


@pytest.mark.parametrize("other", [{"p": 0.5}, {"scale": 1.0}, {"rows": 20}], ids=str)
def test_a_draw_of_another_mistake_is_not(other: dict[str, Any]) -> None:
    torch.manual_seed(3)
    draws = _dropped(40)
    assert not any(answer.is_among(draws) for answer in _dropped(5, **other))


def test_a_table_is_read_again_whatever_else_stands_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "table.jsonl"
    table = Table(path)
    table.put(("mistake", "test", 0), _answered(X), False)
    table.save()
    whole = path.read_bytes()
    path.write_bytes(b'\xff{"\n[1]\n' + json.dumps([["a", "b", 0], False, [1, "", [[1]]]]).encode())
    with path.open("ab") as file:
        file.write(b"\n" + whole + whole[:100])
    found = Table(path).get(("mistake", "test", 0))
    assert found is not None and found[0].equals(_answered(X))
    assert Table(path).get(("a", "b", 0)) is None


def test_a_table_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    table = Table(tmp_path / "file" / "table.jsonl")
    table.put(("mistake", "test", 0), _answered(X), False)
    table.save()
    assert table.get(("mistake", "test", 0)) is not None


_SOLUTION = """
import torch
def weights(queries, keys):
    ### BEGIN SOLUTION
    scores = queries @ keys.mT
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    ### END SOLUTION
"""


def test_families_are_changes_of_known_steps(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_SOLUTION)
    found = list(members(solution, "weights", {"torch": torch}))
    q, k = torch.randn(3, 5), torch.randn(4, 5)
    unscaled = torch.softmax(q @ k.mT, -1)
    names = {member.name for member in found if _gives(member.answer, (q, k), unscaled)}
    assert "one_step_is_left_out" in names and not names & {"the_mask_has_no_effect"}
    assert len({member.name for member in found}) > 20


def _gives(answer: Any, args: Sequence[torch.Tensor], expected: torch.Tensor) -> bool:
    try:
        value = answer(*args)
    except Exception:
        return False
    return isinstance(value, torch.Tensor) and torch.equal(value, expected)


@pytest.fixture(scope="module")
def diagnosis(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Any:
    exercise = course.assignment("simplified_attention").exercise("scores")
    runner = collect_suites(course.root, [exercise.hidden_suite])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        found = Diagnosis(runner, exercise, course.variants("misconceptions", exercise))

    def name(function: Any, text: str = "") -> QuestionResult:
        def ask(question: str, seed: int) -> tuple[QuestionResult, Recorder]:
            recorder = Recorder(LocalImplementation({"query_scores": function}, text))
            suite = exercise.hidden_suite
            (result,) = runner.judge(suite, recorder, seed, recorder, question)
            return result, recorder

        return found.explain(ask("query_scores", 3)[0], ask, text)

    return name


def test_a_known_mistake_has_its_name_and_a_behaviour(diagnosis: Any) -> None:
    one = diagnosis(lambda inputs, query: (inputs @ query).abs())
    other = diagnosis(lambda inputs, query: (inputs * query).sum(-1).abs())
    assert one.misconception is not None and one.misconception.startswith("scores.")
    assert one.misconception == other.misconception
    assert one.behaviour == other.behaviour


def test_a_family_names_what_the_catalogue_does_not_hold(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: torch.round(inputs @ query, decimals=2))
    assert result.misconception == "scores.numbers_are_rounded_on_the_way"
    assert "rounded" in result.hint


def test_what_nobody_foresaw_has_a_behaviour_and_no_name(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: (inputs @ query).sin() * 3 + 1)
    assert result.misconception is None and result.hint is None
    assert result.behaviour.startswith("sha256:")


def test_a_right_answer_is_not_asked_again(diagnosis: Any) -> None:
    result = diagnosis(lambda inputs, query: inputs @ query)
    assert result.behaviour is None
