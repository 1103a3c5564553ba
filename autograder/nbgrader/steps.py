"""nbgrader's steps of autograding, some of them replaced by ours."""

from __future__ import annotations

from typing import Any

from nbgrader.converters import Autograde
from nbgrader.preprocessors import DeduplicateIds, Execute
from traitlets.config import Config

_OURS = {
    DeduplicateIds: f"{__package__}.notebooks.duplicates.ForgetDuplicateIds",
    Execute: f"{__package__}.notebooks.execute.SandboxedExecute",
}


def use_sandboxed_steps(config: Config) -> None:
    """Replaces, in the steps that a configuration names or in nbgrader's own, what runs a kernel.

    A copied cell is dealt with as well, which would end nbgrader's run.
    """
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = config.Autograde.get(name) or getattr(Autograde, name).default()
        config.Autograde[name] = [_ours(step) for step in steps]


def _ours(step: Any) -> Any:
    """Our step in the place of nbgrader's, which a configuration may name as text."""
    for theirs, ours in _OURS.items():
        if step in (theirs, f"nbgrader.preprocessors.{theirs.__name__}"):
            return ours
    return step
