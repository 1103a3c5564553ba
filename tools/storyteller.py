"""Trains the capstone's model with the ready-made block, by the steps that students follow.

Writes its weights to `source/decoder_attention/extras/storyteller.json`, and prints the curve for
`autograder/attention/notebooks/stories.py`. Takes about a minute: `make weights`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jupytext
import matplotlib

from autograder.attention.notebooks import own
from autograder.attention.notebooks.stored_weights import save_weights

EXTRAS = Path(__file__).parents[1] / "source" / "decoder_attention" / "extras"


def trained() -> dict[str, Any]:
    """Returns the notebook's variables after the training."""
    from autograder.parts import DecoderBlock

    own.own_or_part = lambda question: DecoderBlock
    os.chdir(EXTRAS)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = jupytext.reads(Path("capstone.md").read_text(encoding="utf-8"), fmt="md:myst").cells
    for cell in cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, "capstone.md", "exec"), names)
            if "training_curve" in names:
                return names
    raise RuntimeError("capstone.md has no training_curve")


if __name__ == "__main__":
    matplotlib.use("agg")
    found = trained()
    save_weights(found["model"], EXTRAS / "storyteller.json")
    print("KNOWN_CURVE =", tuple(round(loss, 3) for loss in found["held_out_curve"]))
