"""Finds the owners of repositories cloned from a code classroom, and the answers in the clones.

GitHub Classroom names the clones `<assignment>-<login>`, in the folder `<assignment>-submissions`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..classroom import read_csv
from ..errors import UserError
from ..submission import CODE, is_answer, standard_name
from .commits import is_repository
from .download_entries import file_reader
from .downloaded import DownloadEntry, RefusedFile, name_problem
from .owners import words
from .platforms import platform_name

_SUBMISSIONS = "-submissions"
#: files and folders that releases and tools put next to answers; names that begin with a dot are
#: also ignored
_NOT_WORK = ("checks", "extras", "venv", "node_modules", "requirements.txt")
#: the endings of files that may contain answers
_WORK = (
    *(".py", ".ipynb", ".txt", ".html", ".pdf", ".doc", ".docx", ".odt"),
    *(".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".xz", ".bz2"),
)
#: if there are at least this many clones, files that most of them contain are from the template
_A_CLASS = 3
_NOBODYS = "next to clones, so its student is unknown: collect it separately"
#: the maximum size of an answer in bytes; nobody types a longer one
MAX_ANSWER_BYTES = 10 << 20


@dataclass(frozen=True, slots=True)
class Clone:
    """A student's repository: its folder, its path in the download, and its owner's login."""

    folder: Path
    path: tuple[str, ...]
    login: str


def clones_in(
    folder: Path, assignments: Sequence[str], logins: Collection[str]
) -> tuple[list[Clone], list[RefusedFile]]:
    """Returns the clones in a folder, and the files next to them that are left out.

    The folder must be a repository, or most of the files and folders in it must be repositories or
    groups of repositories; otherwise, both lists are empty. A few repositories are not enough,
    because a single student's folder may contain a `.git`. If most are repositories, the other
    folders are read as clones, too. `logins` contains logins from a roster, in lower case.
    """
    others: list[RefusedFile] = []
    paths = list(_clones(folder, (), assignments, others))
    places = [folder.joinpath(*path).resolve() for path in paths]
    slug = _slug([place.name for place in places], logins)
    clones = [
        Clone(place, path or (place.name,), _login(place, assignments, slug))
        for path, place in zip(paths, places, strict=True)
    ]
    return clones, others


def _clones(
    folder: Path, path: tuple[str, ...], assignments: Sequence[str], others: list[RefusedFile]
) -> Iterator[tuple[str, ...]]:
    """Yields the paths of clones: `<login>/`, `<assignment>/<login>/`, or the folder itself."""
    place = folder.joinpath(*path)
    if is_repository(place):
        yield path
        return
    inner = _members(place)
    if any(platform_name(entry.name) for entry in inner):
        return
    named = {words(assignment) for assignment in assignments}
    groups = [e for e in inner if not path and _is_group(e, named)]
    if not _are_most([*groups, *filter(is_repository, inner)], inner):
        return
    for entry in inner:
        own = (*path, entry.name)
        if entry in groups:
            yield from _clones(folder, own, assignments, others)
        elif entry.is_dir():
            yield own
        else:
            others.append(RefusedFile("/".join(own), _NOBODYS, entry.name))


def _members(folder: Path) -> list[Path]:
    """Returns a folder's non-empty subfolders and the files that may be answers; ignores links."""
    found = [e for e in sorted(folder.iterdir()) if not e.name.startswith(".")]
    return [
        e for e in found if not e.is_symlink() and (_holds_something(e) if e.is_dir()
        else e.name.lower().endswith((*CODE, ".zip")))
    ]  # fmt: skip


def _holds_something(folder: Path) -> bool:
    try:
        return any(True for _ in folder.iterdir())
    except OSError:
        return True  # reading it later reports the error


def _is_group(folder: Path, assignments: Collection[str]) -> bool:
    """Returns whether a folder is named after an assignment and contains mostly clones.

    A student's own repository is never a group, whatever it contains.
    """
    is_named = words(folder.name.removesuffix(_SUBMISSIONS)) in assignments
    if not is_named or not folder.is_dir() or is_repository(folder):
        return False
    inner = _members(folder)
    return _are_most(list(filter(is_repository, inner)), inner)


def _are_most(some: Sequence[Path], every: Sequence[Path]) -> bool:
    return len(some) > len(every) / 2


