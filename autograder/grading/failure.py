"""The line of a submission on which the grader itself failed."""

from __future__ import annotations

from ..records import Assignment, SubmissionResult, SubmissionStatus, Tier
from ..submission import Submission
from .digests import JUDGING

_LONGEST_ERROR = 2000


def failed(
    submission: Submission, assignment: Assignment, suite_digest: str, tier: Tier, error: str
) -> SubmissionResult:
    """A line that scores nothing; `--resume` grades the submission again."""
    return SubmissionResult(
        student=submission.student,
        assignment=assignment.name,
        submission_digest="sha256:" + "0" * 64,
        suite_digest=suite_digest,
        isolation=tier,
        status=SubmissionStatus.FAILED,
        score=0.0,
        max_score=0.0,
        seconds=0.0,
        seed=0,
        attempt=submission.attempt,
        judging=JUDGING,
        error=error[-_LONGEST_ERROR:],
    )
