"""Grades a class, then fills the gradebook. To follow a submission through the code, begin here."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from ..classroom import (
    ALLOWED_FILE,
    CountingRule,
    count_late_days,
    lateness_lines,
    read_allowances,
    read_marks,
    read_roster,
    read_rules,
    read_withdrawals,
    unused_dates,
)
from ..errors import ContentError, UserError, install_with
from ..grading.costs import Costs, Stage
from ..grading.engine import Backend, Engine, Ready
from ..grading.run import RunReport, grade_class
from ..grading.run_options import RunEvents, RunOptions, SilentEvents
from ..grading.secret import FILE_NAME, named_secret
from ..grading.stream import Answer, StreamOptions, StreamReport, grade_lines
from ..grading.suite_engine import SuiteEngine
from ..records import Key, SubmissionResult, Tier
from ..results.last import LastResults
from ..results.review import waits_for_a_person
from ..submission import FoundSubmissions, find_submissions
from ..submission.class_files import DUE_FILE, GRADEBOOK_FILE, RESULTS_FILE, SUBMITTED
from .cached_steps import CachedStep
from .class_folder import inside
from .courses import HERE, Courses, class_course, course_at, find_courses, submissions_around


@dataclass(frozen=True, slots=True)
class RecordedGrades:
    """The contents of the gradebook after a run. `db_url` is None if the run itself wrote it.

    `unrecorded` is the number of results that can't be recorded before a person has done something.
    """

    db_url: str | None
    submissions: int
    notes: tuple[str, ...]
    unrecorded: int = 0


@dataclass(frozen=True, slots=True)
class GradeReport:
    """The outcome of a run, and the last result of each submission in it.

    `results` are read from the file when they are accessed. `lateness` lists due dates as they were
    understood, who is late by how much, and whose earlier submission counts. `stopped` maps each
    assignment that could not be graded to the reason; the others were graded. `unused_dates` are
    sentences on dates of `due.csv` whose assignment or section does not exist. `costs` are CPU
    seconds by stage, empty if nothing was graded by this machine. `waiting` are the submissions
    with a reason to look that no person has dealt with, if this run wrote the gradebook.
    """

    run: RunReport
    results_file: Path
    results: Sequence[SubmissionResult]
    recorded: RecordedGrades | None
    lateness: tuple[str, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    costs: Costs = field(default_factory=dict)
    unused_dates: tuple[str, ...] = ()
    waiting: tuple[Key, ...] = ()


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
    tell_lateness: Callable[[Sequence[str]], None] = lambda _: None,
) -> GradeReport:
    """Grades every submission below a folder, `<student>/<assignment>/<exercise>.py` or `.ipynb`.

    `course` is the instructor's folder (default: here or above). Result lines are appended to
    `results` (default: results.jsonl next to `submitted`; for one submission in a folder of that
    name, the file of its class). `gradebook` says whether to write nbgrader's gradebook (default:
    if the folder is called `submitted`); before that, `tell_lateness` is called with sentences
    about due dates and late students. `secret` is the class's file, which shards share (default:
    secret.key next to the results). `shard` is (index from 1, count). With `question`, only this
    question is graded again; submissions that are new or have changed are graded as a whole.
    `scheduler` is the address of a dask scheduler, whose workers then grade instead of this
    machine.

        report = autograder.grade("course/submitted", jobs=2, resume=True)
        print(report.run.graded, [result.score for result in report.results])

    Raises `UserError` for what the caller must change, `IsolationUnavailable` if there is no
    sandbox, `GraderError` if the grader itself fails.
    """
    if question and resume:
        raise UserError("grading one question again covers all submissions: leave out --resume")
    submitted = inside(Path(submitted))
    courses = find_courses(submitted, Path(course), assignment, question)
    whole = submissions_around(submitted, courses.own)
    class_folder = courses.notebooks or whole.parent
    file = Path(results) if results else class_folder / RESULTS_FILE
    options = RunOptions(
        submitted=submitted,
        results=file,
        jobs=jobs,
        shard=shard,
        resume=resume,
        assignment=assignment,
        tier=tier,
        secret=named_secret(secret, file) if secret else None,
        question=courses.question,
    )
    wanted = whole.name == SUBMITTED if gradebook is None else gradebook
    if wanted:
        read_rules(class_folder)
        read_allowances(class_folder)  # report a table that can't be read before hours of grading
    courses, run = _run_what_can_be(courses, submitted, options, scheduler, events)
    stopped = _stopped(courses, submitted, assignment)
    best = _best(courses, class_folder, options, run) if wanted else ()
    last = _last_results(run, options.results)
    days = _late_days(courses, class_folder) if wanted else ()
    lateness = (*best, *days, *_lateness(courses, class_folder, last)) if wanted else ()
    tell_lateness(lateness)
    unused = _unused_dates(Path(course), class_folder) if wanted else ()
    begin = time.process_time()
    recorded = _record(courses, class_folder, last, wanted) if last else None
    costs = {**run.costs, Stage.GRADEBOOK: time.process_time() - begin} if run.costs else {}
    run = replace(run, found=_without(run.found, stopped))
    waiting = _waiting(class_folder, last) if wanted else ()
    return GradeReport(
        run, options.results, last, recorded, lateness, stopped, costs, unused, waiting
    )


def _waiting(class_folder: Path, results: Sequence[SubmissionResult]) -> tuple[Key, ...]:
    """Returns the submissions with a reason to look that no person has dealt with.

    A person deals with it by points or a comment, by agreeing with the automatic points, or by
    withdrawing the submission. A grading that failed is repeated by the next run.
    """
    found = [result for result in results if waits_for_a_person(result, ())]
    if not found:
        return ()
    from ..nbgrader import human_work

    withdrawn = read_withdrawals(class_folder)
    done: dict[Key, list[Sequence[str]]] = {}
    for student, assignment, *place in human_work(class_folder).grades:
        done.setdefault((student, assignment), []).append(place)
    for mark in read_marks(class_folder):
        if mark.points:
            place = mark.question.split("/")
            done.setdefault((mark.student, mark.assignment), []).append(place)
    waiting = (r for r in found if waits_for_a_person(r, done.get(r.key, ())))
    return tuple(r.key for r in waiting if r.key not in withdrawn)


def _unused_dates(course_folder: Path, class_folder: Path) -> tuple[str, ...]:
    if not (class_folder / DUE_FILE).exists():
        return ()
    course = class_course(course_folder, class_folder)
    return unused_dates(class_folder, course, read_roster(class_folder))


def _run_what_can_be(
    courses: Courses,
    submitted: Path,
    options: RunOptions,
    scheduler: str | None,
    events: RunEvents | None,
) -> tuple[Courses, RunReport]:
    """Grades all assignments except those whose content is wrong.

    Raises `ContentError` if the wrong one is the only one, or the one that was asked for.
    """
    while True:
        backend = _cluster(courses, scheduler, options) if scheduler else None
        engines, found = _engines(courses, submitted), courses.found
        try:
            run = grade_class(
                engines, options, events or SilentEvents(), backend=backend, found=found
            )
        except ContentError as error:
            name = _assignment_of(error, courses)
            left = tuple(s for s in found.submissions if s.assignment != name)
            if courses.own is None or name in ("", options.assignment) or not left:
                raise
            own = courses.own.without(name, error)
            courses = replace(courses, own=own, found=replace(found, submissions=left))
        else:
            return courses, run


def _assignment_of(error: ContentError, courses: Courses) -> str:
    """Returns the assignment of the wrong file; empty if no submitted assignment contains it."""
    names = {submission.assignment for submission in courses.found.submissions}
    return next((name for name in sorted(names) if name in error.path.parts), "")


def _stopped(courses: Courses, submitted: Path, assignment: str | None) -> dict[str, str]:
    """Returns the assignments that have submissions and could not be graded, and the reasons."""
    broken = courses.own.broken if courses.own else {}
    found = find_submissions(submitted, sorted(broken), assignment).submissions if broken else ()
    return {name: str(broken[name]) for name in dict.fromkeys(s.assignment for s in found)}


def _without(found: FoundSubmissions, stopped: Collection[str]) -> FoundSubmissions:
    """Removes the skipped submissions of assignments that are reported as a whole."""
    skipped = tuple(item for item in found.skipped if item.path.name not in stopped)
    return replace(found, skipped=skipped)


def _engines(courses: Courses, submitted: Path) -> list[Engine]:
    """Returns an engine for each kind of assignment that was submitted."""
    engines: list[Engine] = []
    if courses.notebooks:
        from ..nbgrader.notebooks.notebook_engine import NotebookEngine

        engines.append(NotebookEngine(courses.notebooks, submitted))
    if courses.own:
        engines.append(SuiteEngine(courses.own))
    return engines


def _cluster(courses: Courses, scheduler: str, options: RunOptions) -> Backend:
    if courses.own is None or courses.notebooks or options.question:
        raise UserError(
            "a cluster grades assignments with hidden suites, whole: leave out --question, and "
            "grade notebooks with nbgrader's own tests without --scheduler"
        )
    try:
        from ..grading.cluster.cluster_run import Cluster
    except ModuleNotFoundError as error:
        raise UserError(f"--scheduler needs {error.name}: {install_with('cluster')}") from error
    secret = options.secret or options.results.with_name(FILE_NAME)
    return Cluster(courses.own, scheduler, secret, options.tier)


def _last_results(run: RunReport, path: Path) -> LastResults:
    """Returns the last result of each submission of this run, graded now or before."""
    return LastResults(path, {(s.student, s.assignment) for s in run.found.submissions})


def _best(
    courses: Courses, class_folder: Path, options: RunOptions, run: RunReport
) -> tuple[str, ...]:
    """Lets the best submission of each student count, if that is the rule of the class.

    A shard, or results in a different file, do not know all submissions.
    """
    of_class = (class_folder / RESULTS_FILE).resolve() == options.results.resolve()
    is_whole = of_class and options.shard == (1, 1)
    own = courses.own
    if own is None or not is_whole or read_rules(class_folder).counts is not CountingRule.BEST:
        return ()
    from .best import let_best_count

    again = replace(options, resume=False, question=None, assignment=None)
    keys = [(submission.student, submission.assignment) for submission in run.found.submissions]

    def grade_more(found: FoundSubmissions) -> None:
        grade_class([SuiteEngine(own)], again, SilentEvents(), found=found)

    return let_best_count(class_folder, own, options.results, keys, grade_more)


def _late_days(courses: Courses, class_folder: Path) -> tuple[str, ...]:
    """Counts the late days of all submissions of the class, if it has a budget of them."""
    budget = read_rules(class_folder).late_days
    own = [a for a in courses.own.assignments if a.duedate] if courses.own else []
    if not budget or not own:
        return ()
    from ..nbgrader import class_lateness

    names = [assignment.name for assignment in own]
    found = find_submissions(class_folder / SUBMITTED, names).submissions
    arrived = class_lateness(class_folder, [(s.student, s.assignment) for s in found], own)
    ends = {
        key: (one.submitted, one.due - timedelta(days=one.late_days) if one.due else None)
        for key, one in arrived.items()
    }
    return count_late_days(class_folder, budget, ends)


def _lateness(
    courses: Courses, class_folder: Path, results: Sequence[SubmissionResult]
) -> tuple[str, ...]:
    own = [a for a in courses.own.assignments if a.duedate] if courses.own else []
    names = {assignment.name for assignment in own}
    keys = [r.key for r in results if r.assignment in names] if own else []
    if not keys:
        return ()
    from ..nbgrader import class_lateness

    return lateness_lines(own, class_lateness(class_folder, keys, own))


def _record(
    courses: Courses, class_folder: Path, results: LastResults, gradebook: bool
) -> RecordedGrades | None:
    """Fills the gradebook; a run over notebooks with nbgrader's own tests has already done so."""
    others = results.where(lambda result: not courses.owns(result.assignment))
    notes = [f"{r.student}/{r.assignment}: {note}" for r in others for note in r.notes]
    if courses.own is None or not gradebook:
        return RecordedGrades(None, len(others), tuple(notes)) if courses.notebooks else None
    step = CachedStep.of(
        class_folder,
        courses.own.root,
        "record",
        sorted(result for result in results.keys),
        without=[GRADEBOOK_FILE, ALLOWED_FILE],
    )
    # in a mixed class, or with the gradebook elsewhere, it is always written
    if not courses.notebooks and (class_folder / GRADEBOOK_FILE).is_file():
        known = step.known()
        if known is not None:
            return RecordedGrades(**(known | {"notes": tuple(known["notes"])}))
    from ..nbgrader import record

    own = results.where(lambda result: courses.owns(result.assignment))
    summary = record(courses.own, class_folder, own)
    recorded = RecordedGrades(
        summary.db_url,
        summary.submissions + len(others),
        (*(": ".join(filter(None, (n.student, n.text))) for n in summary.notes), *notes),
        summary.unrecorded,
    )
    step.keep([], asdict(recorded))
    return recorded


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

    `answer` is called with each `SubmissionResult`, in order of completion, and with a
    `RefusedLine` for a line that names no submission. A line may also be JSON: {"path": ...,
    "attempt": 2}. With `results`, the lines are appended to that file and attempts are counted;
    without it, all are first attempts. `secret` is the class's file (default: secret.key next to
    the results, or in this folder).

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
