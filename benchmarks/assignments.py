"""Times grading for all assignments: modules, notebooks, correct and wrong answers.

    .venv/bin/python benchmarks/assignments.py [--students 20] [--to FILE] [ASSIGNMENT ...]

Prints a table with a row for each assignment and one for the whole course. The limit is the time
that all calls in the hidden suites take in one process, without tests or isolation. Correct
modules are compared with the limit, and everything else, such as known and unknown mistakes, is
compared with correct modules. The cost of one more submission is computed from `grade --profile`
without the start-up time, which alone varies by more than the cost of ten submissions. With `--to`,
the table replaces the last section of the file if this section is an earlier table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from autograder.course import Course, load_course
from autograder.grading.watch import Stage
from autograder.records import Assignment
from benchmarks.different import AnswerKind, write_class
from benchmarks.grading import ROOT, calls_alone
from benchmarks.peers import answered, run, write_all

#: the column for correct answers in notebooks, whose answer cells contain the modules
_NOTEBOOKS = "in notebooks"
#: the stages in a run that do not depend on the number of submissions
_ONCE = frozenset({Stage.START, Stage.PLAN, Stage.TABLES})
_COLUMNS = (
    *("correct modules", _NOTEBOOKS, AnswerKind.REPEATED.value),
    *(AnswerKind.CATALOGUED.value, AnswerKind.UNCATALOGUED.value),
)
_HEAD = """
## All assignments

Measured on {day} with `grade --profile`, one job and {students} submissions. Figures in
milliseconds are the CPU time of all processes for one more submission, without the work that is
done only once in a run; the other figures are ratios. "Calls alone" are all calls of the hidden
suites in one process, without tests or isolation. "Of the calls" is the time for correct modules
divided by the time for these calls; in the columns to the right of it, times are divided by the
time for correct modules. In the columns for mistakes, one answer in each exercise is wrong. In the
column "the same correct answers again", all submissions are the same, and the grader executes only
the first two of them. Therefore, this column shows the cost of the whole class minus the cost of
its first half, per submission.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """CPU seconds for one more submission: for the calls alone (`limit`), and for each column."""

    label: str
    limit: float
    each: Sequence[float]

    def text(self) -> str:
        right, *others = self.each
        times = [f"{one / right:.2f}" for one in others]
        cells = [self.label, f"{1000 * self.limit:.0f}", f"{1000 * right:.0f}"]
        return f"| {' | '.join([*cells, f'{right / self.limit:.2f}', *times])} |"


def main() -> None:
    """Runs the benchmark, prints its table, and adds it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--to", type=Path, help="a Markdown file whose last section this is")
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT")
    options = parser.parse_args()
    course = load_course(ROOT)
    chosen = [a for a in course.assignments if not options.names or a.name in options.names]
    rows = []
    for assignment in chosen:
        rows.append(_row(course, assignment, options.students))
        print(rows[-1].text(), flush=True)
    rows.append(_whole(rows))
    first = ["assignment", "calls alone, ms", f"{_COLUMNS[0]}, ms", "of the calls"]
    columns = [*first, *_COLUMNS[1:]]
    lines = [
        _HEAD.format(day=date.today(), students=options.students),
        f"| {' | '.join(columns)} |",
    ]
    lines += ["|---" * len(columns) + "|", *(row.text() for row in rows)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.to:
        page = options.to.read_text(encoding="utf-8") if options.to.exists() else ""
        before = page.partition(_HEAD.splitlines()[1])[0].rstrip()  # without an earlier table
        options.to.write_text(f"{before}\n{text}" if before else text, encoding="utf-8")


def _row(course: Course, assignment: Assignment, students: int) -> Row:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        right = folder / "right" / "submitted"
        write_class(course, assignment, right, students, AnswerKind.ORDINARY)
        limit, _ = calls_alone(right, assignment.name)
        notebooks = folder / "notebooks" / "submitted"
        run([sys.executable, "-m", "autograder", "release", assignment.name], ROOT)
        for student in right.iterdir():
            target = notebooks / student.name / assignment.name
            released = ROOT / "assignments" / assignment.name
            write_all(answered(released, student / assignment.name), target)
        each = [_each(place, students) for place in (right, notebooks)]
        for kind in (AnswerKind.REPEATED, AnswerKind.CATALOGUED, AnswerKind.UNCATALOGUED):
            place = folder / kind.name / "submitted"
            write_class(course, assignment, place, students, kind)
            # an answer is executed until two workers give the same replies; later ones count as
            # repeated
            first = students // 2 if kind is AnswerKind.REPEATED else 0
            each.append(_each(place, students, first))
        return Row(f"`{assignment.name}`", limit, each)


def _each(submitted: Path, students: int, first: int = 0) -> float:
    """Returns the CPU seconds per submission, without counting the first `first` submissions."""
    total = _total(submitted)
    if first:
        few = submitted.parent / "first" / "submitted"
        for student in sorted(submitted.iterdir())[:first]:
            shutil.copytree(student, few / student.name)
        total -= _total(few)
    return total / (students - first)


def _total(submitted: Path) -> float:
    """Returns the CPU seconds for a class, excluding the work that is done only once per run."""
    options = ("--no-gradebook", "--jobs", "1", "--course", str(ROOT), "--profile", "--json")
    printed = run([sys.executable, "-m", "autograder", "grade", str(submitted), *options], ROOT)
    costs: dict[str, float] = json.loads(printed)["profile"]
    return sum(costs[stage] for stage in costs if stage not in _ONCE)


def _whole(rows: Sequence[Row]) -> Row:
    """Returns the row for a student who submits all assignments."""
    each = [sum(row.each[at] for row in rows) for at in range(len(_COLUMNS))]
    return Row("all of them", sum(row.limit for row in rows), each)


if __name__ == "__main__":
    main()
