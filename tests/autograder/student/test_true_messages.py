"""Messages about failures are true, for all checks and tests and for answers with known faults."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

from autograder.course import load_course
from autograder.errors import AnswerFault
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.records import Exercise
from autograder.student.explaining import AnswerContext
from autograder.student.last_call import RecordedCall, Recorder
from autograder.student.pasting import pasteable
from autograder.student.runner import run_checks
from autograder.suite import LocalImplementation

ROOT = Path(__file__).resolve().parents[3]
COURSE = load_course(ROOT)
EXERCISES = {e.name: e for assignment in COURSE.assignments for e in assignment.exercises}
NO_ERROR = "a result, and no error"
#: phrases that occur only in messages about wrong values
OF_VALUES = re.compile(
    r"the future has weight|rows and columns|sums? to|`\.view` needs|samples of a batch|"
    r"the module's mode|leave nothing behind|right one times|infinite",
    re.IGNORECASE,
)

#: a function that makes a wrong result, given one that returns the right result
Wrong = Callable[[Callable[[], Any]], Any]


def _another_error(right: Callable[[], Any]) -> Any:
    try:
        return right()
    except NotImplementedError:
        raise
    except Exception:
        assert False  # noqa: B011, PT015 - as students write it


def _of_floats(change: Callable[[torch.Tensor], torch.Tensor]) -> Wrong:
    def one(value: Any) -> Any:
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return change(value) if is_float else value

    return lambda right: tree_map(one, right())


def _nothing(right: Callable[[], Any]) -> Any:
    right()


NAN = _of_floats(lambda value: value * torch.nan)
RANDOM = _of_floats(lambda value: value + torch.rand_like(value))
DETACHED = _of_floats(torch.Tensor.detach)


def _wrong(name: str, right: Any, wrong: Wrong) -> Any:
    """Returns a question's solution with its result changed by `wrong`."""
    if not inspect.isclass(right):
        return lambda *args: wrong(lambda: right(*args))

    class Layer(right):  # type: ignore[misc]
        def __init__(self, *args: Any) -> None:
            if wrong is _another_error:
                wrong(lambda: super(Layer, self).__init__(*args))
            else:
                super().__init__(*args)

        def forward(self, *args: Any) -> Any:
            return wrong(lambda: super(Layer, self).forward(*args))

    Layer.__name__ = name
    return Layer


@pytest.fixture(scope="module", params=EXERCISES)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    found: Exercise = EXERCISES[request.param]
    return found


@pytest.fixture(scope="module")
def right(exercise: Exercise) -> Mapping[str, Any]:
    return LocalImplementation.from_file(exercise.solution).namespace


def _failures(exercise: Exercise, right: Mapping[str, Any], wrong: Wrong) -> Iterator[str]:
    """Yields the messages of failed checks, except for checks of randomness."""
    names = {q.name: _wrong(q.name, right[q.name], wrong) for q in exercise.questions}
    found = run_checks(exercise.public_suite, LocalImplementation(names), AnswerContext(globals()))
    source = exercise.public_suite.read_text()
    for question in found:
        for test in question.tests:
            by_chance = f"by_chance\ndef {test.name}(" in source
            if not test.passed and not by_chance:
                yield f"{question.question}, {test.name}:\n{test.message}"


def test_an_unexpected_error_is_named_with_the_expected_one(
    exercise: Exercise, right: Mapping[str, Any]
) -> None:
    for text in _failures(exercise, right, _another_error):
        assert "got       AssertionError" in text, text
        assert re.search(r"expected  (Value|Key)Error\nlikely: ", text), text


def test_nan_is_reported_as_nan(exercise: Exercise, right: Mapping[str, Any]) -> None:
    texts = list(_failures(exercise, right, NAN))
    assert texts
    for text in texts:
        assert "nan" in text and not OF_VALUES.search(text), text


def test_a_random_answer_is_reported_as_random(
    exercise: Exercise, right: Mapping[str, Any]
) -> None:
    texts = list(_failures(exercise, right, RANDOM))
    assert texts
    for text in texts:
        assert "two different results of the same call" in text, text


