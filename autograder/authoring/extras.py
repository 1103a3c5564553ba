"""What goes out besides exercises: ungraded notebooks, and files that they read.

They have a folder of their own: nbgrader takes every notebook among the exercises for one of them.
"""

from __future__ import annotations

from pathlib import Path

import jupytext

from ..errors import ContentError
from ..records import Assignment
from .claims import without_claims
from .ipynb import code_cell, markdown_cell, notebook_json, notebook_of

EXTRAS = "extras"


def extras_of(root: Path, assignment: Assignment) -> dict[str, str]:
    """The files of `source/<assignment>/extras/` by their path in the released assignment.

    A `.md` is a notebook without questions, everything else goes out as it is. Raises
    `ContentError` for a name that an exercise has, and for a file that is not text.
    """
    taken = {exercise.name for exercise in assignment.exercises}
    found: dict[str, str] = {}
    for path in sorted((root / "source" / assignment.name / EXTRAS).glob("*")):
        if path.stem in taken:
            raise ContentError(path, None, "an exercise has this name", "choose another one")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ContentError(path, None, "not UTF-8", "save it as UTF-8") from error
        is_notebook = path.suffix == ".md"
        name = f"{path.stem}.ipynb" if is_notebook else path.name
        found[f"{EXTRAS}/{name}"] = _notebook(path, text) if is_notebook else text
    return found


def _notebook(path: Path, text: str) -> str:
    try:
        cells = jupytext.reads(text, fmt="md:myst").cells
    except Exception as error:  # jupytext's parsers raise what they like
        raise ContentError(
            path, None, f"not a MyST notebook: {error}", "see docs/authoring.md"
        ) from error
    made = [
        (code_cell if cell["cell_type"] == "code" else markdown_cell)(
            f"{path.stem}-{number}", without_claims(cell["source"])
        )
        for number, cell in enumerate(cells, start=1)
    ]
    return notebook_json(notebook_of(made))
