"""Replaces some of nbgrader's autograding steps with ours, and adds a step to releasing."""

from __future__ import annotations

from typing import Any

from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import AssignLatePenalties, DeduplicateIds, Execute, OverwriteCells
from traitlets.config import Config

_OURS = {
    AssignLatePenalties: f"{__package__}.gradebook.lateness.LatePenalties",
    DeduplicateIds: f"{__package__}.notebooks.autograding.ForgetDuplicateIds",
    OverwriteCells: f"{__package__}.notebooks.autograding.RestoreCells",
    Execute: f"{__package__}.notebooks.execute.SandboxedExecute",
}
_EXTRAS = f"{__package__}.notebooks.course.ReleaseExtras"


def use_sandboxed_steps(config: Config) -> None:
    """Replaces steps that run a kernel, in a configuration's own list or in nbgrader's default.

    Also replaces steps whose run would end at a copied cell or a changed cell type. Adds a step to
    releasing that includes notebooks without graded cells.
    """
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = config.Autograde.get(name) or getattr(Autograde, name).default()
        config.Autograde[name] = [_ours(step) for step in steps]
    releasing = config.GenerateAssignment.get("preprocessors")
    releasing = list(releasing or GenerateAssignment.preprocessors.default())
    config.GenerateAssignment.preprocessors = [*releasing, *[_EXTRAS] * (_EXTRAS not in releasing)]


def _ours(step: Any) -> Any:
    """Returns our step instead of nbgrader's, which a configuration may give as text."""
    for theirs, ours in _OURS.items():
        if step in (theirs, f"nbgrader.preprocessors.{theirs.__name__}"):
            return ours
    return step
