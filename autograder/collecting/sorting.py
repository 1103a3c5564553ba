"""Sorts files into piles, one for each submission, in the collection's temporary folder.

If one person uploaded a file twice, the newer upload counts. If two different files have the same
name in a submission and it is not known which is newer, both are rejected, so that no student's
work replaces another student's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ..classroom import TIMESTAMP_FILE, is_request, read_stamp, request_text, utc_text
from ..counts import number_of
from ..errors import UserError
from ..escaping import for_file_name
from ..submission import LOOK, is_answer, unused_notes
from .download_entries import contents_of
from .downloaded import OF_A_SYSTEM, AcceptedFile, DownloadEntry, ReadingAllowance, RefusedFile
from .issues import FoundRequest
from .owners import UNCLEAR, CourseNames, OwnedFile
from .platforms import Owner
from .students import Students

_NOT_TO_SAY = "students cannot state the time of their own submission"
_NO_TIME = "no time with a known time zone: the time of submission is unknown"
#: the endings of files that may be answers; archives are read as folders
_ANSWERS = (".py", ".ipynb", ".zip")
#: the maximum number of lines about one person's files; any others are only counted
_LINES = 20
#: if at least this many files claim the same place, they come from different students, and are not
#: versions of one student's work
_MANY = 3

#: whether a file was changed, the number of the copy, the number of the upload, and the depth; the
#: file with the highest rank is used
Rank = tuple[bool, int, int, int]
#: returns whether a file answers no question of the assignment, because it is an untouched stub
IsStub = Callable[[str, Path], bool]


@dataclass(frozen=True, slots=True)
class _Claim:
    """A file in a pile; the owner's key and the rank decide whether another file can replace it."""

    file: str
    path: str
    key: str
    rank: Rank
    is_refused: bool = False


@dataclass(slots=True)
class Pile:
    """The files gathered for a submission; `time` is the time in nbgrader's `timestamp.txt`.

    `owner` is the owner according to the newest of the uploaded files. `has_request` is true if a
    request for a second look came with these files. `looks` contains notes for an instructor about
    files that were not used although they may be answers.
    """

    student: str
    assignment: str
    folder: Path
    owner: Owner
    claims: dict[str, _Claim] = field(default_factory=dict)
    time: datetime | None = None
    is_late: bool = False
    has_request: bool = False
    looks: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        return sorted(claim.file for claim in self.claims.values() if not claim.is_refused)


