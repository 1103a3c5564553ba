"""Reads a class's results file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..records import SubmissionResult
from ..results.file import read_results
from ..results.manual import with_human_work
from ..results.review import latest


def class_results(class_folder: Path | str) -> list[SubmissionResult]:
    """Every line of a class's results file; the folder may be the file itself.

    Raises `UserError` where there is none, or where it is damaged.
    """
    folder = Path(class_folder)
    path = folder / "results.jsonl" if folder.is_dir() else folder
    if not path.is_file():
        raise UserError(f"{path} is not there: grade first (autograder grade {folder}/submitted)")
    return read_results(path)


def counted_results(
    results: Sequence[SubmissionResult], folder: Path | str
) -> list[SubmissionResult]:
    """The last result of each submission, with what humans changed in the gradebook."""
    from ..nbgrader import human_work

    return list(with_human_work(latest(results), human_work(Path(folder))))
