"""Judges a sample from the mutation and soak runs: wrong answers fail, and correct ones pass."""

from __future__ import annotations

import sys
import tomllib
from types import ModuleType

import pytest
import torch

from autograder.course import Course
from autograder.grading.judging.suites import collect_suites
from autograder.suite.local import LocalImplementation
from tools.unseen import judged_of

#: exercises whose answers take little time
EXERCISES = (
    ("simplified_attention", "scores"),
    ("simplified_attention", "context"),
    ("self_attention", "embedding"),
    ("self_attention", "projections"),
    ("causal_attention", "masking"),
    ("decoder_attention", "rotary_embedding"),
)


@pytest.mark.parametrize(("assignment", "name"), EXERCISES)
def test_right_variants_pass_and_wrong_ones_only_if_explained(
    course: Course, assignment: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = course.assignment(assignment).exercise(name)
    runner = collect_suites(course.root, [exercise.hidden_suite])
    entries = tomllib.loads((course.root / "tests/mutation/equivalent.toml").read_text())
    place = f"{assignment}/{name}"
    explained = {
        (entry["question"], means)
        for entry in entries["equivalent"]
        if (entry["module"], entry["operator"]) == (place, "attack")
        for means in entry["after"]
    }
    passed = set()
    refused = []
    for answer in judged_of(exercise, course.root):
        text = f"{exercise.solution.read_text(encoding='utf-8')}\n{answer.text}"
        module = ModuleType("_attack")
        monkeypatch.setitem(sys.modules, "_attack", module)  # dataclasses look up their module
        exec(text, vars(module))
        implementation = LocalImplementation(vars(module), text)
        with torch.enable_grad():  # because an answer may turn gradients off
            suite = exercise.hidden_suite
            failure = runner.first_failure(suite, answer.question, implementation, 1)
        if failure is None and answer.means:
            passed.add((answer.question, answer.means))
        if failure is not None and not answer.means:
            refused.append((answer, failure))
    assert not refused
    assert passed == explained
