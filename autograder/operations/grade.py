"""Grades a class and fills the gradebook. Begin here to follow a submission through the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ..classroom import read_allowances, read_rules
from ..errors import UserError, install_with
from ..grading.engine import Backend, Engine, Ready
from ..grading.run import grade_class
from ..grading.secret import FILE_NAME, named_secret
from ..grading.sources import RunEvents, RunOptions
from ..grading.stream import Answer, StreamOptions, StreamReport, grade_lines
from ..grading.suite_engine import SuiteEngine
from ..records import Tier
from ..submission.class_files import RESULTS_FILE, SUBMITTED
from .best import let_best_count
from .courses import HERE, course_at, find_courses
from .outcome import GradeReport, class_outcome


def grade(
    submitted: Path | str,
    *,
    course: Path | str = HERE,
    results: Path | str | None = None,
    jobs: int = 1,
    shard: tuple[int, int] = (1, 1),
    resume: bool = False,
    assignment: str | None = None,
    tier: Tier | None = None,
    gradebook: bool | None = None,
    secret: Path | str | None = None,
    question: str | None = None,
    scheduler: str | None = None,
    events: RunEvents | None = None,
    on_lateness: Callable[[Sequence[str]], None] = lambda _: None,
) -> GradeReport:
    """Grades all submissions in a folder: `<student>/<assignment>/<exercise>.py` or `.ipynb`.

    `course` is the instructor's folder (default: the current folder or one above it). Result lines
    are appended to `results` (default: results.jsonl next to `submitted`, or the class's own file
    for a single submission). `gradebook` says whether to write nbgrader's gradebook (default: only
    if the folder is called `submitted`). Before the gradebook is written, `on_lateness` is called
    with sentences about due dates and late students. `secret` is the file with the class's secret,
    which must be the same for all shards (default: secret.key next to the results). `shard`
    contains the number of the shard, starting at 1, and the total number of shards. If `question`
    is given, only this question is graded again, but new or changed submissions are graded as a
    whole. `scheduler` is the address of a Dask scheduler, whose workers then grade the submissions
    instead of this machine.

        report = autograder.grade("course/submitted", jobs=2, resume=True)
        print(report.run.graded, [result.score for result in report.results])

    Raises `UserError` for problems that the caller must solve, `IsolationUnavailable` if there is
    no sandbox, and `GraderError` if the grader itself fails.
    """
    if question and resume:
        raise UserError("grading one question again covers all submissions: leave out --resume")
    courses = find_courses(Path(submitted), Path(course), assignment, question)
    file = Path(results) if results else courses.class_folder / RESULTS_FILE
    options = RunOptions(
        submitted=courses.submitted,
        results=file,
        jobs=jobs,
        shard=shard,
        resume=resume,
        assignment=assignment,
        tier=tier,
        secret=named_secret(secret, file) if secret else None,
        question=courses.question,
    )
    wanted = courses.whole.name == SUBMITTED if gradebook is None else gradebook
    if wanted:
        read_rules(courses.class_folder)
        read_allowances(courses.class_folder)  # report unreadable tables before hours of grading
    backend = _cluster(scheduler, options) if scheduler else None
    engines: list[Engine] = []
    if courses.notebooks:
        from ..nbgrader.notebooks.notebook_engine import NotebookEngine

        engines.append(NotebookEngine(courses.notebooks, courses.submitted))
    if courses.own:
        engines.append(SuiteEngine(courses.own))
    run = grade_class(engines, options, events or RunEvents(), backend=backend, found=courses.found)
    best = let_best_count(courses, options, run.keys) if wanted else ()
    return class_outcome(courses, run, options, best, gradebook=wanted, on_lateness=on_lateness)


def _cluster(scheduler: str, options: RunOptions) -> Backend:
    if options.question:
        raise UserError("a cluster grades only whole assignments: leave out --question")
    try:
        from ..grading.cluster.cluster_run import Cluster
    except ModuleNotFoundError as error:
        raise UserError(f"--scheduler needs {error.name}: run {install_with('cluster')}") from error
    return Cluster(scheduler, options.secret or options.results.with_name(FILE_NAME), options.tier)


class HasDescriptor(Protocol):
    """An object with a file descriptor: a pipe, a socket, or an open file."""

    def fileno(self) -> int:
        """Returns the file descriptor."""


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
    """Grades the folder `<student>/<assignment>` named on each line, until there are no more lines.

    `answer` is called with each `SubmissionResult`, in order of completion, and with a
    `RefusedLine` for a line that does not name a submission. A line may also be JSON: {"path": ...,
    "attempt": 2}. If `results` is given, the result lines are appended to that file, and attempts
    are counted; otherwise, every submission counts as a first attempt. `secret` is the file with
    the class's secret (default: secret.key next to the results, or in the current folder if
    `results` is not given).

        autograder.grade_stream(sys.stdin, lambda answer: print(json.dumps(answer.to_json())))

    Raises the same errors as `grade`.
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
