"""`autograder new`: all files of an exercise, and the first thing that is to do in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import autograder
from autograder.course import load_course, refuse_unfinished
from autograder.errors import ContentError, UserError
from autograder.operations.content import check_release
from autograder.operations.expected import differences, expected_text


def test_a_question_is_added_and_nothing_that_is_there_is_touched(root: Path) -> None:
    solution = root / "solutions" / "basics" / "sums.py"
    before = solution.read_text()
    made = autograder.new("basics", "sums", ["plus_two"], course=root)
    assert solution.read_text().startswith(before.rstrip("\n"))
    assert root / "tests" / "alternatives" / "basics" / "sums.py" in made.written
    assert [q.name for q in load_course(root).assignments[0].exercises[0].questions][-1] == (
        "plus_two"
    )
    with pytest.raises(UserError, match="plus_two is there already"):
        autograder.new("basics", "sums", ["plus_two"], course=root)


def test_a_new_exercise_is_the_last_of_its_assignment(root: Path) -> None:
    autograder.new("basics", "thirds", ["third", "Layer3"], course=root)
    (assignment,) = load_course(root).assignments
    assert [exercise.name for exercise in assignment.exercises] == ["sums", "halves", "thirds"]
    third, layer = assignment.exercises[-1].questions
    assert (third.is_class, layer.is_class) == (False, True)


@pytest.mark.parametrize("name", ["class", "two words", "1st", "_hidden", "../up", ""])
def test_a_name_that_python_cannot_have_is_refused_before_anything_is_written(
    root: Path, name: str
) -> None:
    before = sorted(root.rglob("*"))
    for names in [(name, "thirds", []), ("basics", name, []), ("basics", "thirds", [name])]:
        with pytest.raises(UserError, match="can't be a name in Python"):
            autograder.new(*names, course=root)
    assert sorted(root.rglob("*")) == before


def test_a_folder_of_other_things_does_not_become_a_course(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match=r"it holds thesis\.tex. Go to an empty folder"):
        autograder.new("a", "b", course=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("missing", "what"),
    [
        ("tests/hidden/basics/test_halves.py", "no hidden suite"),
        ("tests/public/basics/test_halves.py", "no suite of public checks"),
        ("source/basics/halves.md", "no text"),
    ],
)
def test_a_missing_file_is_named_with_its_path(root: Path, missing: str, what: str) -> None:
    (root / missing).unlink()
    with pytest.raises(ContentError, match=what) as error:
        autograder.validate(["basics/halves"], course=root)
    assert error.value.path == root / missing
    course = load_course(root)
    refuse_unfinished(course, [])


def test_a_missing_hidden_suite_is_the_authors_to_write_when_a_class_is_graded(root: Path) -> None:
    from autograder.grading.judging.suites import collect_suites

    suite = root / "tests" / "hidden" / "basics" / "test_halves.py"
    suite.unlink()
    with pytest.raises(ContentError, match=r"test_halves\.py: no hidden suite"):
        collect_suites(root, [suite])
    suite.write_text("import nothing_such\n")
    with pytest.raises(ContentError, match=r"(?s)test_halves\.py: can't be imported.*nothing_such"):
        collect_suites(root, [suite])
    suite.write_text('"""Nothing yet."""\n')
    with pytest.raises(ContentError, match=r"test_halves\.py: no test in it"):
        collect_suites(root, [suite])


def test_what_the_example_class_earns_is_compared_question_by_question() -> None:
    before = {"ada": {"basics": {"halves": {"half": [2.0, "correct"]}}}}
    after = {"ada": {"basics": {"halves": {"half": [0.0, "wrong"]}}}}
    assert list(differences(before, before)) == []
    (line,) = differences(before, after)
    assert line == "ada/basics/halves/half: was [2.0, 'correct'], is [0.0, 'wrong']"
    assert '   "halves": {"half": [0.0, "wrong"]}' in expected_text(after)


def _files(root: Path) -> list[Path]:
    """Without what Python keeps beside the modules that it imports, where it may."""
    return sorted(path for path in root.rglob("*") if "__pycache__" not in path.parts)


def test_a_course_that_may_only_be_read_is_checked_and_not_released(root: Path) -> None:
    (root / "build").write_text("no folder can be made here")
    before = _files(root)
    assert check_release(course=root).not_fresh
    with pytest.raises(UserError, match="build: can't be written"):
        autograder.release(course=root)
    assert _files(root) == before
