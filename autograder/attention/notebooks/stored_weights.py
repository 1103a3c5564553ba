"""Stores the weights of a small model as text: half precision, by name."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn


def save_weights(model: nn.Module, path: Path | str) -> None:
    """Write the parameters of a model; buffers are left out because they are not trained."""
    document = {
        name: {
            "shape": list(weight.shape),
            "float16": base64.b64encode(
                weight.detach().numpy().astype("<f2", casting="same_kind").tobytes()
            ).decode("ascii"),
        }
        for name, weight in model.named_parameters()
    }
    Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def load_weights(model: nn.Module, path: Path | str) -> None:
    """Load stored weights into the parameters of the same names.

    Raises:
        KeyError: the model and the file do not have the same names.
        RuntimeError: a weight has a different shape.
    """
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    found = {
        name: torch.from_numpy(
            np.frombuffer(base64.b64decode(stored["float16"]), dtype="<f2").astype(np.float32)
        ).reshape(stored["shape"])
        for name, stored in document.items()
    }
    own = {name for name, _ in model.named_parameters()}
    if own != set(found):
        raise KeyError(f"the model and the file differ in: {sorted(own ^ set(found))}")
    model.load_state_dict(found, strict=False)
