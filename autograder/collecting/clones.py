"""A folder of cloned repositories, as code classrooms give it: whose each one is, and its answers.

GitHub Classroom calls them `<assignment>-<login>` in a folder `<assignment>-submissions`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .commits import is_repository
from .downloaded import Entry, Refused, name_problem
from .entries import file_reader
from .owners import words
from .platforms import platform_name

_SUBMISSIONS = "-submissions"
#: what the release puts next to the answers; a runner's and an editor's folders begin with a dot
_NOT_ANSWERS = ("checks", ".venv", "venv", "node_modules")
_ANSWERS = (".py", ".ipynb")
_NO_NEARER = "another file of this name, no nearer to the top, was taken: which one counts?"
_NOBODYS = "next to clones, so nobody knows whose it is: collect it by itself"
#: nobody writes that much by hand
MAX_ANSWER_BYTES = 10 << 20


@dataclass(frozen=True, slots=True)
class Clone:
    """A repository: its folder, its place below the folder that was given, whose it seems to be."""

    folder: Path
    path: tuple[str, ...]
    login: str


def clones_in(
    folder: Path, assignments: Sequence[str], logins: Collection[str]
) -> tuple[list[Clone], list[Refused]]:
    """The clones in a folder of clones, and what is left out next to them; none in other folders.

    Most of what is in the folder decides, so that nobody's own `.git` does: a folder next to clones
    is read as one of them. `logins` are those of a roster, in lower case.
    """
    others: list[Refused] = []
    paths = list(_clones(folder, (), assignments, others))
    places = [folder.joinpath(*path).resolve() for path in paths]
    slug = _slug([place.name for place in places], logins)
    clones = [
        Clone(place, path or (place.name,), _login(place, assignments, slug))
        for path, place in zip(paths, places, strict=True)
    ]
    return clones, others


def _clones(
    folder: Path, path: tuple[str, ...], assignments: Sequence[str], others: list[Refused]
) -> Iterator[tuple[str, ...]]:
    """Where the clones are: the folder itself, `<login>/`, or `<assignment>/<login>/`."""
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
            others.append(Refused("/".join(own), _NOBODYS, entry.name))


def _members(folder: Path) -> list[Path]:
    """Folders that hold something, and files that may be answers; no links."""
    found = [e for e in sorted(folder.iterdir()) if not e.name.startswith(".")]
    return [
        e for e in found if not e.is_symlink() and (_holds_something(e) if e.is_dir()
        else e.name.lower().endswith((*_ANSWERS, ".zip")))
    ]  # fmt: skip


def _holds_something(folder: Path) -> bool:
    try:
        return any(True for _ in folder.iterdir())
    except OSError:
        return True  # whoever reads it says that it can't


def _is_group(folder: Path, assignments: Collection[str]) -> bool:
    """Whether a folder is called like an assignment, and most of what it holds are clones.

    A student's own folders are no group, whatever they hold.
    """
    is_named = words(folder.name.removesuffix(_SUBMISSIONS)) in assignments
    if not is_named or not folder.is_dir() or is_repository(folder):
        return False
    inner = _members(folder)
    return _are_most(list(filter(is_repository, inner)), inner)


def _are_most(some: Sequence[Path], every: Sequence[Path]) -> bool:
    return len(some) > len(every) / 2


def _slug(names: Sequence[str], logins: Collection[str]) -> str:
    """What most names have in front of a login; the shortest where several do."""
    found = Counter(
        name[: -len(login)]
        for name in names
        for login in logins
        if name.casefold().endswith(f"-{login}")
    )
    return min(found, key=lambda slug: (-found[slug], len(slug)), default="")


def _login(place: Path, assignments: Sequence[str], slug: str) -> str:
    """Whose repository it is: by the folder around it, the assignment in its name, the roster."""
    name, around = place.name, f"{place.parent.name.removesuffix(_SUBMISSIONS)}-"
    if place.parent.name.endswith(_SUBMISSIONS) and name.startswith(around):
        return name[len(around) :]
    for assignment in sorted(assignments, key=len, reverse=True):
        said = "[-_.]".join(map(re.escape, words(assignment).split("_")))
        if match := re.fullmatch(rf"(?:.*[-_.])?{said}[-_.](.+)", name, re.IGNORECASE):
            return match[1]
    return name.removeprefix(slug)


def answers_of(clone: Clone, exercises: frozenset[str]) -> Iterator[Entry | Refused]:
    """The files of exercises in a clone, nearest to its top first; what else may be an answer.

    Names are looked at first, and nothing is read.
    """
    seen: dict[str, int] = {}
    for own in sorted(_answers(clone.folder, ()), key=len):
        whole = (*clone.path, *own)
        if own[-1].rpartition(".")[0] not in exercises:
            yield Refused("/".join(whole), "no exercise is called so")
        elif seen.get(own[-1]) == len(own):
            yield Refused("/".join(whole), _NO_NEARER, clone.login)
        elif own[-1] in seen:
            yield Refused("/".join(whole), "a file of this name nearer to the top counts")
        else:
            seen[own[-1]] = len(own)
            path = clone.folder.joinpath(*own)
            yield Entry(whole, False, file_reader(path, MAX_ANSWER_BYTES))
    if not seen:
        yield Refused("/".join(clone.path), "no file of an exercise in it")


def _answers(folder: Path, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths that end like an answer, folders of tools left out; links are not followed."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            own = (*path, entry.name)
            if entry.name.startswith(".") or entry.name in _NOT_ANSWERS or name_problem(own):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _answers(Path(entry.path), own)
            elif entry.name.endswith(_ANSWERS):
                yield own
