"""Merges the results of shards into one file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..results.merge import MergeReport


def merge(results: Iterable[Path | str], to: Path | str) -> MergeReport:
    """Writes the lines of results files into one, each submission once.

        autograder.merge(["shards/1.jsonl", "shards/2.jsonl"], to="course/results.jsonl")

    Raises `UserError` if two files have different results for a submission, if a file is damaged,
    or if `to` exists and is not among them.
    """
    from ..results.merge import merge_results

    return merge_results([Path(path) for path in results], Path(to))
