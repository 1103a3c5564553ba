"""Stores the weights of a small model in a text file, keyed by name and in half precision."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn


def save_weights(model: nn.Module, path: Path | str) -> None:
    """Write a model's parameters to a file; buffers are left out, because they are not trained."""
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
    """Load stored weights into a model's parameters with the same names.

    Raises:
        FileNotFoundError: there is no such file.
        KeyError: the names in the model and in the file differ.
        ValueError: a weight has a different shape.
    """
    if not Path(path).is_file():
        there = ", ".join(sorted(file.name for file in Path(path).parent.glob("*.json")))
        raise FileNotFoundError(
            f"{path} does not exist; its folder contains {there or 'no .json file'}"
        )
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    found = {
        name: torch.from_numpy(
            np.frombuffer(base64.b64decode(stored["float16"]), dtype="<f2").astype(np.float32)
        ).reshape(stored["shape"])
        for name, stored in document.items()
    }
    own = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    if own.keys() != found.keys():
        different = sorted(own.keys() ^ found.keys())
        raise KeyError(f"in the model or in the file, but not in both: {different}")
    for name, weight in found.items():
        if own[name] != tuple(weight.shape):
            raise ValueError(
                f"the file is for a model of a different size: {name} has shape "
                f"{tuple(weight.shape)} there, and {own[name]} in this model"
            )
    model.load_state_dict(found, strict=False)
