"""Alternative solutions become "other right ways", which students see only after submitting."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from autograder.authoring import release
from autograder.course import load_course
from autograder.course.ways import ways_of
from autograder.errors import ContentError
from autograder.student import other_ways

COURSE = load_course(Path(__file__).parents[3])


@pytest.mark.parametrize("assignment", COURSE.assignments, ids=lambda item: item.name)
def test_each_question_has_two_other_solutions_that_are_code(assignment: object) -> None:
    ways = ways_of(COURSE, assignment)  # type: ignore[arg-type]
    exercises = assignment.exercises  # type: ignore[attr-defined]
    names = {question.name for exercise in exercises for question in exercise.questions}
    assert {name: len(found) for name, found in ways.items()} == dict.fromkeys(names, 2)
    for name, found in ways.items():
        for way in found:
            assert f"def {name}(" in way.code or f"class {name}(" in way.code
            compile(way.code, name, "exec")
            assert "alternative(" not in way.code
            assert f".{name}(" not in way.code, "a function of torch was renamed as well"


def planted(root: Path) -> None:
    """Adds an alternative solution to the small course, and a note about it to `ways.toml`."""
    (root / "source" / "basics" / "ways.toml").write_text(
        '[plus_one]\nby_adding = "It costs a function."\n', encoding="utf-8"
    )
    path = root / "tests" / "alternatives" / "basics" / "sums.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "from autograder.suite import alternative\n\n\n"
        'def _one(x):\n    return 1\n\n\n@alternative("plus_one")\n'
        "def by_adding(x):\n    return x + _one(x)  # broadcast\n",
        encoding="utf-8",
    )


def test_ways_are_in_bundles_only_and_only_on_request(root: Path, wheel: Path) -> None:
    planted(root)
    course = load_course(root)
    for after in (False, True):
        report = release(course, wheel=wheel, after=after)
        basics = next(item for item in report.assignments if item.name == "basics")
        with zipfile.ZipFile(basics.bundle) as archive:
            assert ("basics/checks/ways.json" in archive.namelist()) is after
            archive.extractall(root / "home")
        assert not (basics.folder / "checks" / "ways.json").exists()
    ((text, code),) = other_ways(root / "home" / "basics", "plus_one")
    assert text == "It costs a function."
    assert code == (
        "def _one(x):\n    return 1\n\n\ndef plus_one(x):\n    return x + _one(x)  # broadcast"
    )


def test_a_way_that_is_not_an_alternative_is_refused(root: Path) -> None:
    planted(root)
    path = root / "source" / "basics" / "ways.toml"
    path.write_text('[plus_one]\nby_magic = "Nothing."\n', encoding="utf-8")
    course = load_course(root)
    with pytest.raises(ContentError, match=r"sums\.py has no 'by_magic'"):
        ways_of(course, course.assignment("basics"))
    path.write_text(json.dumps("no question") + " = {}\n", encoding="utf-8")
    with pytest.raises(ContentError, match="no question is called 'no question'"):
        ways_of(course, course.assignment("basics"))
