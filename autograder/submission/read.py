"""Reads an exercise in a submission from the file that counts, as the text of one module."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from ..errors import SubmissionError
from ..records import Exercise, ExerciseStatus
from ..worker.experiments import DEFINITIONS
from .intake import missing_answer_note
from .magic import python_of
from .near_names import hints as hints_for
from .notebook import GivenCells, module_of_notebook
from .opened import MAX_CODE, MAX_NOTEBOOK_BYTES, check_code, is_notebook, is_regular, read_bytes
from .text import (
    NOT_PYTHON,
    compiled,
    decoded,
    explained,
    is_surely_defined,
    is_unanswered,
    parsed,
    statements_of,
    without_copies,
)

NAMED_AS_MODULE = "{} is a notebook, and was read as one; submit it as .ipynb"
_CLEAR = "clear all outputs and submit your own code only"
_MAGIC = (
    "lines that work only in a notebook (such as `!pip`) were left out; Python can't run them: "
    "delete them"
)


@dataclass(frozen=True, slots=True)
class SubmittedExercise:
    """An exercise as it was submitted.

    If the status is GRADED, `text` is the module that a worker executes. `broken` maps each
    question whose cell is not valid Python to the error, and `hints` maps missing questions to
    possible reasons. `notes` contains messages for people.
    """

    exercise: str
    status: ExerciseStatus
    file: str | None = None
    text: str = ""
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[str, ...] = ()


def read_exercise(folder: Path, exercise: Exercise) -> SubmittedExercise:
    """Reads the module `<exercise>.py`, or `<exercise>.ipynb` if the module answers no question.

    Never raises an error because of a student's file: a file that can't be read is UNREADABLE, with
    a note that says what to submit instead.
    """
    module, notebook = folder / f"{exercise.name}.py", folder / f"{exercise.name}.ipynb"
    if is_regular(module):
        answers = _read(module, exercise, _module)
        if not is_regular(notebook):
            return answers
        if not _answers_nothing(answers):
            note = f"{module.name} was changed, so it counts and {notebook.name} does not"
            return replace(answers, notes=(*answers.notes, note))
    if is_regular(notebook):
        return _read(notebook, exercise, _notebook)
    return SubmittedExercise(
        exercise.name, ExerciseStatus.MISSING, notes=missing_answer_note(folder, exercise)
    )


def answers_nothing(path: Path, exercise: Exercise) -> bool:
    """Returns whether all questions in a module or notebook are still stubs."""
    return _answers_nothing(_read(path, exercise, _module if path.suffix == ".py" else _notebook))


def _answers_nothing(answers: SubmittedExercise) -> bool:
    is_read = answers.status is ExerciseStatus.GRADED
    return is_read and is_unanswered(answers.text, answers.questions)


def is_submitted(exercise: Exercise, folder: Path) -> bool:
    """Returns whether there is a file for `read_exercise` to read."""
    return any(map(is_regular, counted_files(folder, [exercise.name])))


def unreadable(exercise: Exercise, folder: Path) -> SubmittedExercise:
    """Returns an UNREADABLE exercise for a file that takes too much time or memory to read."""
    files = (f"{exercise.name}.py", f"{exercise.name}.ipynb")
    file = next((name for name in files if is_regular(folder / name)), None)
    note = f"{file} takes too much time or memory to read; {_CLEAR}"
    return SubmittedExercise(exercise.name, ExerciseStatus.UNREADABLE, file, notes=(note,))


def submission_digest(folder: Path, exercises: Sequence[Exercise]) -> str:
    """Returns a digest of the names and bytes of all files in a submission that may be graded."""
    return digest_of_files(folder, [exercise.name for exercise in exercises])


def digest_of_files(folder: Path, exercises: Iterable[str]) -> str:
    """Does the same as `submission_digest`, given the exercises' names in order."""
    digest = hashlib.sha256()
    for path in counted_files(folder, exercises):
        if is_regular(path):
            data = read_bytes(path, MAX_NOTEBOOK_BYTES)
            digest.update(f"{path.name}\0{len(data)}\0".encode())
            digest.update(data)
    return f"sha256:{digest.hexdigest()}"


def counted_files(folder: Path, exercises: Iterable[str]) -> list[Path]:
    """Returns the paths of all files that may be graded, even if they do not exist."""
    return [folder / f"{name}{suffix}" for name in exercises for suffix in (".py", ".ipynb")]


