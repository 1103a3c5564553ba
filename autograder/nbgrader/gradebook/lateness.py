"""The late penalties of nbgrader's plugin, based on our arrival times and due dates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from ...classroom import arrival
from ...deadlines import late_by
from ...errors import UserError
from ..settings import load_settings

#: (student, score, seconds late) -> points to take off, or None for no penalty
Penalty = Callable[[str, float, float], float | None]


def seconds_late(stamped: datetime | None, due: datetime | None) -> float:
    """Returns how late a time is in seconds; 0 if it or the due date is unknown."""
    return late_by(stamped, due).total_seconds() if stamped and due else 0.0


def late_penalty(config: Config) -> Penalty:
    """Returns the penalty function of the configured plugin, limited to between 0 and the score.

    Raises `UserError` if the plugin can't be loaded; the function does if the plugin fails.
    """
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


def class_penalty(class_folder: Path) -> Penalty:
    """Returns the penalty function of a class; raises `UserError` as `late_penalty` does."""
    return late_penalty(load_settings(class_folder).config)


class LatePenalties(AssignLatePenalties):  # type: ignore[misc]  # nbgrader ships no types
    """Corrects nbgrader's step, which reads `CEST` as UTC and counts the due minute as late."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Sets the arrival time; nbgrader calls it for each notebook of a submission."""
        directories = self.parent.parent.coursedir  # that of the exporter's converter
        names = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        folder = directories.format_path(directories.submitted_directory, *names)
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:
            submission = gradebook.find_submission(names[1], names[0])
            submission.timestamp = arrival(Path(folder)).stamped
            gradebook.db.commit()
            self._late = seconds_late(submission.timestamp, submission.duedate)
        return super().preprocess(nb, resources)  # type: ignore[no-any-return]

    def init_plugin(self) -> None:
        """Makes the plugin use our seconds instead of nbgrader's; nbgrader calls it."""
        super().init_plugin()
        ask, late = self.plugin_inst.late_submission_penalty, self._late

        def penalty(student: str, score: float, _seconds: float) -> Any:
            return ask(student, score, late) if late > 0 else None

        self.plugin_inst.late_submission_penalty = penalty
