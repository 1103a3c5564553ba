"""Reads a class's results file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..errors import UserError
from ..records import SubmissionResult
from ..results.file import read_results
from ..results.last import LastResults
from ..results.manual import counted
from ..submission.class_files import RESULTS_FILE, class_home


def class_results(class_folder: Path | str) -> list[SubmissionResult]:
    """Returns every result in a class's results file; `class_folder` may be the file itself.

    Raises `UserError` if the file does not exist or is damaged.
    """
    return read_results(results_file(class_folder))


def last_class_results(class_folder: Path | str) -> LastResults:
    """Returns the last result for each student and assignment; reads a result only when needed."""
    return LastResults(results_file(class_folder))


def class_folder_at(path: Path | str) -> Path:
    """Returns a class folder to write into; raises `UserError` if the path is a file."""
    folder = Path(path)
    if folder.is_file():
        raise UserError(f"{folder} is a file; expected the class folder: {folder.parent}")
    return folder


def results_file(class_folder: Path | str) -> Path:
    """Returns the path of a class's results file; raises `UserError` if nothing has been graded."""
    folder = class_home(class_folder)
    path = folder / RESULTS_FILE if folder.is_dir() else folder
    if not path.is_file():
        raise UserError(f"{path} does not exist: grade first (autograder grade {folder}/submitted)")
    return path


def counted_results(class_folder: Path | str) -> LastResults:
    """Returns the last result for each submission, with manual changes from the gradebook.

    Results are read when they are accessed. Includes assignments that only nbgrader has graded.
    Raises `UserError` if there are no results.
    """
    from ..nbgrader import graded_elsewhere, human_work

    folder = class_home(class_folder)
    path = folder / RESULTS_FILE
    is_alone = folder.is_dir() and not path.exists()
    results = LastResults(path) if is_alone else last_class_results(folder)
    others = graded_elsewhere(folder, {assignment for _, assignment in results.keys})
    if not results and not others:
        results_file(folder)  # raise an error that says what to do
    return results.together_with(others).changed(partial(counted, work=human_work(folder)))
