"""The results of shards become one file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..results.merge import MergeReport


def merge(results: Iterable[Path | str], to: Path | str) -> MergeReport:
    """Writes the lines of results files into one, each submission once.

        autograder.merge(["shards/1.jsonl", "shards/2.jsonl"], to="course/results.jsonl")

    Raises `UserError` where two files have different results of one submission, where a file is
    damaged, and where `to` is there and not among them.
    """
    from ..results.merge import merge_results

    return merge_results([Path(path) for path in results], Path(to))
