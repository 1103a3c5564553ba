"""Contains the tools that students run: checks for notebooks and folders, and progress reports.

These tools need no sandbox, contain nothing hidden, and work on every system on which torch works.
Each name is loaded on first use, because some tools, such as hints, do not need torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..suite.message import CodeLine
    from .check_results import CheckedExercise, CheckedQuestion, CheckedTest, Progress, Standing
    from .display import LOOKS, as_text, body_of, headline, readable, what_to_submit
    from .folder import check_folder, retry_folder, star_of, status, trace_folder
    from .hints import Hint, afterwards, next_hint, other_ways
    from .notebook_tools import check, hint, retry, trace
    from .saved_files import saved_exercises
    from .stars import SIGNS

_MODULES = {
    "display": "LOOKS as_text body_of headline readable what_to_submit",
    "folder": "check_folder retry_folder star_of status trace_folder",
    "hints": "Hint afterwards next_hint other_ways",
    "notebook_tools": "check hint retry trace",
    "check_results": "CheckedExercise CheckedQuestion CheckedTest CodeLine Progress Standing",
    "stars": "SIGNS",
    "saved_files": "saved_exercises",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULE_OF[name]}", __package__), name)
