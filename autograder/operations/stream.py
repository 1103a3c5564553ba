"""Grades submissions as their paths come: for a queue, a web service, a platform's plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..records import Tier
from .courses import HERE, asks_for_layers, course_at

if TYPE_CHECKING:  # its import loads torch, for which the sandbox's start need not wait
    from ..grading.stream import Answer, StreamReport


class HasDescriptor(Protocol):
    """A pipe, a socket, or an open file."""

    def fileno(self) -> int:
        """Its descriptor."""


def grade_stream(
    lines: HasDescriptor,
    answer: Answer,
    *,
    course: Path | str = HERE,
    jobs: int = 1,
    assignment: str | None = None,
    tier: Tier | None = None,
    results: Path | str | None = None,
    secret: Path | str | None = None,
    ready: Callable[[Tier], None] = lambda _: None,
) -> StreamReport:
    """Grades the folder that each line names, as `<student>/<assignment>`; stays warm in between.

    `answer` gets each `SubmissionResult`, in order of completion, and a `Refused` for a line that
    names no submission. A line may be JSON as well, {"path": ..., "attempt": 2}. With `results`
    the lines are kept there too and attempts are counted; without it all are first attempts.
    `secret` is the class's file (default: secret.key next to the results, or in this folder).

        autograder.grade_stream(sys.stdin, lambda answer: print(json.dumps(answer.to_json())))

    Returns at the end of the lines. Raises `UserError`, `IsolationUnavailable`, `GraderError`.
    """
    from ..grading.secret import FILE_NAME, named_secret
    from ..sandbox import Ahead, fork_server_ahead

    named = named_secret(secret, Path(results) if results else None) if secret else None
    own = course_at(Path(course))
    assignments = [own.assignment(assignment)] if assignment else own.assignments
    ahead = Ahead(second_device=asks_for_layers(assignments))
    with fork_server_ahead(tier, ahead) as start:
        from ..grading.stream import StreamOptions, grade_lines
        from ..grading.suite_engine import SuiteEngine

        folder = Path(results).parent if results else Path()
        options = StreamOptions(
            secret=named or folder / FILE_NAME,
            jobs=jobs,
            assignment=assignment,
            tier=tier,
            results=Path(results) if results else None,
        )
        return grade_lines(SuiteEngine(own, start), lines.fileno(), options, ready, answer)
