"""A student's checks run under the rules of grading, and load no more than they need."""

from __future__ import annotations

import sys

import pytest

from autograder.student.grading_sandbox import as_in_grading
from autograder.worker import compiler


def test_checks_do_not_load_the_compiler_for_its_placeholder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "torch._dynamo"
    monkeypatch.setitem(sys.modules, name, sys)  # restored after the test, whatever it was
    del sys.modules[name]
    compiler.defer()
    placeholder = sys.modules[name]
    with as_in_grading():
        assert sys.modules[name] is placeholder
