"""What a submission was judged by, as a digest: known without torch, so before anything starts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..records import Assignment


def suite_digest(root: Path, assignment: Assignment) -> str:
    """A digest of all that a verdict depends on besides the submission: so not of a due date."""
    package = Path(__file__).resolve().parent.parent
    files = []
    for exercise in assignment.exercises:
        files += [exercise.solution, exercise.hidden_suite]
        files.append(root / "tests" / "misconceptions" / assignment.name / f"{exercise.name}.py")
    for folder in ("suite", "grading", "worker", "submission"):
        files += sorted((package / folder).rglob("*.py"))
    digest = hashlib.sha256(repr(assignment.limits).encode())
    for path in files:
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}"
