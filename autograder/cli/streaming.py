"""`autograder grade -`: paths on standard input, lines of JSON on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..escaping import for_json
from ..grading.stream import RefusedLine
from ..operations.grade import grade_stream
from ..records import SubmissionResult, Tier
from ..worker import late
from .output import errors
from .torch_start import begin_loading, end_loading

#: the path that means standard input
STANDARD_INPUT = Path("-")
#: the options of `grade` that are only for a whole class
_FOR_A_CLASS = ("shard", "resume", "gradebook", "question", "scheduler", "as_json")


def stream(context: click.Context, chosen: Mapping[str, Any]) -> int:
    """Answers each line until there are no more; returns the exit code."""
    for name in _FOR_A_CLASS:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.removeprefix('as_')} is for a whole class, not for -")
    begin_loading()
    late.defer()
    try:
        report = grade_stream(
            sys.stdin,
            _print,
            course=chosen["course_folder"],
            jobs=chosen["jobs"],
            assignment=chosen["assignment"],
            tier=Tier(chosen["tier"]) if chosen["tier"] else None,
            results=chosen["results"],
            secret=chosen["secret"],
            ready=_say_ready,
        )
    except BrokenPipeError:
        # nobody reads the answers any more; Python must not write to stdout again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 2 if report.failed else int(report.refused > 0)


def _print(answer: SubmissionResult | RefusedLine) -> None:
    sys.stdout.write(for_json(answer.to_json()) + "\n")
    sys.stdout.flush()


def _say_ready(tier: Tier | None) -> None:
    end_loading()
    errors.print(f"isolation tier {tier}; ready: one path of a submission per line")
