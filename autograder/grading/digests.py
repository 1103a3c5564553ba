"""Digests of submissions and of what judges them, computed before torch or a sandbox starts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .. import parts
from ..course.rules import CALLS, RULES
from ..records import Assignment
from ..submission import Submission, submission_digest

#: the version of judging, which a developer increases when the same answer may get a different
#: score although suite, solution and parts are the same. `--resume` then grades old results again,
#: so the changelog says why
JUDGING = 3


def asked_digest(assignment: Assignment) -> str:
    """Returns a digest of what the questions ask: hidden suites, rules, solutions, parts, limits.

    Inputs are drawn from it, so it must not depend on anything else: the grader's own code, due
    dates and the catalogue of known mistakes can change without changing any number.
    """
    files: list[Path] = []
    for exercise in assignment.exercises:
        files += [exercise.solution, exercise.hidden_suite]
    source = assignment.exercises[0].source.parent
    files += [source / RULES, source.parent / CALLS]
    files += sorted(Path(parts.__file__).parent.glob("*.py"))
    return digest_of_files(files, repr(assignment.limits))


def suite_digest(assignment: Assignment) -> str:
    """Returns a digest of everything a score depends on besides the submission."""
    return digest_of_files([], f"{JUDGING}/{asked_digest(assignment)}")


def digest_of_files(files: Iterable[Path], *texts: str) -> str:
    """Returns the SHA-256 of texts and of files, by name and content; a missing file is empty."""
    digest = hashlib.sha256("\0".join(texts).encode())
    for path in files:
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}"


def submitted_digest(submission: Submission, assignment: Assignment) -> str:
    """Returns the digest of the files that count if suites judge the assignment."""
    return submission_digest(submission.folder, assignment.exercises)
