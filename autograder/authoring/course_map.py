"""Reads the path through a course: its assignments' order, requirements and durations."""

from __future__ import annotations

import re
from dataclasses import dataclass

import jupytext

from ..course import BEGIN_SOLUTION, END_SOLUTION, Course
from ..course.rules import read_toml
from ..errors import ContentError
from ..records import Assignment, Exercise
from .claims import without_claims

MAP = "map.toml"
_KEYS = {"name", "builds", "needs", "skip"}

#: a student's speed: words read per minute; then the minutes to run a cell and look at its output,
#: to think about a question, and to write a line of an answer, including design, mistakes and
#: checks
_WORDS, _CELL, _QUESTION, _LINE = 135, 0.5, 3.0, 1.4


@dataclass(frozen=True, slots=True)
class Stage:
    """An assignment on the map; `minutes` contains each exercise's duration, in teaching order."""

    name: str
    title: str
    builds: str
    needs: str
    skip: str
    minutes: dict[str, int]

    @property
    def hours(self) -> float:
        """The duration of the whole assignment, rounded to the nearest half hour."""
        return round(sum(self.minutes.values()) / 30) / 2


@dataclass(frozen=True, slots=True)
class CourseMap:
    """The stages in order, and the requirements of the first stage.

    Both are empty if there is no map.
    """

    title: str = ""
    before: str = ""
    stages: tuple[Stage, ...] = ()

    def number(self, name: str) -> int:
        """Returns the position of an assignment, counted from 1, or 0 if it is not on the map."""
        names = [stage.name for stage in self.stages]
        return names.index(name) + 1 if name in names else 0


def course_map(course: Course) -> CourseMap:
    """Reads the map in `source/map.toml`; returns an empty map if the file does not exist.

    Raises `ContentError` for unknown keys and for assignments that the course does not have.
    """
    path = course.root / "source" / MAP
    if not path.is_file():
        return CourseMap()
    document = read_toml(path)
    known = {assignment.name: assignment for assignment in course.assignments}
    stages = []
    for row in document.get("assignment", []):
        if set(row) != _KEYS:
            keys, all_keys = (", ".join(sorted(names)) for names in (row, _KEYS))
            raise ContentError(
                path, None, f"an assignment has the keys {keys}", f"write these keys: {all_keys}"
            )
        if row["name"] not in known:
            raise ContentError(
                path,
                None,
                f"no assignment {row['name']!r}",
                f"use one of: {', '.join(sorted(known))}",
            )
        found = known[row["name"]]
        minutes = {exercise.name: minutes_of(exercise) for exercise in found.exercises}
        stages.append(Stage(title=found.title, minutes=minutes, **row))
    return CourseMap(document.get("title", ""), document.get("before", ""), tuple(stages))


def minutes_of(exercise: Exercise) -> int:
    """Estimates the minutes that a notebook takes, from its words, cells and answers."""
    cells = jupytext.reads(exercise.source.read_text(encoding="utf-8"), fmt="md:myst").cells
    texts = [without_claims(cell.source) for cell in cells if cell.cell_type == "markdown"]
    words = sum(len(re.findall(r"\w+", text)) for text in texts)
    ran = len(cells) - len(texts)
    thoughts = "\n".join(texts).partition("Questions for thought")[2].partition("<details>")[0]
    asked = len(exercise.questions) + len(re.findall(r"(?m)^\d+\. ", thoughts))
    minutes: float = words / _WORDS + ran * _CELL + asked * _QUESTION + _lines_of(exercise) * _LINE
    return max(5, 5 * round(minutes / 5))


def _lines_of(exercise: Exercise) -> int:
    """Counts the lines of code between the solution markers."""
    inside, count = False, 0
    for line in exercise.solution.read_text(encoding="utf-8").splitlines():
        code = line.strip()
        if code in (BEGIN_SOLUTION, END_SOLUTION):
            inside = code == BEGIN_SOLUTION
        elif inside and code and not code.startswith("#"):
            count += 1
    return count


def map_table(way: CourseMap, here: str = "") -> str:
    """Returns a table of the stages and the sum of their hours; the row for `here` is bold."""
    rows = ["| | assignment | you build | you need | hours | what you may skip |"]
    rows.append("|---|---|---|---|---|---|")
    for number, stage in enumerate(way.stages, start=1):
        mark = "**" if stage.name == here else ""
        rows.append(
            f"| {mark}{number}{mark} | {mark}{stage.title}{mark} (`{stage.name}`) | {stage.builds}"
            f" | {stage.needs} | {stage.hours:g} | {stage.skip} |"
        )
    hours = sum(stage.hours for stage in way.stages)
    return "\n".join([*rows, f"| | together | | | {hours:g} | |"])


def map_cell(way: CourseMap, assignment: Assignment, exercise: Exercise) -> str:
    """Returns a notebook's first cell, which shows its position on the map and its requirements."""
    stage = way.stages[way.number(assignment.name) - 1]
    names = list(stage.minutes)
    place = names.index(exercise.name) + 1
    path = " → ".join(f"**{name}**" if name == exercise.name else name for name in names)
    return (
        f"**Assignment {way.number(stage.name)} of {len(way.stages)}: {stage.title}.** "
        f"Notebook {place} of {len(names)}, about {stage.minutes[exercise.name]} minutes.\n\n"
        f"{path}\n\n"
        f"You need: {stage.needs}. You may skip: {stage.skip}. "
        "A map of the whole course is in `README.md`.\n\n"
        f"![A transformer; orange is what this assignment builds](map.svg)"
    )
