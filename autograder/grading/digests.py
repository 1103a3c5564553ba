"""What was submitted, and what judged it, as digests: known before torch or a sandbox starts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..records import Assignment
from ..submission import Submission, submission_digest


def suite_digest(assignment: Assignment) -> str:
    """A digest of all that a verdict depends on besides the submission.

    So not of a due date, nor of the catalogue: a new name asks nobody other numbers.
    """
    package = Path(__file__).resolve().parent.parent
    files = []
    for exercise in assignment.exercises:
        files += [exercise.solution, exercise.hidden_suite]
    for folder in ("suite", "grading", "worker", "submission"):
        files += sorted((package / folder).rglob("*.py"))
    digest = hashlib.sha256(repr(assignment.limits).encode())
    for path in files:
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}"


def submitted_digest(submission: Submission, assignment: Assignment) -> str:
    """The digest of the files that count where suites judge."""
    return submission_digest(submission.folder, assignment.exercises)
