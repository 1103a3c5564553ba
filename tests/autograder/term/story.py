"""Defines the events of the term (submissions, their times, decisions) and the correct totals.

The totals are computed from the story alone, by methods other than the grader's.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nbgrader.api import Gradebook

import autograder
from autograder.collecting import CollectReport
from autograder.nbgrader import prepare_class_folder
from autograder.operations.changes import ClassChanges

from . import platforms
from .courses import Answer, Content, nightly_script
from .people import TEAM, TEAM_NAME, TEAM_WEEK, Student
from .platforms import Upload

WEEKS = {1: "canvas", 2: "moodle", 3: "gradescope", 4: "canvas", 5: "moodle", 6: "classroom"}
#: the due dates by week; other weeks have none
DUE = {
    2: datetime(2026, 5, 1, 12, tzinfo=UTC),
    3: datetime(2026, 5, 15, 12, tzinfo=UTC),
    5: datetime(2026, 6, 12, 12, tzinfo=UTC),
}
GRACE = timedelta(minutes=15)

#: code of a penalty for nbgrader: a tenth of the points for each day or part of a day
_PENALTY = """
import math
from nbgrader.plugins import LateSubmissionPlugin

class Tenths(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score * min(1.0, 0.1 * math.ceil(total_seconds_late / 86400))

c.AssignLatePenalties.plugin_class = Tenths
"""

# the numbers of students with special roles, all below 12, so that a class of 12 has all of them
AGAIN = 0
SAME = (1, 2)
BY_HAND = 2
IN_DOUBT = 10
LEAVES = 3
LATE, EXTENDED, EXTRA_TIME = 4, 6, 7
#: a student whose second submission is worse, and a student who asks for a second look
WORSE, ASKS = 5, 1
#: the late days that each student may use in the term
BUDGET = 2
RULES = f'late_days = {BUDGET}\ncounts = "best"\n'
WHY = "Please look at it again: I think that it is right."

Key = tuple[int, int]


@dataclass
class Term:
    """A class with its folders, and what has happened in its term so far."""

    root: Path
    content: Content
    size: int
    submitted: dict[Key, Answer] = field(default_factory=dict)
    manual: dict[Key, tuple[tuple[str, str], float]] = field(default_factory=dict)
    changes: dict[str, ClassChanges] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    withdrawn: set[Key] = field(default_factory=set)
    #: submissions with fewer points than an earlier one of the same student
    worse: dict[Key, Answer] = field(default_factory=dict)
    asks: set[Key] = field(default_factory=set)
    #: the exit code and the output of the nightly script
    night: tuple[int, str] = (0, "")

    @property
    def folder(self) -> Path:
        return self.root / "course"

    @property
    def students(self) -> tuple[Student, ...]:
        """Everybody who has ever been in the class."""
        return tuple(map(Student, range(self.size)))

    def name(self, week: int) -> str:
        """Returns the assignment of a week."""
        return self.content.names[week - 1]

    def maximum(self, week: int) -> float:
        """Returns the maximum number of points for a week."""
        return sum(self.content.right(self.name(week)).points.values())

    # the events of the term

    def begin(self) -> None:
        """Writes and releases the course, and gives the class its roster."""
        lines = {
            self.name(week): f'duedate = "{due:%Y-%m-%d %H:%M} UTC"\ngrace = "15min"\n'
            for week, due in DUE.items()
        }
        self.content.write(self.root, lines)
        config = prepare_class_folder(autograder.load_course(self.root), self.folder)
        config.write_text(config.read_text() + _PENALTY)
        (self.folder / "class.toml").write_text(RULES)
        table = self.root / "downloads" / "people.csv"
        autograder.set_roster(
            self.folder, platforms.people_table(table, self.students, {EXTRA_TIME: "1d"})
        )
        self._decide()

    def _decide(self) -> None:
        draw = random.Random(2026)
        for week in WEEKS:
            for n in range(self.size):
                answer = self.content.answer(self.name(week), draw)
                if not self._stays_away(n, week):
                    self.submitted[n, week] = answer
        self.submitted[IN_DOUBT, 1] = self.content.right(self.name(1))
        for n in (LATE, EXTENDED, EXTRA_TIME):
            self.submitted[n, 2] = self.content.right(self.name(2))
        for n in SAME:
            self.submitted[n, 5] = self.content.unusual(self.name(5))
        self.submitted[TEAM[1], TEAM_WEEK] = self.submitted[TEAM[0], TEAM_WEEK]
        for week in (4, 6):
            self.submitted[AGAIN, week] = self.content.empty(self.name(week))
        self.submitted[WORSE, 4] = self.content.right(self.name(4))

    @staticmethod
    def _stays_away(n: int, week: int) -> bool:
        return (n % 9, week) in ((8, 4), (8, 5))

    def arrives(self, n: int, week: int) -> datetime:
        """Returns the time of a submission; weeks without a due date use an arbitrary day."""
        due = DUE.get(week, datetime(2026, 4, 1, 12, tzinfo=UTC) + timedelta(weeks=week))
        return due + self._after(n, week)

    @staticmethod
    def _after(n: int, week: int) -> timedelta:
        """Returns the time from the due date to a submission, which is negative for early work."""
        if week == 2:
            if n in (LATE, EXTENDED):
                return timedelta(hours=2)
            if n == EXTRA_TIME:
                return timedelta(hours=20)
            if n % 6 == 2:
                return timedelta(minutes=10)
            return timedelta(days=8, hours=12) if n % 5 == 3 else -timedelta(hours=5)
        if week == 3 and n % 7 == 5:
            return timedelta(hours=30)
        return timedelta(days=12) if week == 5 and n % 8 == 6 else -timedelta(hours=5)

    def collect(
        self, week: int, only: Iterable[int] | None = None, attempt: int = 1
    ) -> CollectReport:
        """Collects the platform's download of the class's submissions for a week."""
        chosen = range(self.size) if only is None else only
        uploads = self._uploads(week, chosen, attempt)
        path = self._download(week, uploads, attempt)
        has_team = week == TEAM_WEEK and set(TEAM) <= set(chosen)
        times = self.worksheet(week) if WEEKS[week] == "moodle" else None
        report = autograder.collect(
            [path], into=self.folder / "submitted", course=self.root,
            assignment=self.name(week), times=times, zone="UTC" if times else None,
            roster=self._logins() if WEEKS[week] == "classroom" else None,
        )  # fmt: skip
        assert len(report.collected) == len(uploads)
        assert report.missing == ()
        assert {(one.who, one.text) for one in report.asked} == {
            (self.folder_of(n, week), WHY) for n in chosen if (n, week) in self.asks
        }
        notes = [note for note in report.notes if f"'{TEAM_NAME}' is a group on the roster" in note]
        assert list(report.notes) == notes and len(notes) == has_team
        return report

    def _uploads(self, week: int, chosen: Iterable[int], attempt: int) -> list[Upload]:
        return [
            Upload(Student(n), self._files(n, week), self.arrives(n, week), attempt, n % 4 == 1)
            for n in chosen
            if (n, week) in self.submitted
        ]

    def _download(self, week: int, uploads: list[Upload], attempt: int) -> Path:
        """Writes the download in the format of the week's platform."""
        path = self.root / "downloads" / f"week{week}-{attempt}.zip"
        if WEEKS[week] == "canvas":
            return platforms.canvas_archive(path, uploads)
        if WEEKS[week] == "moodle":
            return platforms.moodle_archive(path, week, uploads)
        if WEEKS[week] == "gradescope":
            return platforms.gradescope_export(path, uploads)
        return platforms.clones(path.with_suffix(""), self.name(week), uploads)

    def run_night(self, week: int, only: Iterable[int], attempt: int) -> tuple[int, str]:
        """Runs the nightly script from the docs with a download; returns exit code and output."""
        download = self._download(week, self._uploads(week, only, attempt), attempt)
        (self.root / "inbox").mkdir(exist_ok=True)
        shutil.copy(download, self.root / "inbox" / f"{self.name(week)}.zip")
        (self.root / "nightly.sh").write_text(nightly_script())
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", self.root / "nightly.sh"], cwd="/", text=True, check=False,
            env={**os.environ, "COURSE": str(self.root), "PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _logins(self) -> Path:
        """Writes the code classroom's roster, which contains the students' logins on GitHub."""
        path = self.root / "downloads" / "classroom_roster.csv"
        return platforms.classroom_roster(path, self.students)

    def _files(self, n: int, week: int) -> Mapping[str, str]:
        """Returns a submission's files, with the student's number in the first one.

        The other files stay identical, so that equal answers are graded together. A request for a
        second look is added as a file.
        """
        files = dict(self.worse.get((n, week), self.submitted[n, week]).files)
        if not (week == TEAM_WEEK and n in TEAM):
            first = min(files)
            files[first] = _numbered(first, files[first], n)
        request = {"regrade_request.txt": WHY} if (n, week) in self.asks else {}
        return files | request

    def grade(self) -> None:
        """Grades new submissions, and those that a changed suite affects."""
        report = autograder.grade(self.folder / "submitted", course=self.root, resume=True, jobs=2)
        assert report.run.failed == 0

    def by_hand(self, n: int, week: int, question: tuple[str, str], points: float) -> None:
        """Enters points by hand, as in formgrader."""
        exercise, name = question
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}") as gradebook:
            cell = gradebook.find_grade(
                f"check_{name}", exercise, self.name(week), self.folder_of(n, week)
            )
            cell.manual_score = points
            gradebook.db.commit()
        self.manual[n, week] = (question, points)

    def answer(self, n: int, week: int, question: tuple[str, str], points: float) -> None:
        """Answers a request for a second look with points and a saved comment."""
        autograder.add_comment(self.folder, "right", "This is right.", course=self.root)
        autograder.mark(
            self.folder, self.folder_of(n, week), "/".join((self.name(week), *question)),
            points=points, comment="#right", answer="You are right.", by="tom", course=self.root,
        )  # fmt: skip
        self.manual[n, week] = (question, points)

    def look(self, when: str) -> None:
        """Records the notes of an export, and how grading has changed results so far."""
        self.notes[when] = autograder.export("csv", self.folder).notes
        self.changes[when] = autograder.class_changes(self.folder)

    def withdraw(self, n: int, week: int) -> None:
        who = self.folder_of(n, week)
        autograder.withdraw(self.folder, who, self.name(week), "left", course=self.root)
        self.withdrawn.add((n, week))

    # the expected outcome

    def late(self, n: int, week: int) -> timedelta:
        """Returns how late a submission is, beyond the grace period, extra time and extension."""
        if week not in DUE:
            return timedelta()
        allowed = GRACE
        if n == EXTRA_TIME:
            allowed += timedelta(days=1)
        if (n, week) == (EXTENDED, 2):
            allowed += timedelta(hours=3)
        return max(timedelta(), self.arrives(n, week) - DUE[week] - allowed)

    def questions(self, n: int, week: int) -> Mapping[tuple[str, str], float]:
        """Returns the points of each question before any penalty, including manual points."""
        points = dict(self.submitted[n, week].points)
        if (n, week) in self.manual:
            question, entered = self.manual[n, week]
            points[question] = entered
        return points

    def counts(self, n: int, week: int) -> bool:
        """Returns whether the student has a submission that was not withdrawn."""
        return (n, week) in self.submitted and (n, week) not in self.withdrawn

    def days_late(self, n: int, week: int) -> int:
        """Returns how many days late a submission is; a day counts as soon as it has begun."""
        return math.ceil(self.late(n, week) / timedelta(days=1))

    def late_days(self, n: int) -> Mapping[int, int]:
        """Returns the late days that a student uses in each week, in the order of the due dates."""
        left, taken = BUDGET, {}
        for week in sorted(DUE, key=lambda week: DUE[week]):
            days = self.days_late(n, week) if (n, week) in self.submitted else 0
            if 0 < days <= left:
                left, taken[week] = left - days, days
        return taken

    def penalty(self, n: int, week: int) -> float:
        tenths = 0 if week in self.late_days(n) else min(10, self.days_late(n, week))
        return sum(self.questions(n, week).values()) * tenths / 10

    def total(self, n: int, week: int) -> float | None:
        """Returns the final points, or None if no submission counts."""
        if not self.counts(n, week):
            return None
        return sum(self.questions(n, week).values()) - self.penalty(n, week)

    # folders and students

    def folder_of(self, n: int, week: int) -> str:
        """Returns the name of a student's folder, which is found by the number in its files."""
        for path in sorted((self.folder / "submitted").glob(f"*/{self.name(week)}/*")):
            if _number_in(path) == n:
                return path.parent.parent.name
        raise AssertionError(f"nothing of {n} in {self.name(week)}")

    def number_of(self) -> Mapping[str, int]:
        """Returns the number of the student to whom each folder belongs."""
        found: dict[str, int] = {}
        for path in (self.folder / "submitted").glob("*/*/*"):
            number = _number_in(path)
            if number is not None:
                assert found.setdefault(path.parent.parent.name, number) == number
        return found

    # the platforms' tables

    def worksheet(self, week: int) -> Path:
        """Writes Moodle's grading worksheet for a week."""
        uploads = [
            Upload(Student(n), {}, self.arrives(n, week))
            for n, own in self.submitted
            if own == week
        ]
        path = self.root / "downloads" / f"worksheet{week}.csv"
        return platforms.moodle_worksheet(path, week, self.students, uploads, self.maximum(week))

    def gradebook(self) -> Path:
        """Writes Canvas's gradebook at the end of the term."""
        columns = {self.column(week): self.maximum(week) for week in WEEKS}
        path = self.root / "downloads" / "gradebook.csv"
        return platforms.canvas_gradebook(path, self.students, columns)

    def column(self, week: int) -> str:
        """Returns the column of a week's assignment in Canvas's gradebook."""
        return f"{self.name(week).replace('_', ' ').capitalize()} ({70 + week})"


def _numbered(name: str, text: str, n: int) -> str:
    if name.endswith(".py"):
        return f"{text}\n# number {n}.\n"
    notebook = json.loads(text)
    cell = {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": f"number {n}."}
    notebook["cells"].append(cell)
    return json.dumps(notebook, ensure_ascii=False)


def _number_in(path: Path) -> int | None:
    found = re.findall(r"number (\d+)\.", path.read_text())
    return int(found[-1]) if found else None


def play(term: Term) -> None:
    content = term.content
    term.begin()
    for week in (1, 2, 3):
        term.collect(week)
    term.grade()
    term.look("first")
    term.by_hand(IN_DOUBT, 1, content.unfair, 0.5)
    content.fix(term.root)
    autograder.extend(
        term.folder, term.folder_of(EXTENDED, 2), term.name(2), "3h", "ill", course=term.root
    )
    for week in (4, 5, 6):
        term.collect(week)
    term.grade()
    term.look("fixed")
    for week in (4, 6):
        term.submitted[AGAIN, week] = content.right(term.name(week))
        term.collect(week, only=[AGAIN], attempt=2)
    term.worse[WORSE, 4] = content.empty(term.name(4))
    term.asks.add((ASKS, 4))
    for week in WEEKS:
        term.withdraw(LEAVES, week)
    term.night = term.run_night(4, [WORSE, ASKS], attempt=3)
    term.collect(4, only=[WORSE], attempt=3)  # already collected by the nightly script
    term.answer(ASKS, 4, content.fourth, 1.5)
    term.by_hand(BY_HAND, 4, content.fourth, 1.5)
    term.look("again")
