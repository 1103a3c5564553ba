"""Finds the libraries that submitted notebooks may import: those that source notebooks import."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from ...errors import ContentError, UserError
from ...sandbox import ALLOWED, Libraries
from ...submission.magic import python_of
from ...submission.text import NOT_PYTHON, parsed

#: the distributions that are needed to run cells and show plots
_SHELL = ("ipython", "matplotlib-inline", "matplotlib")


def libraries_for(sources: Iterable[Path], named: Sequence[str] = ()) -> Libraries:
    """Returns the libraries for workers: the source notebooks' imports and `named` distributions.

    Raises `UserError` if a named distribution is not installed.
    """
    for name in named:
        _check_installed(name)
    modules = sorted({module for path in sources for module in imported_modules(path)})
    owners = metadata.packages_distributions()
    found = {name for module in modules for name in owners.get(module.partition(".")[0], ())}
    distributions = dict.fromkeys((*ALLOWED, *_SHELL, *sorted(found), *named))
    return Libraries(tuple(distributions), tuple(modules), notebooks=True)


def imported_modules(path: Path) -> set[str]:
    """Returns the modules that a notebook's cells import, except the standard library."""
    modules: set[str] = set()
    for source in code_cells(path):
        try:
            tree = parsed(python_of(source))
        except NOT_PYTHON:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
    return {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}


def advice_on(module: str) -> str:
    """Returns advice for the instructor about a module that a worker did not find."""
    top = module.partition(".")[0]
    owners = metadata.packages_distributions().get(top, [])
    if owners:
        return (
            f"{top} is installed here, but workers see only what the source notebooks import: add "
            f"{sorted(set(owners))[0]!r} to c.SandboxedExecute.packages in nbgrader_config.py"
        )
    return (
        f"{top} is not installed in the Python environment used for grading ({sys.prefix}): "
        "install it there if the assignment needs it"
    )


def _check_installed(name: str) -> None:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise UserError(
            f"c.SandboxedExecute.packages names {name!r}, which is not installed in the Python "
            f"that grades ({sys.prefix})\n  fix: install it there, or correct the name"
        ) from None


def code_cells(path: Path) -> list[str]:
    """Returns a notebook's code cells as text; raises `ContentError` if the notebook is damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        return ["".join(cell["source"]) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"not a notebook that can be read: {error!r}"
        raise ContentError(path, None, problem, "open and save it in Jupyter") from error
