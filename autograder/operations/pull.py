"""Copies people, due dates and submissions from a Canvas or Moodle course into a class folder.

First, all changes are found and shown. Then the changes are made, and the submissions are
collected, as `collect` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..classroom import (
    CountingRule,
    Origin,
    Person,
    Roster,
    RosterChange,
    compare_people,
    read_origins,
    read_rules,
    read_withdrawals,
    squashed,
    write_dates,
    write_people,
)
from ..errors import UserError
from ..escaping import for_file_name
from ..live import Attempt, PlatformAssignment, PlatformFailure
from ..records import Key
from ..submission.class_files import SUBMITTED
from .classes import extend
from .connection import Access, Connection, connected_alone, open_connection
from .courses import HERE, course_of_class
from .pull_dates import DateChange, ExtensionChange, KnownMember, NewDates
from .pull_downloads import Downloads, IncomingSubmission, is_downloaded, is_large, usable

if TYPE_CHECKING:
    from ..collecting import CollectReport

PARTS = ("roster", "dates", "submissions")


@dataclass(frozen=True, slots=True)
class PullPlan:
    """All changes that a pull will make; `waits` lists work that a person must do."""

    platform: str
    title: str
    address: str
    roster: RosterChange | None
    dates: tuple[DateChange, ...]
    extensions: tuple[ExtensionChange, ...]
    submissions: tuple[IncomingSubmission, ...]
    notes: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    @property
    def changes_something(self) -> bool:
        people = self.roster and (self.roster.added or self.roster.updated)
        return bool(people or self.dates or self.extensions or self.submissions)


@dataclass(frozen=True, slots=True)
class PullReport:
    """The outcome of a pull: the plan, whether it was approved, and the collected submissions.

    `waits` contains messages about work that a person must do, including the messages in the plan.
    """

    plan: PullPlan
    is_done: bool
    collected: CollectReport | None = None
    waits: tuple[str, ...] = ()


def pull(
    platform: str,
    class_folder: Path | str = "course",
    *,
    approve: Callable[[PullPlan], bool],
    access: Access | None = None,
    parts: Sequence[str] = PARTS,
    course: Path | str = HERE,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> PullReport:
    """Copies the roster, due dates and submissions from a course on a platform into a class.

    `platform` is canvas or moodle, and `parts` selects any of roster, dates and submissions.
    Nothing changes unless `approve` returns true for the plan. `on_progress` is called with the
    number of downloaded files and the total number of files.

        autograder.pull("canvas", "course", approve=lambda plan: not plan.waits)

    Raises `UserError` if the address or token is missing, or if the platform refuses access or does
    not respond. Completed downloads are kept, so call `pull` again once the problem is solved.
    """
    connection = open_connection(platform, class_folder, access or Access(), Path(course))
    pulling = _Pull(connection, frozenset(parts))
    plan = pulling.plan()
    if not plan.changes_something:
        if connection.folder.is_dir():
            connection.keep()
        return PullReport(plan, True, waits=plan.waits)
    if not approve(plan):
        return PullReport(plan, False, waits=plan.waits)
    with connected_alone(connection.folder):
        connection.keep()
        report, waits = pulling.apply(plan, on_progress)
    return PullReport(plan, True, report, (*plan.waits, *waits))


class _Pull:
    def __init__(self, connection: Connection, parts: frozenset[str]) -> None:
        self._there, self._folder = connection, connection.folder
        self._parts = parts
        self._notes, self._waits = [*connection.notes], list[str]()
        members = list(connection.platform.members())
        self._listed = connection.listed(members)
        self._change = compare_people(self._folder, self._listed)
        self._members = dict(zip((m.number for m in members), members, strict=True))
        people = {person.student: person for person in self._change.people}
        names = zip(self._members, self._change.students, strict=True)
        self._person: dict[str, Person] = {number: people[name] for number, name in names}
        roster = Roster(self._change.people)
        self._origins = read_origins(self._folder)
        self._student = _folders(self._folder, self._origins, roster)
        self._withdrawn = read_withdrawals(self._folder)

    def plan(self) -> PullPlan:
        """Returns all changes to make; queries the platform, but changes nothing."""
        dates = NewDates(self._there, self._folder)
        has_dates = "dates" in self._parts
        submissions = tuple(self._submissions()) if "submissions" in self._parts else ()
        self._note_people()
        broken = self._there.course.broken.items()
        self._notes += [f"nothing is pulled for {name}: {why}" for name, why in broken]
        if self._there.works:
            self._notes += self._there.unlinked.values()
        else:
            self._waits += self._there.unlinked.values()
        return PullPlan(
            platform=self._there.platform.name,
            title=self._there.title,
            address=self._there.address,
            roster=self._change if "roster" in self._parts else None,
            dates=tuple(dates.changes()) if has_dates else (),
            extensions=tuple(dates.extensions(self._known())) if has_dates else (),
            submissions=submissions,
            notes=(*self._notes, *dates.notes),
            waits=tuple(self._waits),
        )

    def _note_people(self) -> None:
        if "roster" not in self._parts:
            return
        self._waits += self._change.doubts
        gone = [s for s in self._change.not_in_list if not self._withdrawn.has_left(s)]
        if gone:
            self._notes.append(
                f"{len(gone)} on the roster are not on {self._there.platform.name}: "
                f"{', '.join(gone[:10])}{' ...' if len(gone) > 10 else ''}; if somebody has "
                "left, run autograder withdraw CLASS STUDENT --why TEXT"
            )

    def _known(self) -> Mapping[str, KnownMember]:
        """Returns the members who will be on the roster after the pull, keyed by number.

        Members who are not on the roster can't get extensions.
        """
        new = () if "roster" in self._parts else self._change.added
        return {
            number: KnownMember(self._name(number), person)
            for number, person in self._person.items()
            if person.student not in new
        }

    def _name(self, number: str) -> str:
        """Returns the name of a member's folder or, without a folder, the name on the roster."""
        student = self._person[number].student
        return self._student.get(student, student)

    def _submissions(self) -> Iterator[IncomingSubmission]:
        every = read_rules(self._folder).counts is CountingRule.IN_TIME
        for name, work in self._there.works.items():
            for number, own in self._attempts(name, work).items():
                student = self._name(number)
                if self._withdrawn.has_left(student):
                    continue
                key = for_file_name(student), name
                files = [attempt for attempt in own if not attempt.is_typed]
                has_files = bool(files) or self._folder.joinpath(SUBMITTED, *key).is_dir()
                is_left = has_files and own[-1].is_typed and not self._is_collected(key, own[-1])
                self._note_unusable(student, name, own[-1], is_left)
                chosen = files if has_files else own
                for attempt in chosen if every else chosen[-1:]:
                    if usable(attempt) and not self._is_collected(key, attempt):
                        incoming = IncomingSubmission(student, name, attempt, self._members[number])
                        yield replace(incoming, is_here=is_downloaded(incoming, self._there))

    def _is_collected(self, key: Key, attempt: Attempt) -> bool:
        from ..collecting import is_collected

        time, origin = attempt.time, self._origins.get(key)
        return time is not None and is_collected(self._folder, key, origin, time)

    def _attempts(self, name: str, work: PlatformAssignment) -> Mapping[str, Sequence[Attempt]]:
        """Returns each member's attempts, or {} if the assignment can't be read."""
        found: dict[str, list[Attempt]] = {}
        try:
            attempts = self._there.platform.attempts(work, list(self._members.values()))
        except PlatformFailure:
            raise
        except UserError as error:
            self._waits.append(f"{name}: {error}")
            return {}
        for attempt in attempts:
            found.setdefault(attempt.student, []).append(attempt)
        return found

    def _note_unusable(
        self, student: str, assignment: str, attempt: Attempt, is_left: bool
    ) -> None:
        where = f"{student}/{assignment}"
        large = [file.path[-1] for file in attempt.files if is_large(file)]
        if large:
            self._waits.append(f"{where}: too large, so left out: {', '.join(large)}")
        elif is_left or not attempt.files:
            self._waits.append(
                f"{where}: {attempt.note} was submitted: ask for the file, or grade it by hand"
            )

    def apply(
        self, plan: PullPlan, on_progress: Callable[[int, int], None]
    ) -> tuple[CollectReport | None, Sequence[str]]:
        """Carries out the plan; returns the collected submissions, and messages for the user."""
        if plan.roster and (plan.roster.added or plan.roster.updated):
            write_people(self._folder, self._listed)
        write_dates(self._folder, {(d.assignment, d.section): d.after for d in plan.dates})
        where = self._there.course_folder
        for item in plan.extensions:
            why = f"{plan.platform}: due {item.due}"
            extend(self._folder, item.student, item.assignment, item.after, why, course=where)
        dated = course_of_class(where, self._folder)  # has the new dates
        downloads = Downloads(self._there, dated, on_progress)
        return downloads.collect(plan.submissions), downloads.waits


def _folders(
    class_folder: Path, origins: Mapping[Key, Origin], roster: Roster
) -> Mapping[str, str]:
    """Maps people on the roster to the names of their folders below `submitted/`."""
    submitted = class_folder / SUBMITTED
    there = [path.name for path in sorted(submitted.glob("*")) if path.is_dir()]
    numbers = {o.student: f"{squashed(o.name)}_{o.number}" for o in origins.values() if o.number}
    found: dict[str, str] = {}
    for name in there:
        if person := roster.person(name) or roster.person(numbers.get(name, "")):
            student = unquote(name)  # decode a name that is not valid for a folder
            found.setdefault(person.student, student if for_file_name(student) == name else name)
    return found
