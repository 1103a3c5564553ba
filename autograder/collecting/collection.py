"""Runs a collection: finds the owner of every file, and places each submission in one step.

Files are first gathered in a separate folder, so that no existing file changes if the collection is
interrupted or the disk is full.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ..classroom import (
    TIMESTAMP_FILE,
    Index,
    Origin,
    Person,
    Roster,
    late_mark,
    read_origins,
    read_roster,
    utc_text,
    write_origins,
    write_uploads,
)
from ..errors import UserError
from ..escaping import for_file_name
from .clones import answers_of, clones_in, template_files
from .commits import committed
from .download_entries import entries_of
from .downloaded import DownloadEntry, ReadingAllowance, RefusedFile, UnsafeFile
from .gradescope import Submitters, read_submitters
from .issues import FoundRequest
from .owners import READ, CourseNames, DownloadLayout, OwnedFile, metadata_path
from .placing import (
    CollectedSubmission,
    Ends,
    Outcome,
    StatedTime,
    SubmittedFolder,
    waiting_folders,
)
from .platform_times import Times
from .platforms import CLASSROOM, Owner
from .sorting import IsStub, Pile, Sorting
from .students import Students
from .transaction import collecting_alone


@dataclass(frozen=True, slots=True)
class CollectReport:
    """The outcome of a collection: submissions, files left out and why, and notes.

    `waiting` contains new submissions, from this and earlier collections, that an instructor has to
    look at, because they would replace files that were edited by hand. `looks` contains notes about
    new files that don't answer any exercise, and about unusable times in a table. `asked` contains
    students' requests for a second look at a grade; these requests are not part of a submission.
    """

    collected: tuple[CollectedSubmission, ...]
    skipped: tuple[RefusedFile, ...]
    notes: tuple[str, ...] = ()
    waiting: tuple[Path, ...] = ()
    looks: tuple[str, ...] = ()
    asked: tuple[FoundRequest, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The students who submitted a file that was left out although it may be an answer."""
        return tuple(sorted({item.student for item in self.skipped if item.student}))


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """The information about a download that can't be found in the names of its files.

    `assignment` is the assignment to which all files belong. `logins` maps code-classroom logins,
    in lower case, to students. `times` is a platform's own table of times. `ends` returns a
    submission's deadline, or None if late submissions count as well. `owners` maps each outermost
    folder to its owners if the platform itself states them; the folders' names are then not
    interpreted. `is_stub` returns whether a file is an untouched stub of an assignment.
    """

    assignment: str | None = None
    logins: Mapping[str, str] = field(default_factory=dict)
    times: Times = field(default_factory=Times)
    ends: Ends = lambda _: None
    owners: Submitters = field(default_factory=dict)
    is_stub: IsStub = lambda *_: False


def collect(
    sources: Sequence[Path],
    submitted: Path,
    exercises: Mapping[str, Sequence[str]],
    options: CollectOptions | None = None,
) -> CollectReport:
    """Copies the files in archives and folders into `submitted/<student>/<assignment>/`.

    `exercises` maps each of the course's assignments to its exercises. A submission that is
    replaced by a newer one is kept in `earlier/` next to `submitted`. The origins of submissions
    are stored in the class's `collected.csv`. Raises `UserError` without collecting anything if a
    source can't be read, if the target can't be written, or if different students' files would get
    mixed up.
    """
    settings = options or CollectOptions()
    if settings.assignment is not None and settings.assignment not in exercises:
        known = ", ".join(exercises)
        raise UserError(
            f"no assignment is called {settings.assignment!r}; this course has: {known}"
        )
    for source in sources:
        _check_source(source)
    try:
        with collecting_alone(submitted.parent) as staging:
            names = CourseNames(exercises, settings.assignment)
            collection = _Collection(names, submitted, staging, settings)
            notes = [note for source in sources for note in collection.sort(source)]
            return collection.place([*notes, *collection.notes_on_other_assignments()])
    except OSError as error:
        raise UserError(
            f"{error.filename or submitted}: {error.strerror or error}; the submissions "
            "placed so far are complete; fix this and run the command again"
        ) from error


def _check_source(source: Path) -> None:
    """Raises `UserError` for special files, because reading a pipe or a device might never end."""
    if not (source.is_file() or source.is_dir()):
        got = "is neither a regular file nor a folder" if source.exists() else "does not exist"
        raise UserError(f"{source} {got}; expected an archive (.zip) or a folder")


