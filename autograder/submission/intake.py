"""Finds submissions (`<student>/<assignment>/`), and matches their files to exercises.

These functions read submissions of every kind: downloads from every platform, cloned repositories,
and notebooks with nbgrader's own tests. Links are not followed, and notes name the files that do
not answer any exercise, so that a person can look at them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SubmissionError, UserError
from ..records import Exercise
from .near_names import closest
from .opened import MAX_FILES, is_regular, read_bytes

#: the beginning of a note that asks a person to look at a file
LOOK = "look at "
#: files that operating systems and editors create, instead of students or instructors
NOISE = ("__MACOSX", ".ipynb_checkpoints", "__pycache__", ".git", ".DS_Store", "Thumbs.db")
#: files in a released assignment, and files that nbgrader adds to a submission
GIVEN = frozenset(
    ("README.md", "checks", "extras", "timestamp.txt", "submission_secret.txt", ".gitignore")
)
CODE = (".py", ".ipynb")
_LOOK_INTO = 1 << 20
#: the most files in a submission to search, and the most to name in a note
_MOST_READ, _MOST_NAMED = 200, 3
#: matches the number that browsers and platforms append to a file name that is already taken
_COPY = re.compile(r"(?: ?\(\d+\)|-\d+)(?=\.[^.]+$)")
#: matches the words that Colab, Jupyter, macOS and Windows add to the name of a copy
_DUPLICATE = re.compile(
    r"^Copy of |(?:-Copy\d+| copy(?: \d+)?| - Copy(?: \(\d+\))?)(?=\.[^.]+$)", re.IGNORECASE
)
#: the endings of archives, which are not unpacked here
ARCHIVES = frozenset((".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".xz", ".bz2", ".zipx"))


def standard_name(file: str, exercises: Collection[str]) -> tuple[str, int]:
    """Returns a file's name as the course writes it, and the number that marks the file as a copy.

    For example, the name of both `Scores.PY` and `scores (2).py` is `scores.py`, and the number of
    the latter is 2. A copy that a person made, such as `scores-Copy1.ipynb`, has the number -1,
    because the original is preferred if it exists. Any other name is returned unchanged, because a
    name such as `part-1.py` may be intended.
    """
    known = {exercise.casefold(): exercise for exercise in exercises}
    plain = _COPY.sub("", file)
    for name, number in ((file, 0), (plain, _copy_of(file)), (_DUPLICATE.sub("", plain), -1)):
        stem, _, ending = name.rpartition(".")
        if stem.casefold() in known and f".{ending.lower()}" in CODE:
            return f"{known[stem.casefold()]}.{ending.lower()}", number
    return file, 0


def _copy_of(file: str) -> int:
    found = _COPY.search(file)
    return int(re.sub(r"\D", "", found[0])[:18]) if found else 0


def is_answer(file: str, exercises: Collection[str], endings: Collection[str] = CODE) -> bool:
    """Returns whether a file has exactly the name that makes it count for an exercise."""
    stem, _, ending = file.rpartition(".")
    return stem in exercises and f".{ending}" in endings


def unused_files(
    folder: Path,
    exercises: Collection[str],
    endings: Collection[str] = CODE,
    given: Collection[str] = (),
) -> tuple[str, ...]:
    """Returns the files in a submission that do not answer any exercise, as paths below its folder.

    Files that were `given` with the assignment, or created by an operating system, are left out.
    """
    return tuple(
        name
        for path in _files(folder, GIVEN.union(given))
        if not is_answer(name := path.relative_to(folder).as_posix(), exercises, endings)
    )


def unused_notes(
    folder: Path,
    exercises: Collection[str],
    notes: Iterable[str] = (),
    endings: Collection[str] = CODE,
    given: Collection[str] = (),
) -> tuple[str, ...]:
    """Returns a note about unused files that `notes` does not mention, or () if there are none."""
    named = "\n".join(notes)
    files = [name for name in unused_files(folder, exercises, endings, given) if name not in named]
    if not files:
        return ()
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    code = [name for name in files if name.endswith(CODE)]
    has_answer = any(is_answer(path.name, exercises, endings) for path in folder.glob("*"))
    why = "nothing in it was used"
    if any(exercise.lower() in name.lower() for name in files for exercise in exercises):
        why += "; is the name wrong?"
    elif code and not has_answer:
        why = "not an exercise of this assignment; does it belong to a different assignment?"
    return (f"{LOOK}{', '.join(files[:_MOST_NAMED])}{more}: {why}",)


def missing_answer_note(folder: Path, exercise: Exercise) -> tuple[str, ...]:
    """Returns a note that names the expected file and, if found, a file that may be the answer."""
    starts = [
        f"{'class' if question.is_class else 'def'} {question.name}("
        for question in exercise.questions
    ]
    return missing_file_note(folder, exercise.name, starts)


def missing_file_note(
    folder: Path,
    exercise: str,
    definitions: Sequence[str] = (),
    endings: Sequence[str] = CODE,
) -> tuple[str, ...]:
    """Does the same as `missing_answer_note`, given an exercise's name.

    `definitions` contains the strings with which the exercise's answers begin, such as `def
    scores(`.
    """
    right = tuple(f"{exercise}{ending}" for ending in endings)
    wanted = " or ".join(right)
    for name in right:
        path = folder / name
        if path.is_symlink():
            return (f"{name} is a link, which is not followed; submit the file itself",)
        if path.is_dir():
            return (f"{name} is a folder; submit the file itself, not inside a folder",)
        if path.exists() and not is_regular(path):
            return (f"{name} is not a file but a pipe or a device; submit the file itself",)
    files = list(_files(folder, GIVEN))
    if deeper := [path.relative_to(folder) for path in files if path.name in right]:
        return (f"{LOOK}{deeper[0]}: expected {wanted}, and not in a subfolder",)
    alike = [path for path in files if exercise.lower() in path.name.lower()]
    if not alike and (best := closest(exercise, [path.stem for path in files])):
        alike = [path for path in files if path.stem == best]
    if alike:
        return (f"{LOOK}{_named(folder, alike)}: expected {wanted}; is the name wrong?",)
    for path in files[:_MOST_READ]:
        if found := _defined_in(path, definitions):
            note = f"{LOOK}{_named(folder, [path])}: it defines {found}; expected {wanted}"
            return (f"{note}; is its name wrong?",)
    if packed := [path for path in files if path.suffix.lower() in ARCHIVES]:
        return (f"{LOOK}{_named(folder, packed)}: expected {wanted}; is it in the archive?",)
    return (f"expected {wanted}",)


def _named(folder: Path, files: Sequence[Path]) -> str:
    return ", ".join(path.relative_to(folder).as_posix() for path in files[:_MOST_NAMED])


def _files(folder: Path, given: Collection[str]) -> Iterator[Path]:
    """Yields the submitted files, sorted by name; does not follow links."""
    left = MAX_FILES
    for place, folders, names in os.walk(folder):
        hidden = {name for name in folders if name in NOISE or name.startswith(".")}
        if Path(place) == folder:
            hidden |= set(given)
            names = [name for name in names if name not in given]
        folders[:] = sorted(set(folders) - hidden)
        for name in sorted(names):
            if name in NOISE or name.startswith("._"):
                continue
            if not left:
                return
            left -= 1
            yield Path(place, name)


def _defined_in(path: Path, definitions: Sequence[str]) -> str | None:
    if path.suffix not in (*CODE, ".txt", "") or not is_regular(path):
        return None
    try:
        data = read_bytes(path, _LOOK_INTO)
    except SubmissionError:
        return None
    found = (start for start in definitions if start.encode() in data)
    return next((start.rstrip("(").split()[-1] for start in found), None)


#: how many characters of a path a message may contain
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Submission:
    """A student's folder for an assignment; `attempt` counts from 1."""

    student: str
    assignment: str
    folder: Path
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """A file or folder that was skipped because it is not a submission, and the reason."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class FoundSubmissions:
    """Submissions, ordered by student and assignment, and the entries that were skipped."""

    submissions: tuple[Submission, ...]
    skipped: tuple[SkippedEntry, ...]

    def or_refuse(self, submitted: Path, known: Collection[str] = ()) -> FoundSubmissions:
        """Returns this record; raises `UserError` if no submission was found.

        If `submitted` contains a folder for a `known` assignment, then `submitted` is a single
        student's folder, and the error suggests commands that work.
        """
        if self.submissions:
            return self
        if own := next((name for name in known if (submitted / name).is_dir()), None):
            raise UserError(
                f"{submitted} is the folder of one student: to grade one of this student's "
                f"assignments, run autograder grade {submitted / own}; to grade the class, "
                f"autograder grade {submitted.parent}"
            )
        raise UserError(
            f"{submitted} contains no submission; expected <student>/<assignment>/ in it"
            + "".join(f"\n  {item.path}: {item.reason}" for item in self.skipped[:10])
        )


def find_submissions(
    submitted: Path, known: Collection[str], assignment: str | None = None
) -> FoundSubmissions:
    """Returns all submissions below a folder; the folder itself may be a single submission.

    `known` contains the names of the course's assignments. `assignment` restricts the search to one
    assignment. If the folder is a single submission with a different name, `assignment` also says
    which assignment was submitted. Raises `UserError` if the folder can't be read.
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
    """Returns the submission in this folder; raises `UserError` if the folder is not a submission.

    For `known` and `assignment`, see `find_submissions`.
    """
    try:
        return _submission_at(folder, known, assignment)
    except (OSError, ValueError) as error:  # a name is too long, or a folder unreadable
        name = str(folder)
        shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"{shown} can't be read: {why}") from error


def _submission_at(folder: Path, known: Collection[str], assignment: str | None) -> Submission:
    if folder.is_symlink() or not folder.is_dir():
        what = "a link, and links are not followed" if folder.is_symlink() else "not a folder"
        raise UserError(f"{folder} is {what}; expected the folder <student>/<assignment>")
    place = folder.resolve()
    if folder.parent.is_symlink() and place.parent.name != folder.parent.name:
        raise UserError(
            f"{folder.parent} is a link to the folder of {place.parent.name!r}; use that folder"
        )
    name = assignment or place.name
    if name not in known:
        raise UserError(f"{folder}: there is no assignment {name!r}; known: {', '.join(known)}")
    if not place.parent.name:
        raise UserError(f"{folder} is not in a student's folder; expected <student>/<assignment>")
    if place.name not in known and (inner := place / name).is_dir():
        raise UserError(f"{folder} is a student's folder: the submission is {inner}")
    return Submission(place.parent.name, name, folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        visible = [entry for entry in entries if not entry.name.startswith(".")]
    return sorted(visible, key=lambda entry: entry.name)


def _owners(submitted: Path, known: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Yields the entries that may be students' folders.

    A hidden entry is included only if it contains an assignment's folder.
    """
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
