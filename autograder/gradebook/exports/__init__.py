"""Export formats: one module each, found by its name; it offers `write(results, path)`."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from ...errors import UserError
from ...records import SubmissionResult


def export_formats() -> tuple[str, ...]:
    """The names of the formats there are."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


def export(name: str, results: Iterable[SubmissionResult], path: Path) -> Path:
    """Writes the latest results in a format; raises `UserError` for one that is not there."""
    if name not in export_formats():
        known = ", ".join(export_formats())
        raise UserError(f"there is no export format {name!r}; there are: {known}")
    written: Path = import_module(f"{__name__}.{name}").write(results, path)
    return written
