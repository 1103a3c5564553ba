"""The points read from a suite's text equal those that pytest collects."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.course.points import points_of
from autograder.errors import ContentError
from autograder.grading.judging.suites import collect_suites

HEAD = "import pytest\nCASES, OTHER = [1, 2, 3], 'other'\n"
ROOT = Path(__file__).parents[3]
SUITES = sorted(ROOT.glob("tests/hidden/*/test_*.py"))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return tmp_path / "test_sums.py"


@pytest.mark.parametrize("path", SUITES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_courses_suites_have_the_points_that_pytest_counts(path: Path) -> None:
    counted = collect_suites(ROOT, [path]).points(path)
    assert points_of(path) == counted


def test_parametrised_tests_count_once_for_each_case(suite: Path, tmp_path: Path) -> None:
    suite.write_text(
        HEAD + '@pytest.mark.parametrize("a", CASES)\n'
        '@pytest.mark.parametrize("b", [(1, 2), pytest.param(3)])\n'
        '@pytest.mark.question("q", points=0.5)\ndef test_it(a, b): pass\n'
        "@pytest.mark.question(OTHER, points=2)\ndef test_other(): pass\n"
    )
    tmp_path.joinpath("solutions").mkdir()
    counted = collect_suites(tmp_path, [suite]).points(suite)
    assert points_of(suite) == counted == {"q": 3.0, "other": 2.0}


def test_cases_share_what_they_are_worth_together(suite: Path, tmp_path: Path) -> None:
    for cases in ([1, 2], [1, 2, 3, 4]):
        suite.write_text(
            HEAD + f'@pytest.mark.parametrize("a", list({cases}))\n'
            '@pytest.mark.question("q", shared=2)\ndef test_it(a): pass\n'
        )
        tmp_path.joinpath("solutions").mkdir(exist_ok=True)
        counted = collect_suites(tmp_path, [suite]).points(suite)
        assert points_of(suite) == counted == {"q": 2.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def test_it(): pass\n", "3: test_it does not say what it judges"),
        ('@pytest.mark.question("q")\ndef test_it(): pass\n', "4: test_it does not say"),
        ('@pytest.mark.question("q", points=len("x"))\ndef test_it(): pass\n', "4: test_it does"),
        ("class TestIt:\n    pass\n", "3: TestIt is a test class"),
        (
            '@pytest.mark.parametrize("a", range(3))\n@pytest.mark.question("q", points=1)\n'
            "def test_it(a): pass\n",
            "3: the cases of test_it can't be counted",
        ),
        ("def test_it(:\n", "3: "),
        ('@pytest.mark.question("q", points=-1)\ndef test_it(): pass\n', "3: test_it gives -1"),
        ('@pytest.mark.question("q", shared=-1)\ndef test_it(): pass\n', "3: test_it gives -1"),
        ('@pytest.mark.question("q", points=1e999)\ndef test_it(): pass\n', "3: test_it gives inf"),
        ('@pytest.mark.question("q", points="nan")\ndef test_it(): pass\n', "3: test_it gives nan"),
    ],
)
def test_a_test_with_unclear_points_is_named(suite: Path, text: str, problem: str) -> None:
    suite.write_text(HEAD + text)
    with pytest.raises(ContentError) as caught:
        points_of(suite)
    assert f"{suite}:{problem}" in str(caught.value)


def test_a_missing_suite_is_named(suite: Path) -> None:
    with pytest.raises(ContentError, match="no such suite"):
        points_of(suite)


def test_pytest_does_not_collect_a_suite_with_negative_points(suite: Path, tmp_path: Path) -> None:
    tmp_path.joinpath("solutions").mkdir()
    suite.write_text(
        HEAD + '@pytest.mark.question("q", points=3)\ndef test_it(): pass\n'
        '@pytest.mark.question("q", points=-1)\ndef test_more(): pass\n'
    )
    with pytest.raises(ContentError, match="test_more gives -1 points"):
        collect_suites(tmp_path, [suite])
