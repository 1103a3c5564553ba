"""A test's random numbers do not depend on other tests."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

from .runners import ROOT
from .seeds import SEED

Drawn = tuple[float, float, float]


def draw() -> Drawn:
    return random.random(), float(numpy.random.random()), torch.rand(1).item()


def first_of_seed() -> Drawn:
    by_torch = torch.rand(1, generator=torch.Generator().manual_seed(SEED)).item()
    return (
        random.Random(SEED).random(),
        float(numpy.random.RandomState(SEED % 2**32).random()),
        by_torch,
    )


AT_IMPORT = draw()


@pytest.fixture(scope="module")
def of_module() -> Drawn:
    return draw()


@pytest.fixture
def of_test(of_module: Drawn) -> Drawn:
    return draw()


@pytest.mark.parametrize("time", ["first", "second"])
def test_each_test_draws_the_first_random_numbers(
    of_module: Drawn, of_test: Drawn, time: str
) -> None:
    assert [AT_IMPORT, of_module, of_test, draw()] == [first_of_seed()] * 4


IMPORTS_TORCH = """
from tests.autograder import seeds
seeds.begin_again()
import torch
print(torch.rand(1).item(), torch.default_generator.initial_seed())
"""


def test_torch_that_a_test_imports_begins_with_the_seed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS_TORCH],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(first_of_seed()[2]), str(SEED)]


def test_hypothesis_tries_the_same_in_every_run() -> None:
    calls = [
        (path.name, node)
        for path in Path(__file__).parent.rglob("test_*.py")
        if "from hypothesis import" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "settings"
    ]
    free = [name for name, call in calls if "derandomize" not in {k.arg for k in call.keywords}]
    assert calls and not free, f"settings(derandomize=True): {free}"
