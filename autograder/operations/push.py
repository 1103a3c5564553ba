"""Writes the grades of a class, with feedback if requested, into a course on Canvas or Moodle.

First, the grades on the platform are read. Grades that already match, and grades that somebody else
has changed on the platform, are left unchanged.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import (
    PushedGrade,
    compare_people,
    read_pushed,
    utc_text,
    write_pushed,
)
from ..errors import UserError
from ..escaping import for_html
from ..exports import Grades
from ..exports.roster import Platform as Lists
from ..exports.roster import Roster as Table
from ..exports.roster import match_grades
from ..live import (
    SAME_GRADE,
    Grade,
    GradeUpdate,
    Member,
    PlatformFailure,
    UpdateOutcome,
    squeezed,
)
from ..records import SubmissionResult, SubmissionStatus
from .changes import unseen_note
from .connection import Access, Connection, connected_alone, open_connection
from .courses import HERE
from .grades import DisplayOptions, class_grades, not_due_note
from .reading import counted_results
from .results import duedates, write_feedback

if TYPE_CHECKING:
    from ..exports.roster import Matching


class FeedbackKind(enum.StrEnum):
    """The feedback to send with a grade: none, a comment, or the feedback page as a file."""

    NONE = "none"
    COMMENT = "comment"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class GradeChange:
    """A grade to write; `before` is the platform's current grade, or None if there is no grade.

    `digest` identifies the version of the feedback.
    """

    student: str
    assignment: str
    before: float | None
    update: GradeUpdate
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PushPlan:
    """All grades that a push will write; `same` is the number of grades that already match.

    `waits` contains messages about work that a person must do.
    """

    platform: str
    title: str
    address: str
    changes: tuple[GradeChange, ...]
    same: int = 0
    notes: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PushReport:
    """The outcome of a push: the plan, whether it was approved, and how many grades were written.

    `waits` contains messages about work that a person must do, including the messages in the plan.
    """

    plan: PushPlan
    is_done: bool
    written: int = 0
    waits: tuple[str, ...] = ()


def push(
    platform: str,
    class_folder: Path | str = "course",
    *,
    approve: Callable[[PushPlan], bool],
    access: Access | None = None,
    showing: DisplayOptions | None = None,
    feedback: FeedbackKind = FeedbackKind.NONE,
    overwrite: bool = False,
    course: Path | str = HERE,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> PushReport:
    """Writes the grades of a class into a course on a platform.

    `platform` is canvas or moodle; `feedback` is sent with the grades. A grade that somebody has
    changed on the platform is kept, unless `overwrite` is true. Nothing is written unless `approve`
    returns true for the plan; `on_progress` is called with the number of grades that were sent and
    the total number of grades.

        autograder.push("canvas", "course", approve=lambda plan: not plan.waits)

    Raises `UserError` for the same reasons as `pull`. Grades that have arrived are not sent twice,
    so call `push` again once the problem is solved.
    """
    connection = open_connection(
        platform, class_folder, access or Access(), Path(course), with_notebooks=True
    )
    pushing = _Push(connection, showing or DisplayOptions(), feedback, overwrite)
    plan = pushing.plan()
    if not plan.changes:
        connection.keep()
        return PushReport(plan, True, waits=plan.waits)
    if not approve(plan):
        return PushReport(plan, False, waits=plan.waits)
    with connected_alone(connection.folder):
        connection.keep()
        written, waits = pushing.apply(plan, on_progress)
    return PushReport(plan, True, written, (*plan.waits, *waits))


class _Push:
    def __init__(
        self,
        connection: Connection,
        showing: DisplayOptions,
        feedback: FeedbackKind,
        overwrite: bool,
    ) -> None:
        self._there, self._folder = connection, connection.folder
        self._showing, self._feedback, self._overwrite = showing, feedback, overwrite
        self._notes, self._waits = [*connection.notes], list[str]()
        self._same = 0
        self._pushed = read_pushed(self._folder, connection.key)
        self._members: Sequence[Member] = ()
        self._class_names: Sequence[str] = ()

    def plan(self) -> PushPlan:
        """Returns all grades to write; queries the platform, but changes nothing there."""
        grades = self._grades()
        if self._feedback is not FeedbackKind.NONE:
            write_feedback(
                self._folder, course=self._there.course_folder, selection=self._showing.selection
            )
        self._members = self._there.platform.members()
        self._class_names = self._names()
        matching = match_grades(self._table(), grades)
        self._waits += [f"{doubt}: no grade is written" for doubt in matching.doubts]
        if matching.doubts:
            self._notes.append(
                "if somebody has left, run autograder withdraw CLASS STUDENT --why TEXT"
            )
        changes = [
            change
            for name in grades.assignments
            for change in self._of_assignment(name, grades, matching)
        ]
        self._notes += filter(None, (unseen_note(self._folder), not_due_note(grades)))
        return PushPlan(
            platform=self._there.platform.name,
            title=self._there.title,
            address=self._there.address,
            changes=tuple(changes),
            same=self._same,
            notes=tuple(self._notes),
            waits=tuple(self._waits),
        )

    def _grades(self) -> Grades:
        results = counted_results(self._folder)
        dates = duedates(self._there.course_folder, self._folder)
        return class_grades(self._folder, results, self._showing, dates)

    def _names(self) -> Sequence[str]:
        """Returns each member's name on the class's roster, or "" for those who are not on it."""
        change = compare_people(self._folder, self._there.listed(self._members))
        new = set(change.added)
        return ["" if name in new else name for name in change.students]

    def _table(self) -> Table:
        """Returns the members as a table in the platform's export format."""
        is_canvas = self._there.key == "canvas"
        rows = [
            {
                "Student": m.sortable,
                "Full name": m.name,
                "ID": m.number if is_canvas else "",
                "SIS User ID": m.sis_id,
                "SIS Login ID": m.login,
                "Email address": m.email,
            }
            for m in self._members
        ]
        kind = Lists.CANVAS if is_canvas else Lists.MOODLE
        return Table(Path(str(kind)), kind, tuple(rows[0]), tuple(rows))

    def _of_assignment(
        self, name: str, grades: Grades, matching: Matching
    ) -> Iterator[GradeChange]:
        work = self._there.works.get(name)
        if work is None:
            self._waits.append(
                self._there.unlinked.get(name, f"{name}: this course has no such assignment")
            )
            return
        own = {r.student: r for r in grades.results if r.assignment == name}
        maximum = max(result.max_score for result in own.values())
        if work.points is None or abs(work.points - maximum) >= SAME_GRADE:
            theirs = "not graded by points" if work.points is None else f"out of {work.points:g}"
            self._waits.append(
                f"{name}: {work.title!r} is {theirs} there and out of {maximum:g} here: change it "
                f"on {self._there.platform.name}; no grade is written for it"
            )
            return
        try:
            there = self._there.platform.grades(work)
        except PlatformFailure:
            raise
        except UserError as error:
            self._waits.append(f"{name}: {error}")
            return
        self._note_deductions(name, there)
        for position, member in enumerate(self._members):
            student = matching.name_of(position, name)
            if student is None:
                continue
            grade = there.get(member.number, Grade())
            result = own.get(student)
            change = (
                self._missing(name, grades, position, student, grade)
                if result is None
                else self._graded(result, member, grade)
            )
            if change is not None:
                yield change

    def _note_deductions(self, name: str, there: Mapping[str, Grade]) -> None:
        if count := sum(grade.deducted > 0 for grade in there.values()):
            self._notes.append(
                f"{name}: {self._there.platform.name} itself deducts points for {count} late "
                "submissions: turn off its late policy, or the class's penalty, so that no "
                "points are deducted twice"
            )

    def _missing(
        self, name: str, grades: Grades, position: int, student: str, grade: Grade
    ) -> GradeChange | None:
        """Returns a zero for a missing submission if zeros are requested and there is no grade yet.

        Only people on the class's roster who have not left get a zero.
        """
        known = student or self._class_names[position]
        is_wanted = grades.missing_cell(known, name, before="-") == "0"
        if not known or not is_wanted or grade.points is not None or grade.is_excused:
            return None
        return GradeChange(known, name, None, GradeUpdate(self._members[position].number, 0.0))

    def _graded(self, result: SubmissionResult, member: Member, grade: Grade) -> GradeChange | None:
        where = f"{result.student}/{result.assignment}"
        if result.status is SubmissionStatus.FAILED:
            self._waits.append(f"{where}: the grader failed, so there is no grade: grade again")
            return None
        if grade.is_excused:
            self._notes.append(f"{where}: excused on the platform, so no grade is written")
            return None
        pushed = self._pushed.get(result.key)
        update, digest = self._update(result, member, grade, pushed)
        is_same = grade.points is not None and abs(grade.points - result.score) < SAME_GRADE
        if is_same and not update.feedback:
            self._same += 1
            return None
        if not is_same and self._is_anothers(grade, pushed):
            self._waits.append(
                f"{where}: {grade.points:g} there, entered by somebody else, and "
                f"{result.score:g} here: the grade there stays (--overwrite replaces it)"
            )
            return None
        return GradeChange(result.student, result.assignment, grade.points, update, digest)

    def _is_anothers(self, grade: Grade, pushed: PushedGrade | None) -> bool:
        """Returns whether a grade must be kept because somebody else has set it on the platform."""
        if grade.points is None or self._overwrite:
            return False
        return pushed is None or abs(float(pushed.points) - grade.points) >= SAME_GRADE

    def _update(
        self, result: SubmissionResult, member: Member, grade: Grade, pushed: PushedGrade | None
    ) -> tuple[GradeUpdate, str]:
        """Returns the grade, with feedback that the platform lacks, and the feedback's digest."""
        from ..feedback import page_of

        update = GradeUpdate(member.number, result.score)
        page = page_of(self._folder, result.key)
        text = page.with_suffix(".txt")
        before = pushed.feedback if pushed else ""
        if self._feedback is FeedbackKind.NONE or not text.is_file():
            return update, before
        feedback = text.read_text(encoding="utf-8")
        digest = f"{self._feedback} {hashlib.sha256(feedback.encode()).hexdigest()[:16]}"
        if self._feedback is FeedbackKind.FILE:
            short = digest.rpartition(" ")[2][:8]
            update = replace(
                update, file=page, file_name=f"{result.assignment}-feedback-{short}.html"
            )
        else:
            update = replace(update, comment=self._comment(feedback))
        if digest == before or squeezed(update.feedback) in grade.feedback:
            return GradeUpdate(member.number, result.score), digest
        return update, digest

    def _comment(self, text: str) -> str:
        """Returns text in the platform's format for comments, which is HTML on Moodle."""
        if self._there.key == "canvas":
            return text
        return "<br>".join(for_html(line) for line in text.splitlines())

    def apply(
        self, plan: PushPlan, on_progress: Callable[[int, int], None]
    ) -> tuple[int, Sequence[str]]:
        """Writes grades in batches; returns how many were written, and messages about the rest."""
        waits: list[str] = []
        written = done = 0
        for name, work in self._there.works.items():
            own = {c.update.student: c for c in plan.changes if c.assignment == name}
            updates = [change.update for change in own.values()]
            for batch in self._there.platform.send(work, updates) if updates else ():
                taken = [sent for sent in batch if not sent.problem]
                write_pushed(self._folder, [self._row(own[s.update.student], s) for s in taken])
                waits += [
                    f"{own[sent.update.student].student}/{name}: {sent.problem}"
                    for sent in batch
                    if sent.problem
                ]
                written, done = written + len(taken), done + len(batch)
                on_progress(done, len(plan.changes))
        return written, waits

    def _row(self, change: GradeChange, sent: UpdateOutcome) -> PushedGrade:
        return PushedGrade(
            student=change.student,
            assignment=change.assignment,
            platform=self._there.key,
            points=f"{sent.update.points:.4f}",
            feedback=change.digest,
            time=utc_text(datetime.now(UTC)),
        )
