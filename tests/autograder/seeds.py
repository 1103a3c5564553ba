"""Every test draws the same random numbers, whatever ran before it in the process.

What an import, a fixture or a test draws begins anew from one seed, each on its own: a fixture of
a whole module is set up before one of its tests only, and must not change what that one draws.
Hypothesis draws by itself: `derandomize=True` makes its examples the same in every run, too.
Seeds of a class come from `secrets`, and workers are seeded for each question: neither is touched.
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

#: no test may come out otherwise with another one: `TEST_SEED=7 make test`
SEED = int(os.environ.get("TEST_SEED", 0))


def begin_anew() -> None:
    """Seeds what draws in this process; torch where it is there, since importing it takes long."""
    random.seed(SEED)
    numpy.random.seed(SEED)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(SEED)


class _TorchFinder(MetaPathFinder):
    """Finds torch for the first test that imports it: by itself torch begins anywhere."""

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
    """Before a module of tests is imported."""
    begin_anew()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Before a fixture is set up."""
    begin_anew()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Before a test is called."""
    begin_anew()
