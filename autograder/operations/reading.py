"""Reads a class's results file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..records import SubmissionResult
from ..results.file import read_results
from ..results.last import LastResults
from ..results.manual import with_human_work
from ..results.review import latest


def class_results(class_folder: Path | str) -> list[SubmissionResult]:
    """Every line of a class's results file; the folder may be the file itself.

    Raises `UserError` where there is none, or where it is damaged.
    """
    return read_results(_file(class_folder))


def last_class_results(class_folder: Path | str) -> LastResults:
    """The last result of each student and assignment, read when it is looked at."""
    return LastResults(_file(class_folder))


def _file(class_folder: Path | str) -> Path:
    folder = Path(class_folder)
    path = folder / "results.jsonl" if folder.is_dir() else folder
    if not path.is_file():
        raise UserError(f"{path} is not there: grade first (autograder grade {folder}/submitted)")
    return path


def counted_results(
    results: Sequence[SubmissionResult], folder: Path | str
) -> list[SubmissionResult]:
    """The last result of each submission, with what humans changed in the gradebook."""
    from ..nbgrader import human_work

    return list(with_human_work(latest(results), human_work(Path(folder))))