def _read(
    path: Path, exercise: Exercise, read: Callable[[Path, Exercise], SubmittedExercise]
) -> SubmittedExercise:
    try:
        return read(path, exercise)
    except MemoryError:
        note = f"{path.name} takes too much memory to read; {_CLEAR}"
        return SubmittedExercise(exercise.name, ExerciseStatus.UNREADABLE, path.name, notes=(note,))
    except SubmissionError as error:
        note = f"{path.name} {error}"
        return SubmittedExercise(exercise.name, ExerciseStatus.UNREADABLE, path.name, notes=(note,))


def _module(path: Path, exercise: Exercise) -> SubmittedExercise:
    data = read_bytes(path, MAX_CODE)
    if len(data) >= MAX_CODE:
        raise SubmissionError(f"is larger than {MAX_CODE >> 20} MB; submit the code only")
    if is_notebook(data):
        note = NAMED_AS_MODULE.format(path.name)
        answers = _notebook(path, exercise)
        return replace(answers, notes=(*answers.notes, note))
    text, remarks = decoded(data)
    check_code([text])
    notes = [f"{path.name} {note}" for note in remarks]
    names = [question.name for question in exercise.questions]
    text, left_out, fault = without_magic(text)
    if fault is not None:
        raise SubmissionError(f"is not valid Python: {explained(fault)}")
    notes += [f"{path.name}: {note}" for note in left_out]
    try:
        text, copies = without_copies(text, names)
        is_whole = all(is_surely_defined(name, text) for name in names)
        hints = {} if is_whole else _hints(text, names)
    except NOT_PYTHON as error:
        raise SubmissionError(f"is not valid Python: {explained(error)}") from error
    if not is_whole and not parsed(text).body:
        notes.append(f"{path.name} contains no code; submit the file with your answers")
    return SubmittedExercise(
        exercise.name,
        ExerciseStatus.GRADED,
        path.name,
        text,
        notes=(*notes, *(f"{path.name} {note}" for note in copies)),
        hints=hints,
        questions=tuple(names),
    )


def without_magic(text: str) -> tuple[str, tuple[str, ...], Exception | None]:
    """Returns the module, a note, and the compiler's error if the module is not valid Python.

    Removes notebook-only lines if that makes the module valid; all other lines keep their numbers.
    A module that is already valid, or that would still be invalid, is returned unchanged and
    without a note.
    """
    fault = compiled(text)
    if fault is None or compiled(without := python_of(text)) is not None:
        return text, (), fault
    return without, (_MAGIC,), None


def _hints(text: str, questions: Sequence[str]) -> dict[str, str]:
    tree = parsed(text)
    names = set(questions)
    outer = {name for statement in statements_of(text, tree.body) for name in statement.binds}
    missing = sorted(names - outer)
    if not missing:
        return {}
    every = {node.name for node in ast.walk(tree) if isinstance(node, DEFINITIONS)}
    return hints_for(missing, (every & outer) - names, every - outer)


def _notebook(path: Path, exercise: Exercise) -> SubmittedExercise:
    data = read_bytes(path, MAX_NOTEBOOK_BYTES)
    if len(data) >= MAX_NOTEBOOK_BYTES:
        size = MAX_NOTEBOOK_BYTES >> 20
        raise SubmissionError(f"is larger than {size} MB; clear all outputs and save it again")
    names = [question.name for question in exercise.questions]
    given = exercise.stub.with_suffix(".ipynb")
    module = module_of_notebook(data, names, _given_cells(given, _version(given), tuple(names)))
    return SubmittedExercise(
        exercise.name,
        ExerciseStatus.GRADED,
        path.name,
        module.text,
        module.broken,
        tuple(f"{path.name} {note}" for note in module.notes),
        module.hints,
        tuple(names),
    )


@lru_cache(maxsize=64)
def _given_cells(released: Path, version: object, questions: tuple[str, ...]) -> GivenCells:
    """Returns the cells of an exercise's released notebook, or no cells if it can't be read."""
    try:
        return GivenCells(read_bytes(released, MAX_NOTEBOOK_BYTES), questions)
    except (SubmissionError, RecursionError):
        return GivenCells()


def _version(path: Path) -> object:
    """Returns a value that changes when a file changes, or None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
