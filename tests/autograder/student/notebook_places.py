"""Runs a notebook's first cells, an answer and its check in a kernel without our package.

Reads `{place: [folder, [cell, ...]]}` as JSON from stdin, and writes the output of each place. The
cells of each place run in a forked child of a process that has loaded torch.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import sys
import types
from contextlib import redirect_stdout
from importlib.util import find_spec

import pytest  # noqa: F401  # imported before the forks, like torch
import torch  # noqa: F401

Task = tuple[str, tuple[str, list[str]]]


def run(task: Task) -> tuple[str, str]:
    """Returns the place and the output of its cells, including any error that stopped them."""
    place, (folder, cells) = task
    os.chdir(folder)
    if place == "colab":
        sys.modules["google.colab"] = types.ModuleType("google.colab")
    names: dict[str, object] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as output:
        try:
            for cell in cells:
                exec(compile(cell, place, "exec"), names)
        except Exception as error:  # a notebook would show this text
            print(f"{type(error).__name__}: {error}")
    return place, output.getvalue()


if __name__ == "__main__":
    assert find_spec("autograder") is None
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        json.dump(dict(pool.map(run, json.load(sys.stdin).items(), chunksize=1)), sys.stdout)
