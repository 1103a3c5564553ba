"""Each file on the pile of its owner, while a collection is put together in a folder of its own.

Of two uploads of one file by one person the newer counts. Where two different files claim the same
place and nothing says which is newer, both are refused: nobody's work is displaced by another's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..classroom import TIMESTAMP_FILE, read_stamp
from ..errors import UserError
from ..submission import unused_notes
from .downloaded import OF_A_SYSTEM, Account, Entry, Member, Refused
from .entries import contents_of
from .owners import UNCLEAR, Names, Place
from .platforms import Owner
from .students import Students

_NOT_TO_SAY = "the time of a submission is not its student's to say"
_NO_TIME = "no time with a zone that is known: when it was submitted is unknown"
#: a file of these endings, or an archive that is read as a folder, may be an answer
_ANSWERS = (".py", ".ipynb", ".zip")
#: that many lines about one person's files; the others are counted
_LINES = 20
#: that many equal names side by side are students, not versions of one student's work
_MANY = 3

Rank = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Claim:
    """A file that lies on a pile, and by what right."""

    file: str
    path: str
    key: str
    rank: Rank
    is_refused: bool = False


@dataclass(slots=True)
class Pile:
    """The files of one submission while they are put together; `time` is what nbgrader wrote."""

    student: str
    assignment: str
    folder: Path
    owner: Owner
    claims: dict[str, _Claim] = field(default_factory=dict)
    time: datetime | None = None
    is_late: bool = False

    @property
    def files(self) -> list[str]:
        """The names of the files that count."""
        return sorted(claim.file for claim in self.claims.values() if not claim.is_refused)


class Sorting:
    """Puts files on piles; what is not taken is kept with its reason and its student."""

    def __init__(self, names: Names, staging: Path, students: Students) -> None:
        self._names = names
        self._staging = staging
        self._students = students
        self._accounts: defaultdict[str, Account] = defaultdict(Account)
        self._piles: dict[tuple[str, str], Pile] = {}
        self._rivals: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._fit: defaultdict[str, set[str]] = defaultdict(set)
        self._strays: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._unplaced: list[tuple[Owner, str, str]] = []
        self._refused: list[Refused] = []

    @property
    def piles(self) -> list[Pile]:
        """The submissions with at least one file, in the order of students and assignments."""
        found = (self._piles[key] for key in sorted(self._piles))
        return [pile for pile in found if pile.files]

    def look(self, pile: Pile) -> tuple[str, ...]:
        """What of a pile answers nothing, where a person has to look at it."""
        return unused_notes(pile.folder, self._names.exercises_of(pile.assignment))

    def refuse(self, path: str, reason: str, owner: Owner | None = None) -> None:
        """Leaves a file out; its owner misses it where it may have been an answer."""
        misses = owner is not None and reason != OF_A_SYSTEM and _may_be_an_answer(path)
        self._refused.append(Refused(path, reason, owner.student if owner and misses else ""))

    def take(self, entry: Entry, place: Place, source: str) -> None:
        """Puts what is in an entry on the piles of its owners."""
        path = "/".join(entry.path)
        for owner in place.owners:
            if owner.problem:
                self._unplaced.append((owner, path, owner.problem))
                continue
            is_empty = True
            for member in contents_of(entry, self._accounts[owner.key]):
                is_empty = False
                if isinstance(member, Refused):
                    self.refuse(member.path, member.reason, owner)
                else:
                    self._take(member, entry, place, owner, source)
            if is_empty:
                self.refuse(path, "an archive without a file in it", owner)

    def _take(self, member: Member, entry: Entry, place: Place, owner: Owner, source: str) -> None:
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
            claim = _Claim(file, path, owner.key, (copy, owner.rank, -len(own)))
            self._put(pile, claim, member.data, owner)

    def _only_pile(self, owner: Owner) -> str | None:
        """The assignment of an owner's other files, where these have all the same one."""
        found = {pile.assignment for pile in self._piles.values() if pile.owner.key == owner.key}
        return found.pop() if len(found) == 1 else None

    def _apart(self, said: str, file: str, owner: Owner) -> str:
        """The assignment of a file in a download that is said to be of one, and may hold several.

        A file that can only be another assignment's goes there, unless its owner has a submission
        there from elsewhere, which it would replace.
        """
        fits = self._names.fits(file)
        self._fit[said] |= {owner.key} if said in fits else set()
        if said in fits or len(fits) != 1:
            return said
        self._strays[said, fits[0]].add(owner.key)
        if self._students.has_other_work(owner, fits[0]):
            return said
        return fits[0]

    def taken_apart(self) -> tuple[str, ...]:
        """Notes on files that were another assignment's than the one that was said.

        Raises `UserError` where most are: then it is the download of another assignment.
        """
        notes = []
        for (said, other), keys in sorted(self._strays.items()):
            fit = self._fit[said]
            if len(keys - fit) > len(fit):
                raise UserError(
                    f"{len(keys - fit)} people have files of {other} in there and none of {said}, "
                    f"{len(fit)} have files of {said}: nothing was collected\n"
                    f"  fix: collect it with --assignment {other}, under a name that says so"
                )
            notes.append(f"files of {other} by {len(keys)} people were among those of {said}")
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
            reason = f"differs from {known.file} by upper and lower case only"
            self.refuse(claim.path, reason, owner)
        elif not known.is_refused and target.read_bytes() == data:
            self.refuse(claim.path, f"the same as {known.path}")
        elif known.key == claim.key and known.rank != claim.rank:
            older = min(known, claim, key=lambda claim: claim.rank)
            self.refuse(older.path, "a newer upload, or one nearer to the top, counts")
            if older is known:
                pile.claims[folded] = claim
                target.write_bytes(data)
        else:
            self._conflict(pile, known, claim, owner)

    def _conflict(self, pile: Pile, known: _Claim, claim: _Claim, owner: Owner) -> None:
        where = f"{pile.student}/{pile.assignment}/{claim.file}"
        if not known.is_refused:
            self.refuse(known.path, f"{claim.path} claims to be {where}, too: keep one", owner)
            (pile.folder / claim.file).unlink()
            pile.claims[claim.file.casefold()] = _Claim(
                known.file, known.path, known.key, known.rank, is_refused=True
            )
        self.refuse(claim.path, f"{known.path} claims to be {where}, too: keep one", owner)
        self._rivals[owner.key, claim.file] |= {known.path, claim.path}

    def fallen_together(self) -> tuple[str, ...]:
        """Paths that look like different students' and fell on one pile; empty where none did."""
        keys = {pile.owner.key for pile in self._piles.values()}
        for rivals in self._rivals.values():
            if len(keys) == 1 and len(rivals) >= _MANY:
                return tuple(sorted(rivals))
        return ()

    def refused(self) -> tuple[Refused, ...]:
        """What was left out; of one owner with many lines the rest is counted."""
        self._tell_unplaced()
        lines = Counter[str]()
        kept: list[Refused] = []
        for item in self._refused:
            owner = item.path.partition("/")[0]
            lines[owner] += 1
            if lines[owner] <= _LINES:
                kept.append(item)
        kept += [
            Refused(owner, f"and {count - _LINES} more files of this name")
            for owner, count in lines.items()
            if count > _LINES
        ]
        losses = (item for item in self._refused if item.student)
        missing = {item.student: item for item in losses}.keys() - {i.student for i in kept}
        return (*kept, *(Refused(s, "files were left out", s) for s in sorted(missing)))

    def _tell_unplaced(self) -> None:
        """What is next to files that count is left; alone it is all that its student submitted."""
        have_files = {pile.owner.key for pile in self.piles}
        for owner, path, reason in self._unplaced:
            misses = "" if owner.key in have_files else owner.student
            self._refused.append(Refused(path, reason, misses))
        self._unplaced.clear()


def _may_be_an_answer(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith(_ANSWERS) or "." not in name


def _is_nbgraders(entry: Entry, place: Place, owner: Owner) -> bool:
    """Whether nbgrader wrote the time: `<student>/<assignment>/timestamp.txt` of a folder."""
    is_there = place.assignment is not None and len(place.own) == 1
    return is_there and not entry.in_archive and not owner.platform
