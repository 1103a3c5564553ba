"""The command that merges the results of shards: merge."""

from __future__ import annotations

from pathlib import Path

import click

from ..escaping import for_terminal
from ..operations.results import merge as merge_files
from .output import as_json, console, emit, number_of
from .strict_command import command


@command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "to", required=True, type=click.Path(path_type=Path), help="Output file.")
@as_json
def merge(results: tuple[Path, ...], to: Path, as_json: bool) -> int:
    """Merge the RESULTS of shards, or of other machines, into one file.

    It is an error if a submission has different points in two files; the message names both files.
    The output file may be one of RESULTS.

    \b
    Example: autograder merge shards/1.jsonl shards/2.jsonl --to course/results.jsonl
             autograder record course
    """
    report = merge_files(results, to)
    if as_json:
        emit(
            {
                "to": str(report.to),
                "lines": report.lines,
                "equal": report.equal,
                "failed_before": report.failed_before,
            }
        )
        return 0
    left_out = f", {report.equal} in two files counted once" if report.equal else ""
    if report.failed_before:
        left_out += f", {report.failed_before} failed results left out, which were graded elsewhere"
    console.print(
        f"{number_of(report.lines, 'line')} from {number_of(len(results), 'file')} in "
        f"{for_terminal(str(report.to))}{left_out}",
        soft_wrap=True,
    )
    return 0


COMMANDS = (merge,)
