"""Exports results to files for spreadsheets, learning platforms and continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from ..errors import UserError
from ..records import SubmissionResult
from . import formats
from .class_grades import Grades, Missing, grades_of
from .export_tables import Exported
from .roster import read_roster


def export_formats() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in iter_modules(formats.__path__)))


def default_name(name: str) -> str:
    """Returns a format's default file name; raises `UserError` if the format does not exist."""
    return str(_format(name).DEFAULT)


def export(
    name: str,
    results: Grades | Iterable[SubmissionResult],
    path: Path,
    roster: Path | None = None,
) -> Exported:
    """Writes the latest results in the given format; `roster` is a platform's table to fill in.

    Raises `UserError` if the format does not exist or can't use a roster.
    """
    module, grades = _format(name), grades_of(results)
    if roster is None:
        written: Exported = module.write(grades, path)
        return written
    if not hasattr(module, "write_with_roster"):
        able = ", ".join(n for n in export_formats() if hasattr(_format(n), "write_with_roster"))
        raise UserError(f"the format {name!r} does not use a roster; these do: {able}")
    mapped: Exported = module.write_with_roster(grades, path, read_roster(roster))
    return mapped


def _format(name: str) -> ModuleType:
    if name not in export_formats():
        known = ", ".join(export_formats())
        raise UserError(f"there is no export format {name!r}; known: {known}")
    return import_module(f"{formats.__name__}.{name}")
