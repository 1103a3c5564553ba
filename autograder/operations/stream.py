"""Grades submissions as their paths arrive: for a queue, a web service, a platform's plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..grading.engine import Ready
from ..grading.secret import FILE_NAME, named_secret
from ..grading.stream import Answer, StreamOptions, StreamReport, grade_lines
from ..grading.suite_engine import SuiteEngine
from ..records import Tier
from .courses import HERE, course_at


class HasDescriptor(Protocol):
    """A pipe, a socket, or an open file."""

    def fileno(self) -> int:
        """Returns its file descriptor."""


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
    ready: Ready = lambda _: None,
) -> StreamReport:
    """Grades the folder that each line names, `<student>/<assignment>`; stays ready in between.

    `answer` is called with each `SubmissionResult`, in order of completion, and with a `Refused`
    for a line that names no submission. A line may also be JSON: {"path": ..., "attempt": 2}. With
    `results`, the lines are appended to that file and attempts are counted; without it, all are
    first attempts. `secret` is the class's file (default: secret.key next to the results, or in
    this folder).

        autograder.grade_stream(sys.stdin, lambda answer: print(json.dumps(answer.to_json())))

    Returns when the lines end. Raises `UserError`, `IsolationUnavailable`, `GraderError`.
    """
    file = Path(results) if results else None
    named = named_secret(secret, file) if secret else None
    options = StreamOptions(
        secret=named or (file.parent if file else Path()) / FILE_NAME,
        jobs=jobs,
        assignment=assignment,
        tier=tier,
        results=file,
    )
    engine = SuiteEngine(course_at(Path(course)))
    return grade_lines(engine, lines.fileno(), options, ready, answer)
