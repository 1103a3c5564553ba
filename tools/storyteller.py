"""Trains the capstone's models with the ready-made block, in the same steps as students do.

Prints the loss curve of the model that students train; copy the curve to
`autograder/attention/notebooks/stories.py`. Writes the weights of a larger model to
`source/decoder_attention/extras/storyteller.json`. `make weights` runs this script, and takes about
three minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import matplotlib
import torch

from autograder.attention.notebooks import own
from autograder.attention.notebooks.stored_weights import save_weights
from autograder.attention.notebooks.stories import stories

EXTRAS = Path(__file__).parents[1] / "source" / "decoder_attention" / "extras"
#: the size of the larger model, and its training, in which each story is used only once
D_MODEL, BLOCKS = 128, 3
STEPS, BATCH, RATE = 1500, 16, 3e-3


def trained() -> dict[str, Any]:
    """Runs the notebook until the model is trained, and returns the notebook's variables."""
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


def train_larger(names: dict[str, Any]) -> Iterator[float]:
    """Trains a larger model as the notebook's `model`; sometimes yields the held-out loss."""
    text, _ = stories(STEPS * BATCH, seed=1)
    pieces = names["pieces_of"](names["encode"](text))
    torch.manual_seed(0)
    model = names["model"] = names["LanguageModel"](len(names["vocabulary"]), D_MODEL, BLOCKS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    order = torch.randperm(len(pieces), generator=torch.Generator().manual_seed(0))
    for step in range(1, STEPS + 1):
        loss = names["loss_on"](pieces[order[(step - 1) * BATCH : step * BATCH]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == STEPS:
            with torch.no_grad():
                yield names["loss_on"](names["held_out_pieces"]).item()


if __name__ == "__main__":
    matplotlib.use("agg")
    found = trained()
    print("KNOWN_CURVE =", tuple(round(loss, 3) for loss in found["held_out_curve"]), flush=True)
    for loss in train_larger(found):
        print(f"held out: {loss:.3f}", flush=True)
    save_weights(found["model"], EXTRAS / "storyteller.json")
