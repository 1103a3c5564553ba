"""Results as files for others. Formats are modules of `formats`, each found by its name.

A module offers `DEFAULT`, the name of what it writes into the class folder, and
`write(grades, path)`. One that can use a learning platform's own list of students also offers
`write_with_roster(grades, path, roster)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from ..errors import UserError
from ..records import SubmissionResult
from . import formats
from .grades import Grades, grades_of
from .roster import read_roster
from .tables import Exported


def export_formats() -> tuple[str, ...]:
    """The names of the formats there are."""
    return tuple(sorted(module.name for module in iter_modules(formats.__path__)))


def default_name(name: str) -> str:
    """What a format calls its file or folder; raises `UserError` for one that is not there."""
    return str(_format(name).DEFAULT)


def export(
    name: str,
    results: Grades | Iterable[SubmissionResult],
    path: Path,
    roster: Path | None = None,
) -> Exported:
    """Writes the latest results in a format, for the people of a roster where one is given.

    Raises `UserError` for a format that is not there, or that has no use for a roster.
    """
    module, grades = _format(name), grades_of(results)
    if roster is None:
        written: Exported = module.write(grades, path)
        return written
    if not hasattr(module, "write_with_roster"):
        able = ", ".join(n for n in export_formats() if hasattr(_format(n), "write_with_roster"))
        raise UserError(f"the format {name!r} has no use for a roster; these have: {able}")
    mapped: Exported = module.write_with_roster(grades, path, read_roster(roster))
    return mapped


def _format(name: str) -> ModuleType:
    if name not in export_formats():
        known = ", ".join(export_formats())
        raise UserError(f"there is no export format {name!r}; there are: {known}")
    return import_module(f"{formats.__name__}.{name}")