class Sorting:
    """Sorts files into piles; records a reason and a student for each file that it rejects."""

    def __init__(
        self, names: CourseNames, staging: Path, students: Students, is_stub: IsStub
    ) -> None:
        self._names = names
        self._staging = staging
        self._is_stub = is_stub
        self._students = students
        self._accounts: defaultdict[str, ReadingAllowance] = defaultdict(ReadingAllowance)
        self._piles: dict[tuple[str, str], Pile] = {}
        self._rivals: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._fit: defaultdict[str, set[str]] = defaultdict(set)
        self._strays: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._unplaced: list[tuple[Owner, str, str]] = []
        self._refused: list[tuple[str, str, Owner | None]] = []
        self._others: list[tuple[Owner, DownloadEntry, OwnedFile, str]] = []

    @property
    def piles(self) -> list[Pile]:
        """The submissions with at least one file, sorted by student and assignment."""
        found = (self._piles[key] for key in sorted(self._piles))
        return [pile for pile in found if pile.files]

    def requests(self) -> Iterator[FoundRequest]:
        """Removes the requests for a second look from the piles, and yields them.

        If a request stayed in its pile, the pile would become a new submission, which could be
        late.
        """
        for pile in self.piles:
            texts, source = list[bytes](), ""
            for folded, claim in list(pile.claims.items()):
                if is_request(claim.file) and not claim.is_refused:
                    path = pile.folder / claim.file
                    texts.append(path.read_bytes())
                    path.unlink()
                    del pile.claims[folded]
                    source = source or claim.path
            if texts:
                pile.has_request = True
                at, student = utc_text(pile.time or pile.owner.time), for_file_name(pile.student)
                words = request_text(*texts)
                yield FoundRequest(student, words, source, at, assignment=pile.assignment)

    def look(self, pile: Pile) -> tuple[str, ...]:
        """Returns notes for an instructor about files that are not used for any exercise."""
        exercises = self._names.exercises_of(pile.assignment)
        return (*pile.looks, *unused_notes(pile.folder, exercises))

    def refuse(self, path: str, reason: str, owner: Owner | None = None) -> None:
        """Leaves a file out of the submissions.

        The owner's work counts as missing if the file may be an answer, or if it is the owner's
        only file.
        """
        if owner is None or reason == OF_A_SYSTEM:
            self._refused.append((path, reason, None))
        elif _may_be_an_answer(path):
            self._refused.append((path, reason, owner))
        else:
            self._unplaced.append((owner, path, reason))

    def take(self, entry: DownloadEntry, place: OwnedFile, source: str) -> None:
        """Puts the contents of an entry into the owners' piles."""
        path = "/".join(entry.path)
        for owner in place.owners:
            if owner.problem:
                self._others.append((owner, entry, place, source))
                continue
            is_empty = True
            for member in contents_of(entry, self._accounts[owner.key]):
                is_empty = False
                if not isinstance(member, RefusedFile):
                    self._take(member, entry, place, owner, source)
                elif entry.is_archive and member.path == path:  # it can't be opened
                    packed = replace(entry, stays_packed=True)
                    self._others.append(
                        (replace(owner, problem=member.reason), packed, place, source)
                    )
                else:
                    self.refuse(member.path, member.reason, owner)
            if is_empty:
                self.refuse(path, "an archive that contains no file", owner)

    def take_others(self) -> None:
        """Adds typed-in text and damaged archives from students who have no other file.

        These files earn no points until a person has looked at them, and never replace an existing
        submission.
        """
        have_files = {pile.owner.key for pile in self.piles}
        for owner, entry, place, source in self._others:
            assignment = self._names.assignment(place, source, place.own)
            is_there = assignment and self._students.has_other_work(owner, assignment)
            if assignment is None or owner.key in have_files or is_there:
                self.refuse("/".join(entry.path), owner.problem, owner)
                continue
            for member in contents_of(entry, self._accounts[owner.key]):
                if isinstance(member, RefusedFile):
                    self.refuse(member.path, member.reason, owner)
                else:
                    self._take(member, entry, place, owner, source)
        self._others.clear()

    def _take(
        self,
        member: AcceptedFile,
        entry: DownloadEntry,
        place: OwnedFile,
        owner: Owner,
        source: str,
    ) -> None:
        own = place.own
        if entry.is_archive:
            own = (*own[:-1], *member.path[len(entry.path) - 1 :])
        file, copy = self._names.standard(own[-1])
        assignment = self._names.assignment(place, source, (*own[:-1], file))
        if assignment is not None and self._names.assignment_of_download(place, source):
            assignment = self._apart(assignment, file, owner)
        assignment = assignment or self._only_pile(owner)
        path = "/".join(member.path)
        if assignment is None:
            self._unplaced.append((owner, path, UNCLEAR))
        elif file == TIMESTAMP_FILE and not _is_nbgraders(entry, place, owner):
            self.refuse(path, _NOT_TO_SAY)
        elif file == TIMESTAMP_FILE and read_stamp(member.data) is None:
            self.refuse(path, _NO_TIME)
        else:
            pile = self._pile(owner, assignment)
            if file == TIMESTAMP_FILE:
                pile.time = read_stamp(member.data)
            pile.is_late |= owner.is_late
            if owner.key == pile.owner.key and owner.rank > pile.owner.rank:
                pile.owner = owner
            claim = _Claim(file, path, owner.key, (True, copy, owner.rank, -len(own)))
            self._put(pile, claim, member.data, owner)

    def _only_pile(self, owner: Owner) -> str | None:
        """Returns the assignment of an owner's other files if they all have the same assignment."""
        found = {pile.assignment for pile in self._piles.values() if pile.owner.key == owner.key}
        return found.pop() if len(found) == 1 else None

    def _apart(self, named: str, file: str, owner: Owner) -> str:
        """Returns a file's assignment, given the assignment that the user `named` for the download.

        If the file can only belong to a different assignment, returns that assignment, unless the
        owner already has a submission for it from a different upload.
        """
        fits = self._names.fits(file)
        self._fit[named] |= {owner.key} if named in fits else set()
        if named in fits or len(fits) != 1:
            return named
        self._strays[named, fits[0]].add(owner.key)
        if self._students.has_other_work(owner, fits[0]):
            return named
        return fits[0]

    def notes_on_other_assignments(self) -> tuple[str, ...]:
        """Returns notes about files for assignments other than the one that the user named.

        Raises `UserError` if most files belong to another assignment, which means that the user has
        named the wrong one.
        """
        notes = []
        for (named, other), keys in sorted(self._strays.items()):
            fit = self._fit[named]
            if len(keys - fit) > len(fit):
                raise UserError(
                    f"most submissions in the download are for {other}, not for {named}: "
                    f"{len(keys - fit)} contain files for {other} only, {len(fit)} contain files "
                    f"for {named}. Nothing was collected\n"
                    f"  fix: collect the download again with --assignment {other}"
                )
            whose = number_of(len(keys), "student")
            notes.append(f"files for {other} by {whose} were among those for {named}")
        return tuple(notes)

    def _pile(self, owner: Owner, assignment: str) -> Pile:
        student = self._students.name(owner, assignment)
        key = student, assignment
        if key not in self._piles:
            folder = self._staging / str(len(self._piles))
            folder.mkdir()
            self._piles[key] = Pile(student, assignment, folder, owner)
        return self._piles[key]

    def _put(self, pile: Pile, claim: _Claim, data: bytes, owner: Owner) -> None:
        folded, target = claim.file.casefold(), pile.folder / claim.file
        known = pile.claims.get(folded)
        if known is None:
            pile.claims[folded] = claim
            target.write_bytes(data)
        elif known.file != claim.file:
            reason = f"differs from {known.file} only in capitalization"
            self.refuse(claim.path, reason, owner)
        elif not known.is_refused and target.read_bytes() == data:
            self.refuse(claim.path, f"the same as {known.path}")
        else:
            if not known.is_refused:
                known = self._ranked(pile, known, target.read_bytes())
            claim = self._ranked(pile, claim, data)
            is_undecided = known.is_refused and claim.rank[0] and claim.rank < known.rank
            if known.key != claim.key or known.rank == claim.rank or is_undecided:
                self._conflict(pile, known, claim, owner)
                return
            lost, used = sorted((known, claim), key=lambda claim: claim.rank)
            reason, is_look = _why_unused(lost, used)
            self.refuse(lost.path, reason)
            pile.looks += [f"{LOOK}{lost.path}: {used.path} is used instead"] if is_look else []
            pile.claims[folded] = used
            if used is claim:
                target.write_bytes(data)

    def _ranked(self, pile: Pile, claim: _Claim, data: bytes) -> _Claim:
        """Returns a claim whose rank says whether the file is an untouched stub."""
        if not is_answer(claim.file, self._names.exercises_of(pile.assignment)):
            return claim
        path = self._staging / "version" / claim.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return replace(claim, rank=(not self._is_stub(pile.assignment, path), *claim.rank[1:]))

    def _conflict(self, pile: Pile, known: _Claim, claim: _Claim, owner: Owner) -> None:
        where = f"{pile.student}/{pile.assignment}/{claim.file}"
        if not known.is_refused:
            self.refuse(known.path, f"{claim.path} could also be {where}: keep one", owner)
            (pile.folder / claim.file).unlink()
            pile.claims[claim.file.casefold()] = _Claim(
                known.file, known.path, known.key, known.rank, is_refused=True
            )
        self.refuse(claim.path, f"{known.path} could also be {where}: keep one", owner)
        self._rivals[owner.key, claim.file] |= {known.path, claim.path}

    def merged_students(self) -> tuple[str, ...]:
        """Returns paths of files in one submission that seem to belong to different students."""
        keys = {pile.owner.key for pile in self._piles.values()}
        for rivals in self._rivals.values():
            if len(keys) == 1 and len(rivals) >= _MANY:
                return tuple(sorted(rivals))
        return ()

    def refused(self) -> tuple[RefusedFile, ...]:
        """Returns the files that were left out; for an owner with many, only the first few."""
        self._refuse_unplaced()
        lines = Counter[str]()
        kept: list[RefusedFile] = []
        names = self._names_of([owner for _, _, owner in self._refused if owner])
        every = [
            RefusedFile(path, reason, names[owner.key] if owner else "")
            for path, reason, owner in self._refused
        ]
        for item in every:
            owner = item.path.partition("/")[0]
            lines[owner] += 1
            if lines[owner] <= _LINES:
                kept.append(item)
        kept += [
            RefusedFile(owner, f"and {count - _LINES} more files")
            for owner, count in lines.items()
            if count > _LINES
        ]
        losses = (item for item in every if item.student)
        missing = {item.student: item for item in losses}.keys() - {i.student for i in kept}
        return (*kept, *(RefusedFile(s, "files were left out", s) for s in sorted(missing)))

    def _refuse_unplaced(self) -> None:
        """Rejects the unplaced files; they count as missing work if a student has no other file."""
        have_files = {pile.owner.key for pile in self.piles}
        for owner, path, reason in self._unplaced:
            self._refused.append((path, reason, None if owner.key in have_files else owner))
        self._unplaced.clear()

    def _names_of(self, owners: Iterable[Owner]) -> dict[str, str]:
        """Returns the names in the class of the owners of rejected files, by the owners' keys."""
        names = {pile.owner.key: pile.student for pile in self.piles}
        others = {owner.key: owner for owner in owners if owner.key not in names}
        return names | {key: self._students.name(own, "") for key, own in others.items()}


def _why_unused(lost: _Claim, used: _Claim) -> tuple[str, bool]:
    """Returns why one of two versions of a file is not used, and whether to look at it."""
    (is_changed, copy, upload, _), (_, other, newer, _) = lost.rank, used.rank
    if not is_changed:
        return "an untouched stub, which counts for nothing", False
    if copy < 0 <= other:
        return "a copy: the original is used instead", True
    if (copy, upload) != (other, newer):
        return "a newer upload is used instead", False
    return "a file with this name in a folder further up is used instead", True


def _may_be_an_answer(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_ANSWERS) or "." not in name


def _is_nbgraders(entry: DownloadEntry, place: OwnedFile, owner: Owner) -> bool:
    """Returns whether a timestamp is in `<student>/<assignment>/`, where nbgrader writes it."""
    is_there = place.assignment is not None and len(place.own) == 1
    return is_there and not entry.in_archive and not owner.platform
