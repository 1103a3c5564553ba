"""Nothing in the caller's environment changes inputs or points."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import load_course
from autograder.course.points import points_of
from autograder.errors import GraderError
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.inherited import forget_callers_settings

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests/autograder/authoring/small_course"


@pytest.fixture
def collecting(tmp_path: Path) -> Callable[[str], tuple[Path, SuiteRunner]]:
    """Returns a function that collects the suite of a small course with this `conftest.py`."""

    def collect(conftest: str) -> tuple[Path, SuiteRunner]:
        (tmp_path / "solutions").mkdir()
        (tmp_path / "conftest.py").write_text(conftest)
        suite = tmp_path / "test_sums.py"
        suite.write_text(
            "import pytest\n"
            '@pytest.mark.question("total", points=2)\ndef test_one(expect): ...\n'
            '@pytest.mark.question("total", points=3)\ndef test_other(expect): ...\n'
        )
        return suite, collect_suites(tmp_path, [suite])

    return collect


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTEST_ADDOPTS", "-k one"),
        ("PYTEST_ADDOPTS", "-k nothing"),
        ("PYTEST_ADDOPTS", "--no-such-option"),
        ("PYTEST_ADDOPTS", "-x --color=yes"),
        ("PYTEST_PLUGINS", "no_such_plugin"),
    ],
)
def test_pytests_variables_of_the_caller_leave_no_test_out(
    collecting: Callable[[str], tuple[Path, SuiteRunner]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv(name, value)
    suite, runner = collecting("")
    assert runner.points(suite) == points_of(suite) == {"total": 5.0}
    assert os.environ[name] == value, "the caller's environment is the caller's again"


def test_a_plugin_that_leaves_a_test_out_ends_the_run(
    collecting: Callable[[str], tuple[Path, SuiteRunner]],
) -> None:
    with pytest.raises(GraderError, match="total: 2 of 5 points"):
        collecting("def pytest_collection_modifyitems(items):\n    del items[1:]\n")


def test_suites_of_this_course_are_collected_with_all_points() -> None:
    suites = [e.hidden_suite for a in load_course(ROOT).assignments for e in a.exercises]
    runner = collect_suites(ROOT, suites)
    for suite in suites:
        assert runner.points(suite) == pytest.approx(points_of(suite))


def test_a_command_forgets_what_changes_how_torch_and_python_compute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY", "PYTHONOPTIMIZE", "MKL_CBWR"):
        monkeypatch.setenv(name, "banana")
    monkeypatch.setenv("PYTHONPATH", "/packages")
    forget_callers_settings()
    left = {name for name, value in os.environ.items() if value == "banana"}
    assert not left and os.environ["PYTHONPATH"] == "/packages"
