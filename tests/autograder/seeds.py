"""Makes every test draw the same random numbers, whatever ran before it in the process.

Each import, fixture and test starts from the same seed. Fixtures have to be seeded separately,
because a module's fixture is set up before the first test that uses it, and must not change that
test's random numbers. Hypothesis has its own generator: `derandomize=True` makes its examples the
same in every run. This module changes neither the seeds of a class, which come from `secrets`, nor
the seeds that workers get for each question.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

import numpy
import pytest

#: the seed; no test's outcome may depend on it, as `TEST_SEED=7 make test` checks
SEED = int(os.environ.get("TEST_SEED", 0))


def begin_again() -> None:
    """Seeds all generators of this process, including torch's if torch is loaded."""
    random.seed(SEED)
    numpy.random.seed(SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(SEED)


class _TorchFinder(MetaPathFinder):
    """Seeds torch when it is first imported, because torch starts with a random seed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name) if name == "torch" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _TorchLoader(name, spec.loader.path)
        return spec


class _TorchLoader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.default_generator.manual_seed(SEED)


sys.meta_path.insert(0, _TorchFinder())


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart() -> None:
    """Seeds the random number generators before a test module is imported."""
    begin_again()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Seeds the random number generators before a fixture is set up."""
    begin_again()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Seeds the random number generators before a test is called."""
    begin_again()
