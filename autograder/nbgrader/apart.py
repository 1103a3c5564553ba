"""Grades in a separate process, for callers that must not fork or load torch themselves.

Formgrader, for example, grades inside a Jupyter server: a process with threads, which must not be
forked and should stay small. Options are passed as JSON; an error is returned as text.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ..course import load_course
from ..errors import AutograderError
from ..grading.sources import RunEvents, RunOptions


def grade_apart(course: Path, options: RunOptions) -> str:
    """Grades as `grading.run.grade_class` does; returns the error message, or "" on success."""
    request = {
        "course": str(course),
        "submitted": str(options.submitted),
        "results": str(options.results),
        "jobs": options.jobs,
        "resume": options.resume,
        "assignment": options.assignment,
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    if done.returncode == 0:
        return ""
    return done.stderr.decode("utf-8", "replace").strip() or "the grader ended without a message"


def main(request: str) -> int:
    """Runs the grading process; returns 0, or 1 after writing an error to stderr."""
    from ..grading.run import grade_class
    from ..grading.suite_engine import SuiteEngine

    wanted = json.loads(request)
    options = RunOptions(
        submitted=Path(wanted["submitted"]),
        results=Path(wanted["results"]),
        jobs=wanted["jobs"],
        resume=wanted["resume"],
        assignment=wanted["assignment"],
    )
    try:
        grade_class([SuiteEngine(load_course(Path(wanted["course"])))], options, RunEvents())
    except AutograderError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
