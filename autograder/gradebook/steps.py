"""nbgrader's steps of autograding, for its configuration, which every command of it loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute

#: nbgrader's own, as a configuration may name it
_THEIRS = (
    Execute,
    "nbgrader.preprocessors.Execute",
    "nbgrader.preprocessors.execute.Execute",
)
_OURS = "autograder.cells.execute.ExecuteBehindWall"


def behind_the_wall(steps: Sequence[Any] | None = None) -> list[Any]:
    """The steps with the one that runs a kernel replaced; by default those of nbgrader itself."""
    known = Autograde.autograde_preprocessors.default() if steps is None else steps
    return [_OURS if step in _THEIRS else step for step in known]
