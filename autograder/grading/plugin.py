"""The pytest plugin of the hidden suites: adds the solutions, and submissions behind the wall."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..suite.plugin import SOLUTIONS, _from_folder, draw, expect, implementation, solution
from ..suite.plugin import pytest_addoption as _suite_options
from ..suite.plugin import pytest_configure as _suite_configure

__all__ = ["draw", "expect", "implementation", "solution"]


def pytest_addoption(parser: pytest.Parser) -> None:
    _suite_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    _suite_configure(config)
    root = Path(config.rootpath)
    if (root / "solutions").is_dir():
        config.stash[SOLUTIONS] = _from_folder(root / "solutions")
