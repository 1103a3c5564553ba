"""What a run has to do, found out from files alone: where that is nothing, nothing is started."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..course import Course
from ..errors import SubmissionError
from ..records import Assignment, Tier
from ..results.file import History, ResultsFile, read_history
from ..submission import Found, Submission, find_submissions
from .costs import Costs
from .digests import submitted_digest, suite_digest
from .options import RunOptions
from .sources import Task


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a grading run did. `truncated` is where an unfinished last line was moved to.

    `tier` is None where there was nothing to grade. `costs` are CPU seconds by stage; empty where
    nothing was graded here.
    """

    found: Found
    graded: int
    failed: int
    already_graded: int
    tier: Tier | None
    truncated: Path | None
    costs: Costs = field(default_factory=dict)


def in_shard(submissions: Iterable[Submission], shard: tuple[int, int]) -> list[Submission]:
    """The submissions of one part, (index from 1, count)."""
    return [submission for submission in submissions if _is_in_shard(submission, shard)]


@dataclass(frozen=True, slots=True)
class ToGrade:
    """Which submissions a run grades, and which attempt each is."""

    digest_of: Callable[[Submission, Assignment], str]
    suite_digests: Mapping[str, str]
    history: History
    is_resumed: bool

    def has(self, task: Task) -> bool:
        """Whether it is to be graded: a resumed run leaves out what was."""
        submission, assignment = task
        if not self.is_resumed or not self.history:
            return True
        digest = self._digest(task)
        key = (submission.student, assignment.name, digest, self.suite_digests[assignment.name])
        return key not in self.history

    def numbered(self, task: Task) -> Task:
        """The same with the number of its attempt."""
        submission, assignment = task
        attempt = self.history.attempt(
            submission.student, assignment.name, lambda: self._digest(task)
        )
        return replace(submission, attempt=attempt), assignment

    def _digest(self, task: Task) -> str:
        """Of files that can't be read none: the job that is to grade them tells of it."""
        try:
            return self.digest_of(*task)
        except (OSError, SubmissionError):
            return ""


def suite_digests_of(course: Course, submissions: Iterable[Submission]) -> dict[str, str]:
    """The suite's digest of each assignment that was submitted."""
    names = sorted({submission.assignment for submission in submissions})
    return {name: suite_digest(course.assignment(name)) for name in names}


def idle_report(course: Course, options: RunOptions) -> RunReport | None:
    """The report of a run over a course's assignments that has nothing to grade, else None."""
    names = sorted(assignment.name for assignment in course.assignments)
    found = find_submissions(options.submitted, names, options.assignment)
    mine = in_shard(found.or_refuse(options.submitted).submissions, options.shard)
    if mine and not (options.resume and _all_graded(course, mine, options.results)):
        return None
    with ResultsFile(options.results) as file:  # it is there even if it stays empty
        return RunReport(found, 0, 0, len(mine), None, file.truncated)


def _all_graded(course: Course, mine: Sequence[Submission], results: Path) -> bool:
    history = read_history(results)
    if history is None or len(history) < len(mine):
        return False
    new = ToGrade(submitted_digest, suite_digests_of(course, mine), history, is_resumed=True)
    return not any(new.has((s, course.assignment(s.assignment))) for s in mine)


def _is_in_shard(submission: Submission, shard: tuple[int, int]) -> bool:
    index, count = shard
    name = f"{submission.student}/{submission.assignment}".encode(errors="surrogateescape")
    # a digest, not a checksum: checksums of similar names fall into the same shard
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % count == index - 1
