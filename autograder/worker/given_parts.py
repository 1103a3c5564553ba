"""What an exercise takes from others, for its module to import: `autograder.parts`.

The grader sends the modules' texts for the exercises that need them; no others are there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE = "autograder.parts"


def install(parts: Sequence[tuple[str, str, list[str]]]) -> None:
    """Makes a package of modules: of each its name, its text and the parts that it gives."""
    package = _package("autograder")
    package.parts = offered = _package(_PACKAGE)  # type: ignore[attr-defined]
    for name, text, names in parts:
        module = ModuleType(f"{_PACKAGE}.{name}")
        module.__package__ = _PACKAGE
        sys.modules[module.__name__] = module
        # a path: lines of its own in a traceback are not the student's
        exec(compile(text, f"/{_PACKAGE}/{name}.py", "exec"), vars(module))
        vars(offered).update({part: vars(module)[part] for part in names})


def _package(name: str) -> ModuleType:
    package = ModuleType(name)
    package.__spec__ = ModuleSpec(name, None, is_package=True)  # `find_spec` asks for it
    package.__path__ = []
    sys.modules[name] = package
    return package
