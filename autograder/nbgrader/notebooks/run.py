"""A grading run over a course of nbgrader's own notebooks: jobs, results file, `--resume`."""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError
from ...grading.jobs import ClassGrader
from ...grading.options import RunOptions
from ...grading.run import RunEvents, RunReport
from ...grading.submissions import failed
from ...records import Assignment, SubmissionResult, SubmissionStatus
from ...results.file import ResultsFile
from ...sandbox import ForkServer, start_fork_server
from ...submission import Found, Submission, find_submissions
from .autograding import autograde
from .course import NotebookCourse, read_assignment, read_notebook_course
from .execute import SandboxedExecute
from .libraries import libraries_for
from .results import exercises_of, waiting


@dataclass(frozen=True, slots=True)
class NotebookGrader:
    """Grades submissions of a course one by one; what `ClassGrader` asks for."""

    course: NotebookCourse
    parent: ForkServer
    digests: Mapping[str, str]

    def grade(self, submission: Submission, assignment: Assignment) -> SubmissionResult:
        """The result of one submission; raises only for the grader's own faults."""
        start = time.perf_counter()
        outcome = autograde(self.course, self.parent, submission)
        exercises = exercises_of(self.course, submission, outcome)
        return SubmissionResult(
            student=submission.student,
            assignment=assignment.name,
            submission_digest=digest_of(submission.folder),
            suite_digest=self.digests[assignment.name],
            isolation=self.parent.tier,
            status=SubmissionStatus.GRADED,
            score=sum(exercise.score for exercise in exercises),
            max_score=sum(exercise.max_score for exercise in exercises),
            seconds=round(time.perf_counter() - start, 4),
            seed=0,
            exercises=exercises,
            notes=(*outcome.notes, *waiting(exercises)),
        )


def grade_notebooks(folder: Path, options: RunOptions, events: RunEvents) -> RunReport:
    """Grades the submissions of the course in `folder`: gradebook, `autograded/`, results file.

    Raises `UserError` for what the user must change, `IsolationUnavailable` where there is no
    tier, and `GraderError` when the grader itself fails.
    """
    course = read_notebook_course(folder)
    found = _find(course, options)
    mine = [s for s in found.submissions if _in_shard(s, options.shard)]
    step = SandboxedExecute(config=course.config)
    assignments = {
        name: read_assignment(course, name, step.most_seconds)
        for name in sorted({submission.assignment for submission in mine})
    }
    sources = {name: course.sources(name) for name in assignments}
    digests = {name: _digest(paths) for name, paths in sources.items()}
    libraries = libraries_for([p for paths in sources.values() for p in paths], step.packages)
    with ResultsFile(options.results) as file, start_fork_server(options.tier, libraries) as parent:
        done = file.graded() if options.resume else set()
        tasks = [(s, assignments[s.assignment]) for s in mine if _key(s, digests) not in done]
        events.starts(parent.tier, len(tasks), len(mine) - len(tasks))
        graded: list[SubmissionResult] = []

        def on_failed(submission: Submission, reason: str) -> SubmissionResult:
            name = submission.assignment
            return failed(submission, assignments[name], digests[name], parent.tier, reason)

        def on_result(result: SubmissionResult) -> None:
            file.append(result)
            graded.append(result)
            events.graded(result)

        grader = NotebookGrader(course, parent, digests)
        ClassGrader(grader, on_failed, on_result, options.jobs).run(tasks)
        return RunReport(found, tuple(graded), len(mine) - len(tasks), parent.tier, file.torn)


def digest_of(folder: Path) -> str:
    """A digest of all files of a submission: names and bytes. Links are not followed."""
    digest = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders.sort()
        for path in (Path(place, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                name, data = path.relative_to(folder).as_posix(), path.read_bytes()
                digest.update(f"{name}\0{len(data)}\0".encode(errors="replace") + data)
    return f"sha256:{digest.hexdigest()}"


def _find(course: NotebookCourse, options: RunOptions) -> Found:
    directories = course.directories()
    own = course.root / directories.submitted_directory
    if not options.submitted.resolve().is_relative_to(own.resolve()):
        raise UserError(
            f"{options.submitted} is not in {own}: notebooks with nbgrader's own tests are graded "
            "where nbgrader keeps what was handed in"
        )
    found = find_submissions(options.submitted, course.assignments, options.assignment)
    return found.or_refuse(options.submitted)


def _digest(paths: list[Path]) -> str:
    """A digest of all that a score depends on besides the submission."""
    here = Path(__file__).resolve().parent
    files = [*paths, *sorted(here.glob("*.py"))]
    files += sorted((here.parent.parent / "worker").glob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def _key(submission: Submission, digests: Mapping[str, str]) -> tuple[str, str, str, str]:
    name = submission.assignment
    return submission.student, name, digest_of(submission.folder), digests[name]


def _in_shard(submission: Submission, shard: tuple[int, int]) -> bool:
    index, count = shard
    name = f"{submission.student}/{submission.assignment}".encode(errors="surrogateescape")
    return zlib.crc32(name) % count == index - 1
