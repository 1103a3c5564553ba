"""What a run has to do, found out from files alone: where that is nothing, nothing is started."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..course import Course
from ..records import Assignment, Tier
from ..results.file import ResultsFile, read_history
from ..submission import Found, Submission, find_submissions, submission_digest
from .digests import suite_digest
from .options import RunOptions


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a grading run did. `truncated` is where an unfinished last line was moved to.

    `tier` is None where there was nothing to grade.
    """

    found: Found
    graded: int
    failed: int
    already_graded: int
    tier: Tier | None
    truncated: Path | None


def in_shard(submissions: Iterable[Submission], shard: tuple[int, int]) -> list[Submission]:
    """The submissions of one part, (index from 1, count)."""
    return [submission for submission in submissions if _is_in_shard(submission, shard)]


def idle_report(course: Course, options: RunOptions) -> RunReport | None:
    """The report of a run over a course's assignments that has nothing to grade, else None."""
    own = {assignment.name: assignment for assignment in course.assignments}
    found = find_submissions(options.submitted, sorted(own), options.assignment)
    mine = in_shard(found.or_refuse(options.submitted).submissions, options.shard)
    if mine and not (options.resume and _all_graded(course, own, mine, options.results)):
        return None
    with ResultsFile(options.results) as file:  # it is there even if it stays empty
        return RunReport(found, 0, 0, len(mine), None, file.truncated)


def _all_graded(
    course: Course, own: Mapping[str, Assignment], mine: Sequence[Submission], results: Path
) -> bool:
    history = read_history(results)
    if history is None or len(history.graded) < len(mine):
        return False
    digests = {name: suite_digest(own[name]) for name in {s.assignment for s in mine}}
    return all(
        (
            *(s.student, s.assignment),
            submission_digest(s.folder, own[s.assignment].exercises),
            digests[s.assignment],
        )
        in history.graded
        for s in mine
    )


def _is_in_shard(submission: Submission, shard: tuple[int, int]) -> bool:
    index, count = shard
    name = f"{submission.student}/{submission.assignment}".encode(errors="surrogateescape")
    # a digest, not a checksum: checksums of similar names fall into the same shard
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % count == index - 1
