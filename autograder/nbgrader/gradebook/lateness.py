"""When a submission arrived, and what nbgrader's plugin takes off for being late.

A time is what a platform stated, in `timestamp.txt`; the date of a file is that of a download.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from traitlets.config import Config

from ...errors import SubmissionError, UserError
from ...submission.opened import read_bytes

TIMESTAMP_FILE = "timestamp.txt"

#: (student, score, seconds late) -> points taken off, or None for no penalty
Penalty = Callable[[str, float, float], float | None]


@dataclass(frozen=True, slots=True)
class Arrival:
    """What timestamp.txt says, in UTC without a zone; None where the time is unknown.

    nbgrader takes a submission as graded only while its database holds `stamped`.
    """

    stamped: datetime | None
    problem: str | None = None


def arrival(folder: Path) -> Arrival:
    """When the submission in a folder arrived, in UTC without a zone, as nbgrader keeps it."""
    path = folder / TIMESTAMP_FILE
    try:
        if not path.is_file() or path.is_symlink():
            return Arrival(None)
        text = read_bytes(path, 200).decode("utf-8", "replace").strip()
    except SubmissionError as error:
        return Arrival(None, f"{TIMESTAMP_FILE} {error}")
    try:
        stamped = parse_utc(text)
    except (ValueError, OverflowError, TypeError):
        problem = f"{TIMESTAMP_FILE} holds no date: {text[:60]!r}; formgrader stops at this file"
        return Arrival(None, problem)
    return Arrival(stamped)


def late_penalty(config: Config) -> Penalty:
    """The penalty of the plugin that the configuration names, between 0 and the score."""
    try:
        assigner = AssignLatePenalties(config=config)
        assigner.init_plugin()
    except Exception as error:  # the plugin is the instructor's own code
        raise UserError(f"the plugin for late submissions can't be loaded: {error}") from error

    def penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            found = assigner.plugin_inst.late_submission_penalty(student, score, seconds)
        except Exception as error:
            name = type(assigner.plugin_inst).__name__
            raise UserError(f"{name} failed for {student!r}: {error}") from error
        return None if found is None else min(max(float(found), 0.0), max(score, 0.0))

    return penalty
