"""The course map contains the order and the hours of the assignments, and students see it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograder.authoring.course_map import course_map, map_table, minutes_of
from autograder.authoring.map_picture import map_picture
from autograder.course import Course, load_course
from autograder.errors import ContentError

ROOT = Path(__file__).parents[3]
COURSE = load_course(ROOT)
WAY = course_map(COURSE)
NAMES = [stage.name for stage in WAY.stages]


def test_every_assignment_is_on_the_map_once() -> None:
    assert sorted(NAMES) == [assignment.name for assignment in COURSE.assignments]


@pytest.mark.parametrize("name", NAMES)
def test_each_readme_lists_all_assignments_in_order(name: str) -> None:
    readme = (ROOT / "assignments" / name / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \**\d\** \|.*\(`(\w+)`\)", readme, re.MULTILINE)
    assert listed == NAMES
    assert map_table(WAY, name) in readme


def test_the_page_for_students_has_the_same_table() -> None:
    assert map_table(WAY) in (ROOT / "docs" / "students.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("stage", WAY.stages, ids=lambda stage: stage.name)
def test_a_notebook_begins_with_its_place_and_its_minutes(stage: object) -> None:
    for exercise in COURSE.assignment(stage.name).exercises:  # type: ignore[attr-defined]
        notebook = json.loads(exercise.stub.with_suffix(".ipynb").read_text(encoding="utf-8"))
        first = "".join(notebook["cells"][0]["source"])
        assert f"Assignment {WAY.number(exercise.assignment)} of {len(NAMES)}" in first
        assert f"about {minutes_of(exercise)} minutes" in first
        assert f"**{exercise.name}**" in first


def test_more_words_take_more_minutes(course: Course) -> None:
    (exercise, *_) = course.assignments[0].exercises
    before = minutes_of(exercise)
    text = exercise.source.read_text(encoding="utf-8")
    exercise.source.write_text(text + "\nMore " * 2700, encoding="utf-8")
    assert minutes_of(exercise) == before + 20


def test_a_course_without_a_map_has_none(course: Course) -> None:
    assert course_map(course).stages == ()


def test_an_assignment_that_the_course_lacks_is_refused(course: Course) -> None:
    row = 'name = "nowhere"\nbuilds = ""\nneeds = ""\nskip = ""\n'
    (course.root / "source" / "map.toml").write_text(f"[[assignment]]\n{row}", encoding="utf-8")
    with pytest.raises(ContentError, match="no assignment 'nowhere'"):
        course_map(course)


def test_the_picture_marks_what_an_assignment_builds() -> None:
    orange = {}
    for name in NAMES:
        picture = ElementTree.fromstring(map_picture(tuple(NAMES), name))
        boxes = [box for box in picture.iter() if box.tag.endswith("rect")]
        orange[name] = {box.get("y") for box in boxes if box.get("fill") == "#f2b661"}
    assert all(orange.values())
    assert len(set(map(frozenset, orange.values()))) == len(NAMES)