def test_a_number_that_was_never_set_is_reported_as_random() -> None:
    def without_the_last(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        result = torch.empty(len(inputs))
        result[:-1] = inputs[:-1] @ query
        # reused memory often still contains the right numbers
        return result if result[-1].isnan() else torch.cat([result[:-1], torch.ones(1)])

    names = {"query_scores": without_the_last, "attention_scores": without_the_last}
    suite = EXERCISES["scores"].public_suite
    found, _ = run_checks(suite, LocalImplementation(names), AnswerContext(globals()))
    message = found.tests[0].message
    assert "two different results of the same call" in message and "`torch.empty`" in message


def test_minus_infinity_in_each_call_is_not_reported_as_random() -> None:
    def of_the_past(scores: torch.Tensor) -> torch.Tensor:
        return scores.masked_fill(torch.ones_like(scores).tril(-1) == 1, -torch.inf)

    suite = EXERCISES["masking"].public_suite
    answers = LocalImplementation({"mask_scores": of_the_past})
    (found,) = run_checks(suite, answers, AnswerContext(globals()), ["mask_scores"])
    messages = "".join(test.message for test in found.tests)
    assert "The future has weight" in messages and "two different results" not in messages


def test_a_missing_result_is_reported_as_missing(
    exercise: Exercise, right: Mapping[str, Any]
) -> None:
    texts = list(_failures(exercise, right, _nothing))
    assert texts
    for text in texts:
        assert "got       None" in text and "without `return`" in text, text


def test_a_missing_gradient_is_reported(exercise: Exercise, right: Mapping[str, Any]) -> None:
    for text in _failures(exercise, right, DETACHED):
        assert "gradient" in text and not OF_VALUES.search(text), text


@pytest.fixture(scope="module")
def runner() -> SuiteRunner:
    return collect_suites(ROOT, [exercise.hidden_suite for exercise in EXERCISES.values()])


@pytest.mark.parametrize("wrong", [_another_error, NAN], ids=["another error", "nan"])
def test_messages_of_hidden_tests_are_also_true(
    exercise: Exercise, right: Mapping[str, Any], runner: SuiteRunner, wrong: Wrong
) -> None:
    names = {q.name: _wrong(q.name, right[q.name], wrong) for q in exercise.questions}
    warnings.simplefilter("ignore")
    (*results,) = (
        runner.judge(exercise.hidden_suite, LocalImplementation(names), 0, only=q.name)
        for q in exercise.questions
    )
    for judged in results:
        for result in judged:
            for test in result.tests:
                if wrong is _another_error:
                    assert test.passed or NO_ERROR not in test.message, test
                else:
                    message = test.message.partition("\nremember: ")[0]
                    assert not OF_VALUES.search(message), test


def test_a_call_to_try_shows_the_names_of_wrong_weights(capsys: pytest.CaptureFixture[str]) -> None:
    class Projection(torch.nn.Module):
        def __init__(self, d_in: int, d_out: int) -> None:
            super().__init__()
            self.keys = torch.nn.Parameter(torch.zeros(d_in, d_out))

    names = {"Projection": Projection}
    recorder = Recorder(LocalImplementation(names))
    layer = recorder.build("Projection", (3, 2))
    with pytest.raises(AnswerFault):
        layer.load({"W_key": torch.ones(3, 2)})
    assert recorder.last is not None
    exec(pasteable(recorder.last, names), dict(names))
    assert capsys.readouterr().out == "{'keys': torch.Size([3, 2])}\n"


@pytest.mark.parametrize("known", [{}, {"SimpleNamespace": SimpleNamespace}])
def test_a_call_to_try_runs_where_the_answer_is_defined(known: dict[str, Any]) -> None:
    config = SimpleNamespace(n_embd=6, attn_pdrop=0.0)
    names = {"torch": torch, "Layer": lambda config, scale: (config, scale), **known}
    code = pasteable(RecordedCall("Layer", (), built=(config, torch.tensor([0.5]))), names)
    exec(code, names)
    assert names["layer"] == (config, torch.tensor([0.5]))
    assert ("import" in code) == (not known)
