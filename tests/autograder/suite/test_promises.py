"""Hidden suites use only inputs that the questions promise, so correct answers may rely on that."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.course import load_course
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.suite import load_module
from autograder.worker.execution import tensors_in

ROOT = Path(__file__).resolve().parents[3]
ASSIGNMENTS = load_course(ROOT).assignments
#: the largest score before any division, except in the exercise that is tested with large scores
MOST_SCORE, MOST_HEADS, MOST_DIMENSIONS = 50.0, 16, 5
LARGE_SCORES = "blockwise_attention"


def _calls(request: tuple[Any, ...]) -> Iterator[tuple[Any, list[Any]]]:
    operation, target, *rest = request
    if operation in ("call", "gradients", "operators", "forward", "layer_gradients"):
        yield target, rest[0]
    elif operation in ("steps", "layer_steps"):
        yield from ((target, args) for args, _ in rest[0])


def _largest_score(queries: torch.Tensor, keys: torch.Tensor) -> float:
    if queries.dim() == 4 and keys.shape[1] and queries.shape[1] % keys.shape[1] == 0:
        keys = keys.repeat_interleave(queries.shape[1] // keys.shape[1], 1)
    fits = queries.shape[:-2] == keys.shape[:-2] and queries.shape[-1] == keys.shape[-1]
    return float((queries.double() @ keys.double().mT).abs().max()) if fits else 0.0


@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda one: str(one.name))
def test_scores_heads_and_dimensions_are_those_of_the_contract(assignment: Any) -> None:
    runner = collect_suites(ROOT, [exercise.hidden_suite for exercise in assignment.exercises])
    asked, compared = 0, 0
    for exercise in assignment.exercises:
        solution = load_module(exercise.solution, f"promised_{exercise.name}")
        for test, requests in rehearse(runner, exercise.hidden_suite, 1).requests.items():
            for target, args in (call for request in requests for call in _calls(request)):
                asked += 1
                assert all(t.dim() <= MOST_DIMENSIONS for t in tensors_in(args)), test
                function = getattr(solution, str(target), None)
                names = list(inspect.signature(function).parameters) if function else []
                named = dict(zip(names, args, strict=False))
                if {"queries", "keys"} <= named.keys():
                    compared += 1
                    queries, keys = named["queries"].detach(), named["keys"].detach()
                    if exercise.name != LARGE_SCORES:
                        assert _largest_score(queries, keys) < MOST_SCORE, test
                    assert queries.dim() < 4 or queries.shape[-3] <= MOST_HEADS, test
    assert asked > 100
    assert compared or assignment.name == "transformer_block"
