"""nbgrader's steps of autograding, some of them replaced by ours, and one more of releasing."""

from __future__ import annotations

from typing import Any

from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import AssignLatePenalties, DeduplicateIds, Execute, OverwriteCells
from traitlets.config import Config

_OURS = {
    AssignLatePenalties: f"{__package__}.gradebook.lateness.LatePenalties",
    DeduplicateIds: f"{__package__}.notebooks.repairs.ForgetDuplicateIds",
    OverwriteCells: f"{__package__}.notebooks.repairs.RestoreCells",
    Execute: f"{__package__}.notebooks.execute.SandboxedExecute",
}
_EXTRAS = f"{__package__}.notebooks.extras.ReleaseExtras"


def use_sandboxed_steps(config: Config) -> None:
    """Replaces, in the steps that a configuration names or in nbgrader's own, what runs a kernel.

    A copied cell is dealt with as well, which would end nbgrader's run. Releasing gets a step that
    takes notebooks along which nobody grades.
    """
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = config.Autograde.get(name) or getattr(Autograde, name).default()
        config.Autograde[name] = [_ours(step) for step in steps]
    releasing = config.GenerateAssignment.get("preprocessors")
    releasing = list(releasing or GenerateAssignment.preprocessors.default())
    config.GenerateAssignment.preprocessors = [*releasing, *[_EXTRAS] * (_EXTRAS not in releasing)]


def _ours(step: Any) -> Any:
    """Our step in the place of nbgrader's, which a configuration may name as text."""
    for theirs, ours in _OURS.items():
        if step in (theirs, f"nbgrader.preprocessors.{theirs.__name__}"):
            return ours
    return step