class _Collection:
    """Sorts the files of each download in turn, and then moves submissions to their places."""

    def __init__(
        self, names: CourseNames, submitted: Path, staging: Path, options: CollectOptions
    ) -> None:
        self._ends, self._owners = options.ends, options.owners
        self._names = names
        self._submitted = submitted
        self._class_folder = submitted.parent
        self._times = times = options.times
        self._roster = read_roster(self._class_folder)
        self._logins = options.logins or self._roster.logins
        self._students = Students(read_origins(self._class_folder), self._roster, times, submitted)
        self._sorting = Sorting(names, staging, self._students, options.is_stub)

    def sort(self, source: Path) -> Iterator[str]:
        """Sorts the files in an archive, a folder of clones or any other folder; yields notes."""
        logins, is_folder = self._logins, source.is_dir() and not self._owners
        clones, others = (
            clones_in(source, self._names.assignments, logins) if is_folder else ([], [])
        )
        for item in others:
            self._sorting.refuse(item.path, item.reason, Owner(item.student, item.path))
        template = template_files(clones)
        for clone in clones:
            listed = logins.get(clone.login.casefold(), "")
            student = listed or clone.login
            if logins and not listed:
                yield f"{'/'.join(clone.path)}: {clone.login!r} is not on the roster"
            login = clone.login.casefold()  # GitHub ignores case
            owner = Owner(student, clone.folder.name, CLASSROOM, login, "/".join(clone.path),
                          name=listed, time=committed(clone.folder))  # fmt: skip
            for entry in answers_of(clone, self._names.exercises, template):
                self._take_answer(entry, owner, source.stem)
        if clones:
            self._sorting.take_others()
        else:
            self._sort_download(source)

    def _take_answer(self, entry: DownloadEntry | RefusedFile, owner: Owner, source: str) -> None:
        if isinstance(entry, RefusedFile):
            self._sorting.refuse(entry.path, entry.reason, owner if entry.student else None)
            return
        outside = (found for part in entry.path[:-1] if (found := self._names.folder(part)))
        place = OwnedFile((owner,), next(outside, None), entry.path)
        self._sorting.take(entry, place, source)

    def _sort_download(self, source: Path) -> None:
        name = source.name if source.is_dir() else source.stem
        with entries_of(source) as found:
            listed = list(found)
            entries = [entry for entry in listed if isinstance(entry, DownloadEntry)]
            paths = [entry.path for entry in entries]
            layout = DownloadLayout(paths, name, self._names, _metadata(entries), self._owners)
            places = [(e, self._place(layout, e)) for e in entries]
            for _, place in places:
                self._students.know(place.owners if isinstance(place, OwnedFile) else ())
            for refused in listed:
                if isinstance(refused, RefusedFile):
                    self._sorting.refuse(refused.path, refused.reason, _misses(layout, refused))
            # answers come first, because they show to which assignment a student's other files
            # belong
            for entry, place in sorted(places, key=lambda found: not self._may_answer(*found)):
                if isinstance(place, OwnedFile):
                    self._sorting.take(entry, place, name)
                else:
                    self._sorting.refuse("/".join(entry.path), place, _somebody(entry, place))
            self._sorting.take_others()
        if together := self._sorting.merged_students():
            raise UserError(
                f"{source}: {len(together)} files would belong to one student, such as "
                f"{together[0]} and {together[1]}: does each of these folders belong to a student? "
                "Nothing was collected\n"
                "  fix: collect the folder that contains a folder for each student"
            )

    def _place(self, layout: DownloadLayout, entry: DownloadEntry) -> OwnedFile | str:
        """Returns a file's owners (a group's members), or the reason why they are unknown."""
        place = layout.place(entry.path, entry.is_archive)
        if isinstance(place, str) or self._owners:
            return place
        members = (member for owner in place.owners for member in self._students.members(owner))
        return replace(place, owners=tuple(members))

    def _may_answer(self, entry: DownloadEntry, place: OwnedFile | str) -> bool:
        if not isinstance(place, OwnedFile):
            return False
        return entry.is_archive or self._names.is_exercise(self._names.standard(place.own[-1])[0])

    def notes_on_other_assignments(self) -> tuple[str, ...]:
        return self._sorting.notes_on_other_assignments()

    def place(self, notes: Sequence[str]) -> CollectReport:
        """Moves gathered submissions to their places; returns a report, or raises `OSError`."""
        places, roster, times = (
            SubmittedFolder(self._submitted, self._ends),
            self._roster,
            self._times,
        )
        before = places.students
        collected: list[CollectedSubmission] = []
        origins: list[Origin] = []
        looked: list[str] = []
        again: list[str] = []  # reported by an earlier collection
        asked = list(self._sorting.requests())
        for pile in self._sorting.piles:
            if problem := places.problem(pile):
                self._sorting.refuse(f"{pile.student}/{pile.assignment}", problem, pile.owner)
                continue
            looks = self._sorting.look(pile)
            stated = times.of(pile.owner, roster.person(pile.student))
            made = places.put(pile, _stated_time(pile, stated, times.source))
            collected.append(made)
            lines = [f"{made.student}/{made.assignment}: {look}" for look in looks]
            looked += lines if made.outcome in (Outcome.NEW, Outcome.WAITING) else ()
            again += lines if made.outcome is Outcome.SAME else ()
            if made.origin is not None:
                origins.append(_origin(pile, made, made.origin, times.email_of(pile.owner)))
        write_origins(self._class_folder, origins)
        write_uploads(self._class_folder, places.uploads.values())
        students = [made.student for made in collected]
        found = [(pile.owner, roster.person(pile.student)) for pile in self._sorting.piles]
        of_class = [*roster.people, *map(Person, places.students)]
        of_table = times.about(found, Index([person.identity for person in of_class]))
        about = (*self._students.notes, *lookalikes(before, students))
        now = read_roster(self._class_folder)  # with the names that the platform uses now
        every = (*notes, *again, *about, *_strangers(now, students))
        waiting = waiting_folders(self._class_folder)
        refused = self._sorting.refused()
        looks = (*looked, *times.notes, *of_table)
        return CollectReport(tuple(collected), refused, every, waiting, looks, tuple(asked))


