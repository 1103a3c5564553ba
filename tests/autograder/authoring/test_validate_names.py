"""`validate` reports names that no other file knows, before it grades anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.authoring import release
from autograder.course import load_course
from autograder.errors import ContentError
from autograder.grading.naming.unmatched import is_description

Edit = Callable[[str, str, str], None]

VARIANT = """from autograder.suite import {kind}


def helper(x):
    return x


@{kind}({arguments})
def other(x):
    return x
"""
MISCONCEPTION = '"hlaf", confuses="halves: they are ...", hint="Why?"'


def _error(root: Path) -> ContentError:
    def starts(cases: int) -> None:
        raise AssertionError(f"{cases} cases are graded")

    with pytest.raises(ContentError) as caught:
        autograder.validate(["basics/halves"], course=root, starts=starts)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("misconception", MISCONCEPTION),
        ("alternative", '"hlaf"'),
        ("combination", '"hlaf", "one", "two"'),
    ],
)
def test_known_answers_to_an_unknown_question_are_an_error(
    root: Path, kind: str, arguments: str
) -> None:
    path = root / "tests" / f"{kind}s" / "basics" / "halves.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(VARIANT.format(kind=kind, arguments=arguments))
    error = _error(root)
    assert (error.path, error.line) == (path, 8)
    assert error.problem == "other: halves has no question 'hlaf'"
    assert error.fix == "use one of: half"


@pytest.mark.parametrize("kind", ["combination", "intended"])
def test_a_combination_of_an_unknown_mistake_is_an_error(root: Path, kind: str) -> None:
    mistakes = root / "tests" / "misconceptions" / "basics" / "halves.py"
    mistakes.parent.mkdir(parents=True, exist_ok=True)
    arguments = '"half", confuses="halves: they are ...", hint="Why?"'
    mistakes.write_text(VARIANT.format(kind="misconception", arguments=arguments))
    path = root / "tests" / "combinations" / "basics" / "halves.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(VARIANT.format(kind=kind, arguments='"half", "other", "ohter"'))
    error = _error(root)
    assert (error.path, error.line) == (path, 8)
    assert error.problem == "other: half has no known mistake 'ohter'"
    assert error.fix == "use one of: other"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("one_step_is_left_out", True),
        ("it_is_right_with_one_token_only", True),
        ("parameters_of_linear1_have_other_sizes_than_the_question", True),
        ("two_equal_calls_give_different_results", True),
        ("lead", False),
        ("every_call_drops_the_same_entries", False),
    ],
)
def test_names_of_descriptions_are_known(name: str, is_one: bool) -> None:
    assert is_description(name) is is_one


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("def f(:\n", 1, "not valid Python: invalid syntax"),
        (VARIANT.format(kind="alternative", arguments="NAME"), None, "a decorator can't be read"),
        (VARIANT.format(kind="misconception", arguments='"half"'), None, "a decorator can't be"),
    ],
)
def test_known_answers_that_cannot_be_read_are_an_error(
    root: Path, text: str, line: int | None, problem: str
) -> None:
    path = root / "tests" / "misconceptions" / "basics" / "halves.py"
    path.write_text(text)
    error = _error(root)
    assert (error.path, error.line) == (path, line)
    assert error.problem.startswith(problem)


@pytest.mark.parametrize("kind", ["hidden", "public"])
def test_a_suite_for_an_unknown_question_is_not_run(root: Path, edit: Edit, kind: str) -> None:
    edit(f"tests/{kind}/basics/test_halves.py", 'question("half"', 'question("hlaf"')
    error = _error(root)
    assert (error.path.parent.parent.name, error.problem) == (kind, "no test judges half")
    assert not (root / "tests" / "tables").exists()


def test_wrong_rules_are_reported_before_anything_is_graded(root: Path) -> None:
    path = root / "source" / "basics" / "rules.toml"
    path.write_text("[half]\nnot_alowed = []\n")
    assert (_error(root).path, _error(root).line) == (path, 2)


def test_files_of_an_unlisted_exercise_are_an_error(root: Path, wheel: Path, edit: Edit) -> None:
    release(load_course(root), wheel=wheel)
    edit("source/basics/assignment.toml", '"sums", "halves"', '"halves"')
    for check in (lambda: _error(root), lambda: _release_error(root)):
        error = check()
        assert error.path == root / "source" / "basics" / "assignment.toml"
        assert error.problem == (
            "files that belong to no exercise: solutions/basics/sums.py, "
            "tests/hidden/basics/test_sums.py, tests/public/basics/test_sums.py, "
            "tests/misconceptions/basics/sums.py"
        )
        assert error.fix == 'add "sums" to `exercises`, or remove the files'


@pytest.mark.parametrize(
    ("new", "line", "problem", "fix"),
    [
        (
            '"halves", "sums"]',
            2,
            "'sums' is listed twice in `exercises`",
            "list each exercise once",
        ),
        (
            '"halves"]\ndue_date = 1',
            3,
            "unknown key 'due_date'",
            "use one of: duedate, exercises, grace, limits, title",
        ),
        (
            '"halves"]\n[limits]\ncpu = 1',
            4,
            "unknown limit 'cpu'",
            "use one of: cpu_seconds, ",
        ),
    ],
)
def test_wrong_names_in_assignment_toml_are_reported_with_their_line(
    root: Path, edit: Edit, new: str, line: int, problem: str, fix: str
) -> None:
    edit("source/basics/assignment.toml", '"halves"]', new)
    with pytest.raises(ContentError) as caught:
        load_course(root)
    assert (caught.value.line, caught.value.problem) == (line, problem)
    assert caught.value.fix.startswith(fix)


def _release_error(root: Path) -> ContentError:
    with pytest.raises(ContentError) as caught:
        autograder.release(course=root)
    return caught.value


def test_tables_of_questions_that_do_not_exist_are_removed(root: Path, fork_server: object) -> None:
    tables = root / "tests" / "tables"
    tables.mkdir()
    for name in ("halves-hlaf", "sums-plus_one"):
        (tables / f"{name}.npz").write_bytes(b"")
    autograder.validate(["basics/halves"], course=root, forms=["module"])
    assert "halves-hlaf.npz" not in [path.name for path in tables.iterdir()]
    assert (tables / "sums-plus_one.npz").is_file()
