"""Reads the code cells of an instructor's notebook."""

from __future__ import annotations

import json
from pathlib import Path

from ...errors import ContentError


def code_cells(path: Path) -> list[str]:
    """The sources of a notebook's code cells; raises `ContentError` for what is not a notebook."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        return ["".join(cell["source"]) for cell in cells]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"not a notebook that can be read: {error!r}"
        raise ContentError(path, None, problem, "open and save it in Jupyter") from error