def _strangers(roster: Roster, students: Sequence[str]) -> Iterator[str]:
    strangers = [s for s in dict.fromkeys(students) if roster.people and not roster.person(s)]
    unknown: list[str] = []
    for student in strangers:
        name, _, number = student.rpartition("_")
        known = {p.student for p in roster.without([name if number.isdigit() else student])}
        if several := [p.student for p in roster.people if p.student not in known]:
            yield (
                f"{student!r} may be {' or '.join(map(repr, several))} on the class's roster: "
                "write their addresses or numbers into roster.csv"
            )
        else:
            unknown.append(student)
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        yield f"not on the class's roster: {', '.join(map(repr, unknown[:5]))}{more}"


def _somebody(entry: DownloadEntry, reason: str) -> Owner | None:
    """Returns an owner named after a file's outermost folder; None for Gradescope's metadata."""
    name = entry.path[0]
    return None if reason == READ else Owner(name, name)


def _misses(layout: DownloadLayout, refused: RefusedFile) -> Owner | None:
    """Returns the owner of a rejected file, judging by its path; None if the path is unsafe."""
    parts = refused.path.split("/")
    if ".." in parts or "" in parts:
        return None
    place = layout.place(parts, is_archive=False)
    return place.owners[0] if isinstance(place, OwnedFile) else Owner(parts[0], parts[0])


def _metadata(entries: Sequence[DownloadEntry]) -> Submitters:
    """Returns the owners that are listed in a Gradescope export, or {} for any other download."""
    path = metadata_path(entry.path for entry in entries)
    if path is None:
        return {}
    entry = next(entry for entry in entries if entry.path == path)
    try:
        return read_submitters(ReadingAllowance().read(entry))
    except UnsafeFile as error:
        raise UserError(f"{'/'.join(path)}: {error}") from error


def _stated_time(pile: Pile, of_table: datetime | None, table: str) -> StatedTime:
    """Returns a submission's time from the best source that states one."""
    owner = pile.owner
    sources = (of_table, table), (pile.time, TIMESTAMP_FILE), (owner.time, owner.platform)
    return next((StatedTime(*one) for one in sources if one[0] is not None), StatedTime())


def _origin(pile: Pile, made: CollectedSubmission, stated: StatedTime, email: str) -> Origin:
    """Returns a submission's row for `collected.csv`; `email` comes from the table of times."""
    owner = pile.owner
    return Origin(
        student=for_file_name(pile.student),  # the name that all later steps will use
        assignment=pile.assignment,
        platform=owner.platform,
        name=owner.student,
        number=owner.number,
        entry=owner.entry,
        email=owner.email or email,
        time=utc_text(stated.time),
        time_from=stated.source if stated.time else "",
        mark=late_mark(made.is_late),
    )


#: letters from other scripts that look like Latin letters
_CYRILLIC = str.maketrans("аеорсухіјѕԁһкмтвн", "aeopcyxijsdhkmtbh")
_GREEK = str.maketrans("οαερνυικτ", "oaepvuikt")
_LATIN = _CYRILLIC | _GREEK


def lookalikes(students: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Returns notes about new students whose names look like other students' names."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    chosen = list(new)
    for student in (*students, *chosen):
        groups[_normalized(student)].add(student)
    return tuple(
        f"{' and '.join(map(ascii, sorted(groups[look])))} look alike: are they the same student?"
        for look in sorted({_normalized(student) for student in chosen})
        if len(groups[look]) > 1
    )


def _normalized(name: str) -> str:
    return re.sub(r"[\s.\u200b-\u200f]+", " ", name.casefold().translate(_LATIN)).strip()
