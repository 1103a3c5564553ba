"""What a grading run is asked to do. Apart from the run, whose import loads torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..records import Tier


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a grading run is asked to do. `shard` is (index from 1, count).

    `secret` is the file with the class's secret; by default it lies beside the results.
    """

    submitted: Path
    results: Path
    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    resume: bool = False
    assignment: str | None = None
    tier: Tier | None = None
    secret: Path | None = None
