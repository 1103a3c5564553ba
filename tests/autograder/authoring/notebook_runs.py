"""Runs notebooks' cells as a kernel does, each in a forked child of one warm process.

Reads `[[name, folder, [cell, ...]], ...]` as JSON from stdin, writes `{name: run}` to stdout. A run
tells what no reader of the notebook should see (`troubles`), what its check cells say (`checks`),
how many pictures it shows, and the CPU seconds that it took.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
from typing import Any

import matplotlib
import pytest  # noqa: F401  # what all notebooks need is imported here, once for all of them
import sympy  # type: ignore[import-untyped]  # noqa: F401  # torch does where it first needs it
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from matplotlib_inline.backend_inline import configure_inline_support

import autograder.student
import autograder.student.pictures
import autograder.student.runner  # noqa: F401

Task = tuple[str, str, list[str]]


def run(task: Task) -> tuple[str, dict[str, Any]]:
    """Runs the cells of one notebook, all of them, in its folder."""
    name, folder, cells = task
    os.chdir(folder)
    shell = InteractiveShell.instance(history_length=0)
    configure_inline_support(shell, matplotlib.get_backend())
    troubles: list[str] = []
    checks: list[str] = []
    pictures = 0
    for number, source in enumerate(cells, start=1):
        with capture_output() as said:
            result = shell.run_cell(source, store_history=True)
        if not result.success:
            troubles.append(f"cell {number}: {result.error_before_exec or result.error_in_exec!r}")
        if said.stderr.strip():
            troubles.append(f"cell {number} warns: {said.stderr.strip()}")
        if source.startswith("check("):
            checks += [text.splitlines()[0] for text in plain_texts(said)]
        pictures += sum("image/png" in output.data for output in said.outputs)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return name, {
        "troubles": troubles,
        "checks": checks,
        "pictures": pictures,
        "cpu_seconds": used.ru_utime + used.ru_stime,
    }


def plain_texts(said: CapturedIO) -> list[str]:
    """What was displayed, as text."""
    return [output.data["text/plain"] for output in said.outputs if "text/plain" in output.data]


def main() -> None:
    """Two children at a time, a new one for each notebook."""
    torch.set_num_threads(1)  # a forked child has none of its parent's threads
    matplotlib.use("module://matplotlib_inline.backend_inline")
    tasks: list[Task] = [tuple(task) for task in json.load(sys.stdin)]
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        json.dump(dict(pool.imap_unordered(run, tasks, chunksize=1)), sys.stdout)


if __name__ == "__main__":
    main()
