"""The course map shows students all assignments in order, and how many hours each one takes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograder import parts
from autograder.authoring.course_map import Stage, course_map, map_table, minutes_of
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


def test_more_words_cells_questions_and_lines_take_more_minutes(course: Course) -> None:
    (exercise, *_) = course.assignments[0].exercises
    before = minutes_of(exercise)
    text = exercise.source.read_text(encoding="utf-8")
    thoughts = "\n## Questions for thought\n\n" + "".join(f"{n}. Why?\n" for n in range(1, 11))
    for more, minutes in (
        ("\nMore " * 2700, 20),
        ("\n```{code-cell} ipython3\n1\n```\n" * 20, 10),
        (thoughts, 30),
    ):
        exercise.source.write_text(text + more, encoding="utf-8")
        assert minutes_of(exercise) == before + minutes
    exercise.source.write_text(text, encoding="utf-8")
    code = exercise.solution.read_text(encoding="utf-8")
    lines = "    x = x\n" * 50
    marker = "    ### END SOLUTION"
    exercise.solution.write_text(code.replace(marker, lines + marker, 1), encoding="utf-8")
    assert minutes_of(exercise) == before + 70


def questions_of(names: Collection[str]) -> set[str]:
    """Returns the questions in the named exercises."""
    exercises = [exercise for item in COURSE.assignments for exercise in item.exercises]
    return {q.name for exercise in exercises if exercise.name in names for q in exercise.questions}


def parts_in(text: str) -> set[str]:
    """Returns the names that code imports from `autograder.parts`."""
    found = re.findall(r"from autograder\.parts import ([\w, ]+)", text)
    return {name.strip() for names in found for name in names.split(",")}


def skipped_in(stage: Stage) -> set[str]:
    return set(re.findall(r"`(\w+)`", stage.skip))


def test_only_exercises_that_nothing_needs_may_be_skipped() -> None:
    skipped = {name for stage in WAY.stages for name in skipped_in(stage)}
    exercises = {exercise.name for item in COURSE.assignments for exercise in item.exercises}
    assert skipped <= exercises
    free = {
        name
        for stage in WAY.stages
        if "nothing later builds on them" in stage.skip or "needs none of them" in stage.skip
        for name in skipped_in(stage)
    }
    assert len(free) == 5
    kept = [e for item in COURSE.assignments for e in item.exercises if e.name not in free]
    texts = [path.read_text("utf-8") for e in kept for path in (e.solution, e.source)]
    texts += [path.read_text("utf-8") for path in (ROOT / "source").glob("*/extras/*.md")]
    texts += [path.read_text("utf-8") for path in (ROOT / "autograder/parts").glob("*.py")]
    needed = set().union(*map(parts_in, texts)) | set(parts.__all__)
    assert needed & questions_of(free) == set()


@pytest.mark.parametrize("stage", WAY.stages, ids=lambda stage: stage.name)
def test_an_assignment_needs_the_parts_of_those_that_it_names(stage: Stage) -> None:
    number = WAY.number(stage.name)
    needed, new = set(), {number}
    while new:
        needed |= new
        texts = [WAY.stages[n - 1].needs for n in new]
        named = {n for text in texts for found in re.findall(r"assignments? ([\d and,]+)", text)
                 for n in map(int, re.findall(r"\d", found))}  # fmt: skip
        assert all(n < number for n in named)
        new = named - needed
    allowed = questions_of([name for n in needed for name in WAY.stages[n - 1].minutes])
    for exercise in COURSE.assignment(stage.name).exercises:
        text = exercise.solution.read_text("utf-8") + exercise.source.read_text("utf-8")
        assert parts_in(text) <= allowed, exercise.name


def test_a_course_may_have_no_map(course: Course) -> None:
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
