"""Reads one exercise of a submission: the file that counts, as one module text."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SubmissionError
from ..records import Exercise, ExerciseStatus
from .notebook import module_of_notebook

MAX_MODULE_BYTES = 1 << 20
MAX_NOTEBOOK_BYTES = 100 << 20


@dataclass(frozen=True, slots=True)
class Answers:
    """One exercise as handed in.

    `text` is the module that a worker executes (GRADED only). `broken` maps questions whose cell
    is no valid Python to what is wrong there. `notes` are for people.
    """

    exercise: str
    status: ExerciseStatus
    file: str | None = None
    text: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_exercise(folder: Path, exercise: Exercise) -> Answers:
    """The module `<exercise>.py` unless it is the untouched stub, else `<exercise>.ipynb`.

    Never raises for what a student may hand in: a file that can't be read gives UNREADABLE with a
    note that says what to hand in instead.
    """
    module, notebook = folder / f"{exercise.name}.py", folder / f"{exercise.name}.ipynb"
    if _is_file(module):
        answers = _read(module, exercise, _module)
        stub_only = answers.status is ExerciseStatus.GRADED and _is_stub(answers.text, exercise)
        if not (stub_only and _is_file(notebook)):
            return answers
    if _is_file(notebook):
        return _read(notebook, exercise, _notebook)
    return Answers(exercise.name, ExerciseStatus.MISSING, notes=_about_missing(folder, exercise))


def submission_digest(folder: Path, exercises: Sequence[Exercise]) -> str:
    """A digest of everything in a submission that can count: names and bytes of its files."""
    digest = hashlib.sha256()
    for exercise in exercises:
        for suffix in (".py", ".ipynb"):
            path = folder / f"{exercise.name}{suffix}"
            if _is_file(path):
                data = _bytes(path, MAX_NOTEBOOK_BYTES)
                digest.update(f"{path.name}\0{len(data)}\0".encode())
                digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def _read(path: Path, exercise: Exercise, read: Callable[[Path, Exercise], Answers]) -> Answers:
    try:
        return read(path, exercise)
    except SubmissionError as error:
        note = f"{path.name}: {error}"
        return Answers(exercise.name, ExerciseStatus.UNREADABLE, path.name, notes=(note,))


def _module(path: Path, exercise: Exercise) -> Answers:
    data = _bytes(path, MAX_MODULE_BYTES)
    if len(data) >= MAX_MODULE_BYTES:
        raise SubmissionError("is larger than 1 MB; hand in the code only")
    try:
        text = importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SubmissionError(f"is not text in UTF-8 ({error}); save it as UTF-8") from error
    try:
        ast.parse(text, path.name)
    except SyntaxError as error:
        raise SubmissionError(
            f"is not valid Python: line {error.lineno}: {error.msg}; run it once before you "
            "hand it in"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SubmissionError(f"is not valid Python: {error}") from error
    return Answers(exercise.name, ExerciseStatus.GRADED, path.name, text)


def _notebook(path: Path, exercise: Exercise) -> Answers:
    data = _bytes(path, MAX_NOTEBOOK_BYTES)
    if len(data) >= MAX_NOTEBOOK_BYTES:
        raise SubmissionError("is larger than 100 MB; clear all outputs and save it again")
    names = [question.name for question in exercise.questions]
    module = module_of_notebook(data, names)
    return Answers(
        exercise.name, ExerciseStatus.GRADED, path.name, module.text, module.broken, module.notes
    )


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _bytes(path: Path, limit: int) -> bytes:
    """At most `limit` bytes of a regular file; raises `SubmissionError`, never follows a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SubmissionError(f"can't be read ({error.strerror}); upload it again") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SubmissionError("is not a regular file; hand in the file itself")
        return file.read(limit)


def _is_stub(text: str, exercise: Exercise) -> bool:
    try:
        stub = exercise.stub.read_text(encoding="utf-8")
    except OSError:
        return False
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(stub))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _about_missing(folder: Path, exercise: Exercise) -> tuple[str, ...]:
    wanted = f"{exercise.name}.py or {exercise.name}.ipynb"
    for suffix in (".py", ".ipynb"):
        path = folder / f"{exercise.name}{suffix}"
        if path.is_symlink():
            return (f"{path.name} is a link, which is not followed; hand in the file itself",)
    try:
        others = sorted(
            entry.name for entry in os.scandir(folder) if exercise.name in entry.name.lower()
        )
    except OSError:
        others = []
    if others:
        return (f"expected {wanted}; found {', '.join(others[:3])}: is a name wrong?",)
    return (f"expected {wanted}",)
