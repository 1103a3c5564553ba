"""Runs each notebook's cells as a kernel does, in a fork of a process that has loaded torch.

Reads `[[name, folder, [cell, ...]], ...]` as JSON from stdin and writes `{name: run}` to stdout. A
cell is source code, or `["holds", claim]`, where the claim is an expression that must be true at
that point. A run contains unexpected errors (`troubles`), claims that do not hold (`untrue`), the
output of check cells (`checks`), the number of pictures, and the CPU time as a multiple of the time
for loading everything (`cpu_time`). With the argument `undrawn`, pictures are counted but not
drawn.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate, chain
from typing import Any, TypeVar
from unittest import mock

import matplotlib
import pytest  # noqa: F401  # imported once, before the forks, because all notebooks need it
import sympy  # type: ignore[import-untyped]  # noqa: F401  # torch imports it late
import torch
from IPython.core import pylabtools
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import configure_inline_support, flush_figures
from traitlets.config import Config

import autograder.student
import autograder.student.notebook_tools
import autograder.student.runner  # noqa: F401
from autograder.attention.notebooks import pictures, pronouns, sentence_reader

#: dots per inch in pictures, which no test looks at
LOW_RESOLUTION = 30
Result = TypeVar("Result")
Task = tuple[str, str, list[str | list[str]]]


def numbers(value: Any) -> list[float]:
    """Returns all numbers in a value, which may be a number, a tensor, or nested lists."""
    if isinstance(value, list | tuple):
        return list(chain.from_iterable(map(numbers, value)))
    found: list[float] = torch.as_tensor(value).detach().double().flatten().tolist()
    return found


def rounds(value: Any, *texts: str) -> bool:
    """Returns whether each number, rounded to the precision of its text, equals that text."""
    found = numbers(value)
    digits = [len(text.partition(".")[2]) for text in texts]
    return len(found) == len(texts) and all(
        round(number, places) == float(text)
        for number, places, text in zip(found, digits, texts, strict=True)
    )


def near(value: Any, *expected: float) -> bool:
    """Returns whether the numbers equal the expected ones, up to rounding in float32."""
    return torch.allclose(
        torch.tensor(numbers(value)), torch.tensor(numbers(list(expected))), atol=1e-5
    )


def softmax(*scores: float) -> torch.Tensor:
    """Returns the softmax of one row of scores, in float64."""
    return torch.tensor(scores, dtype=torch.float64).softmax(0)


class Reseeded(torch.Generator):
    """A generator that ignores the seed that it gets."""

    chosen = 0

    def manual_seed(self, seed: int) -> torch.Generator:
        return super().manual_seed(self.chosen)


def for_seeds(run: Callable[[], Result], *seeds: int) -> list[Result]:
    """Returns the results of a call for several seeds, from 0 to 4 if none are given.

    Each seed replaces all seeds that the call itself sets, so that a claim can prove a sentence
    that should be true for any random numbers.
    """
    set_seed, found = torch.manual_seed, []
    for seed in seeds or range(5):
        with (
            torch.random.fork_rng(devices=[]),
            mock.patch.object(torch, "manual_seed", lambda _, seed=seed: set_seed(seed)),
            mock.patch.object(torch, "Generator", Reseeded),
            mock.patch.object(Reseeded, "chosen", seed),
        ):
            set_seed(seed)
            found.append(run())
    return found


#: names that every claim may use, in addition to its notebook's names
CLAIM_NAMES = {
    "math": math,
    "sqrt": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
    "torch": torch,
    "rounds": rounds,
    "near": near,
    "softmax": softmax,
    "accumulate": accumulate,
    "for_seeds": for_seeds,
    "trained_reader": sentence_reader.trained,
    "reader_looks": sentence_reader.looks,
    "PEOPLE": pronouns.PEOPLE,
}


def holds(claim: str, names: dict[str, Any]) -> bool:
    """Returns whether a claim is true; a claim that raises an error is not."""
    try:
        return bool(eval(claim, {**names, **CLAIM_NAMES}))
    except Exception:
        return False


def cpu_seconds() -> float:
    """Returns the CPU time that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(loading: float, task: Task) -> tuple[str, dict[str, Any]]:
    """Runs all cells of one notebook, in its folder; `loading` is the unit of `cpu_time`."""
    name, folder, cells = task
    os.chdir(folder)
    shell = InteractiveShell.instance()
    sys.modules["__main__"] = shell.user_module
    troubles: list[str] = []
    checks: list[str] = []
    untrue: list[str] = []
    drawn = 0
    for number, source in enumerate(cells, start=1):
        if isinstance(source, list):
            untrue += [] if holds(source[1], shell.user_ns) else [source[1]]
            continue
        with capture_output() as captured:
            result = shell.run_cell(source, store_history=True)
        if not result.success:
            troubles.append(f"cell {number}: {result.error_before_exec or result.error_in_exec!r}")
        if captured.stderr.strip():
            troubles.append(f"cell {number} warns: {captured.stderr.strip()}")
        if source.startswith("check("):
            checks += [text.splitlines()[0] for text in plain_texts(captured)]
        drawn += sum("image/png" in output.data for output in captured.outputs)
    return name, {
        "troubles": troubles,
        "untrue": untrue,
        "checks": checks,
        "pictures": drawn,
        "cpu_time": cpu_seconds() / loading,
    }


def plain_texts(captured: CapturedIO) -> list[str]:
    """Returns the displayed values as text."""
    return [output.data["text/plain"] for output in captured.outputs if "text/plain" in output.data]


def drawn_once(figure: Figure, **settings: Any) -> str:
    """Draws a figure at a low resolution, once; Jupyter draws it again to find its size."""
    image: str = pylabtools.print_figure(figure, bbox_inches=None, base64=True, dpi=LOW_RESOLUTION)
    return image


def undrawn(figure: Figure, **settings: Any) -> str:
    """Returns an image that only counts as one."""
    return "picture"


def prepare(draw: Callable[..., str]) -> None:
    """Does once what a kernel does before the first cell and for the first picture."""
    torch.set_num_threads(1)  # because a fork does not copy threads
    matplotlib.use("module://matplotlib_inline.backend_inline")
    pylabtools.retina_figure = draw
    own = sys.modules["__main__"]
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    sys.modules["__main__"] = own  # because tasks for other processes name its functions
    configure_inline_support(shell, matplotlib.get_backend())
    with capture_output():
        pictures.heatmap([[1.0]], title="loads what draws pictures")
        flush_figures()


def main() -> None:
    """Runs each notebook in a new child process, two at a time."""
    prepare(undrawn if sys.argv[1:] == ["undrawn"] else drawn_once)
    tasks: list[Task] = [tuple(task) for task in json.load(sys.stdin)]
    own = partial(run, cpu_seconds())
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        json.dump(dict(pool.imap_unordered(own, tasks, chunksize=1)), sys.stdout)


if __name__ == "__main__":
    main()
