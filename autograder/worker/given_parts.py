"""Provides the parts of other exercises that a module may import: `autograder.parts`.

The grader sends the texts of these modules only for the exercises that need them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE = "autograder.parts"


def install(parts: Sequence[tuple[str, str, list[str]]]) -> None:
    """Creates the package from modules, each with its name, its text and the parts it exports."""
    package = _package("autograder")
    package.parts = offered = _package(_PACKAGE)  # type: ignore[attr-defined]
    for name, text, names in parts:
        module = ModuleType(f"{_PACKAGE}.{name}")
        module.__package__ = _PACKAGE
        sys.modules[module.__name__] = module
        # An absolute path: its lines in a traceback are not the student's.
        exec(compile(text, f"/{_PACKAGE}/{name}.py", "exec"), vars(module))
        vars(offered).update({part: vars(module)[part] for part in names})


def _package(name: str) -> ModuleType:
    package = ModuleType(name)
    package.__spec__ = ModuleSpec(name, None, is_package=True)  # needed by `find_spec`
    package.__path__ = []
    sys.modules[name] = package
    return package
