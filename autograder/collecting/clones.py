"""A folder of cloned repositories, as code classrooms give it: whose each one is, and its answers.

GitHub Classroom calls them `<assignment>-<login>` in a folder `<assignment>-submissions`.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .downloaded import Entry, Refused, name_problem
from .entries import file_reader
from .owners import words

#: how far below the given folder a clone may be: the folder, `<login>/`, `<assignment>/<login>/`
_DEEPEST = 2
_SUBMISSIONS = "-submissions"
#: what the release puts next to the answers; a runner's and an editor's folders begin with a dot
_NOT_ANSWERS = ("checks", ".venv", "venv", "node_modules")
_ANSWERS = (".py", ".ipynb")
#: nobody writes that much by hand
MAX_ANSWER_BYTES = 10 << 20
_GIT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Clone:
    """A repository: its folder, its place below the folder that was given, whose it seems to be."""

    folder: Path
    path: tuple[str, ...]
    login: str


def clones_in(
    folder: Path, assignments: Sequence[str], logins: Collection[str]
) -> tuple[list[Clone], list[Refused]]:
    """The clones in a folder, and what else is there; no clones where it holds other things.

    `logins` are those of a roster, in lower case.
    """
    others: list[Refused] = []
    paths = list(_folders(folder, (), others))
    places = [folder.joinpath(*path).resolve() for path in paths]
    slug = _slug([place.name for place in places], logins)
    clones = [
        Clone(place, path or (place.name,), _login(place, assignments, slug))
        for path, place in zip(paths, places, strict=True)
    ]
    return clones, others if clones else []


def _folders(
    folder: Path, path: tuple[str, ...], others: list[Refused]
) -> Iterator[tuple[str, ...]]:
    place = folder.joinpath(*path)
    if (place / ".git").exists():
        yield path
        return
    inner = [entry for entry in sorted(place.iterdir()) if not entry.name.startswith(".")]
    folders = [entry for entry in inner if entry.is_dir() and not entry.is_symlink()]
    if len(path) == _DEEPEST or not folders:
        others.append(Refused("/".join(path), "not a clone of a repository: collect it by itself"))
        return
    for entry in folders:
        yield from _folders(folder, (*path, entry.name), others)


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
    seen: set[str] = set()
    for own in sorted(_answers(clone.folder, ()), key=len):
        whole = (*clone.path, *own)
        if own[-1].rpartition(".")[0] not in exercises:
            yield Refused("/".join(whole), "no exercise is called so")
        elif own[-1] in seen:
            yield Refused("/".join(whole), "a file of this name nearer to the top counts")
        else:
            seen.add(own[-1])
            path = clone.folder.joinpath(*own)
            yield Entry(whole, False, file_reader(path, MAX_ANSWER_BYTES))
    if not seen:
        yield Refused("/".join(clone.path), "a clone without a file of an exercise")


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


def committed(folder: Path) -> datetime | None:
    """When the last commit was made, as its author's computer says; None where git can't tell."""
    # the repository's own settings start no program and reach no network in this command
    command = ["git", "-c", "core.fsmonitor=false", "rev-list", "--max-count=1", "--timestamp"]
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            [*command, "HEAD"], cwd=folder, env=environment, capture_output=True, text=True,
            timeout=_GIT_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return datetime.fromtimestamp(int(done.stdout.split()[0]), UTC)
    except (OSError, ValueError, IndexError, OverflowError, subprocess.TimeoutExpired):
        return None
