"""Finds submissions in nbgrader's layout, `<student>/<assignment>/`. Links are not followed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError

#: the number of characters of a path in a message
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's folder of one assignment; `attempt` counts from 1."""

    student: str
    assignment: str
    folder: Path
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """A file or folder below the submitted folder that is not a submission, and the reason."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class FoundSubmissions:
    """Submissions in the order of student and assignment, and what was skipped."""

    submissions: tuple[Submission, ...]
    skipped: tuple[SkippedEntry, ...]

    def or_refuse(self, submitted: Path, known: Collection[str] = ()) -> FoundSubmissions:
        """Returns itself; raises `UserError` if no submission was found.

        The error suggests another folder if this one is a student's, by the `known` assignments.
        """
        if self.submissions:
            return self
        if own := next((name for name in known if (submitted / name).is_dir()), None):
            raise UserError(
                f"{submitted} is the folder of one student: autograder grade {submitted / own} "
                f"grades one assignment of theirs, autograder grade {submitted.parent} the class"
            )
        raise UserError(
            f"{submitted} contains no submission; expected <student>/<assignment>/ in it"
            + "".join(f"\n  {item.path}: {item.reason}" for item in self.skipped[:10])
        )


def find_submissions(
    submitted: Path, known: Collection[str], assignment: str | None = None
) -> FoundSubmissions:
    """Returns all submissions below a folder, or the folder itself if it is one assignment's.

    `known` are the course's assignments; `assignment` names the assignment if the folder's name
    does not. Raises `UserError` if the folder can't be read.
    """
    if not submitted.is_dir():
        raise UserError(f"{submitted} is not a folder; expected <student>/<assignment>/ in it")
    name = assignment or submitted.resolve().name
    if name in known and (assignment is None or not _has_folders(submitted)):
        student = submitted.resolve().parent.name
        return FoundSubmissions((Submission(student, name, submitted),), ())
    submissions: list[Submission] = []
    skipped: list[SkippedEntry] = []
    for owner in _owners(submitted, known):
        if not owner.is_dir(follow_symlinks=False):
            skipped.append(SkippedEntry(Path(owner.path), _reason(owner, "a student's folder")))
            continue
        try:
            entries = _entries(Path(owner.path))
        except OSError as error:
            reason = (
                f"can't be read ({error.strerror}); change its permissions so that you can read it"
            )
            skipped.append(SkippedEntry(Path(owner.path), reason))
            continue
        for entry in entries:
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                skipped.append(SkippedEntry(path, _reason(entry, "an assignment's folder")))
            elif entry.name in known:
                if assignment in (None, entry.name):
                    submissions.append(Submission(owner.name, entry.name, path))
            else:
                skipped.append(SkippedEntry(path, f"unknown assignment; known: {', '.join(known)}"))
    return FoundSubmissions(tuple(submissions), tuple(skipped))


def submission_at(
    folder: Path, known: Collection[str], assignment: str | None = None
) -> Submission:
    """Returns the submission in this folder; raises `UserError` if it is not a submission.

    For `known` and `assignment`, see `find_submissions`.
    """
    try:
        return _submission_at(folder, known, assignment)
    except (OSError, ValueError) as error:  # the name is too long, or the folder may not be read
        name = str(folder)
        shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"{shown} can't be read: {why}") from error


def _submission_at(folder: Path, known: Collection[str], assignment: str | None) -> Submission:
    if folder.is_symlink() or not folder.is_dir():
        what = "a link, and links are not followed" if folder.is_symlink() else "not a folder"
        raise UserError(f"{folder} is {what}; expected the folder <student>/<assignment>")
    place = folder.resolve()
    name = assignment or place.name
    if name not in known:
        raise UserError(f"{folder}: there is no assignment {name!r}; known: {', '.join(known)}")
    if not place.parent.name:
        raise UserError(f"{folder} has no folder of a student; expected <student>/<assignment>")
    if place.name not in known and (inner := place / name).is_dir():
        raise UserError(f"{folder} is a student's folder: the submission is {inner}")
    return Submission(place.parent.name, name, folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        visible = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(visible, key=lambda entry: entry.name)


def _owners(submitted: Path, known: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Yields students' folders; a hidden folder counts only if it contains an assignment."""
    with os.scandir(submitted) as entries:
        every = sorted(entries, key=lambda entry: entry.name)
    for entry in every:
        inner = (os.path.join(entry.path, name) for name in known)
        if not entry.name.startswith(".") or any(map(os.path.isdir, inner)):
            yield entry


def _has_folders(folder: Path) -> bool:
    return any(entry.is_dir(follow_symlinks=False) for entry in _entries(folder))


def _reason(entry: os.DirEntry[str], expected: str) -> str:
    if entry.is_symlink():
        return "a link: links are not followed"
    return f"expected {expected} here"