def _slug(names: Sequence[str], logins: Collection[str]) -> str:
    """Returns the most frequent prefix before a login in the names (if tied, the shortest)."""
    found = Counter(
        name[: -len(login)]
        for name in names
        for login in logins
        if name.casefold().endswith(f"-{login}")
    )
    return min(found, key=lambda slug: (-found[slug], len(slug)), default="")


def _login(place: Path, assignments: Sequence[str], slug: str) -> str:
    """Returns the login of a repository's owner, which is the repository's name without a prefix.

    The prefix is the name of the outer folder or, if the repository's name does not begin with it,
    the name of the assignment or, as a last resort, `slug`.
    """
    name, around = place.name, f"{place.parent.name.removesuffix(_SUBMISSIONS)}-"
    if place.parent.name.endswith(_SUBMISSIONS) and name.startswith(around):
        return name[len(around) :]
    for assignment in sorted(assignments, key=len, reverse=True):
        pattern = "[-_.]".join(map(re.escape, words(assignment).split("_")))
        if match := re.fullmatch(rf"(?:.*[-_.])?{pattern}[-_.](.+)", name, re.IGNORECASE):
            return match[1]
    return name.removeprefix(slug)


def template_files(clones: Sequence[Clone]) -> frozenset[tuple[str, ...]]:
    """Returns the paths that most repositories contain; such files are probably the template's."""
    if len(clones) < _A_CLASS:
        return frozenset()
    found = Counter(path for clone in clones for path in _uploads(clone.folder, ()))
    return frozenset(path for path, number in found.items() if 2 * number > len(clones))


def answers_of(
    clone: Clone, exercises: frozenset[str], template: Collection[tuple[str, ...]] = ()
) -> Iterator[DownloadEntry | RefusedFile]:
    """Yields a clone's exercise files, those nearest to the top first, and then its other files.

    As with other uploads, an instructor is informed about files that are not exercise files. Only
    names are examined; no file is read yet.
    """
    uploads = sorted(_uploads(clone.folder, ()), key=len)
    answers = [o for o in uploads if is_answer(standard_name(o[-1], exercises)[0], exercises)]
    others = [own for own in uploads if own not in answers and own not in template]
    yield from (_entry(clone, own) for own in answers)
    yield from _kept(clone, others, is_packed=bool(answers))
    if not answers and not others:
        yield RefusedFile("/".join(clone.path), "it contains no exercise file")


def _kept(
    clone: Clone, others: Sequence[tuple[str, ...]], is_packed: bool
) -> Iterator[DownloadEntry | RefusedFile]:
    """Yields one file for each name in `others`; if `is_packed` is true, archives stay packed."""
    names: set[str] = set()
    for own in others:
        if own[-1].casefold() not in names:
            names.add(own[-1].casefold())
            yield replace(_entry(clone, own), stays_packed=is_packed)


def _entry(clone: Clone, own: tuple[str, ...]) -> DownloadEntry:
    reader = file_reader(clone.folder.joinpath(*own), MAX_ANSWER_BYTES)
    return DownloadEntry((*clone.path, *own), False, reader)


def _uploads(folder: Path, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yields the paths of files that may be a student's work; does not follow links."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            own = (*path, entry.name)
            if entry.name.startswith(".") or entry.name in _NOT_WORK or name_problem(own):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _uploads(Path(entry.path), own)
            elif entry.name.lower().endswith(_WORK):
                yield own


#: the names of GitHub Classroom's columns
LOGIN, STUDENT = "github_username", "identifier"


def read_logins(path: Path) -> dict[str, str]:
    """Maps logins, in lower case because GitHub ignores case, to students' identifiers.

    Returns {} for a different platform's table. Raises `UserError` if a login belongs to two
    students.
    """
    columns, rows = read_csv(path)
    if not {LOGIN, STUDENT} <= set(columns):
        return {}
    logins: dict[str, str] = {}
    for row in rows:
        login, student = row[LOGIN].strip().casefold(), row[STUDENT].strip()
        if not login or not student:
            continue  # a student who has not accepted an assignment yet
        if logins.setdefault(login, student) != student:
            raise UserError(
                f"{path}: {login!r} is the login of {logins[login]!r} and of {student!r}; "
                "remove one of the two rows"
            )
    return logins
