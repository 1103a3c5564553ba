"""Updates lateness and the gradebook after a run, and reports the outcome of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..classroom import (
    ALLOWED_FILE,
    read_roster,
    unused_dates,
)
from ..grading.run import RunReport
from ..grading.sources import RunOptions
from ..grading.watch import Costs, Stage
from ..records import Assignment, Key, SubmissionResult
from ..results.last import LastResults
from ..results.review import Reviewed
from ..submission.class_files import GRADEBOOK_FILE
from .cached_steps import CachedStep
from .courses import Courses
from .reviews import places_to_review, reviewed_questions


@dataclass(frozen=True, slots=True)
class RecordedGrades:
    """The grades recorded after a run. `db_url` is None if the run itself filled the gradebook.

    `unrecorded` is the number of results that can't be recorded until a person solves a problem.
    """

    db_url: str | None
    submissions: int
    notes: tuple[str, ...]
    unrecorded: int = 0


@dataclass(frozen=True, slots=True)
class GradeReport:
    """The outcome of a run, and the last result of each submission in the run.

    `results` are read from the file when they are accessed. `lateness` contains sentences about due
    dates, late students, and students whose earlier submission counts. `stopped` maps each
    assignment that could not be graded to the reason; the others were graded. `unused_dates`
    contains sentences about dates in `due.csv` for assignments or sections that do not exist.
    `costs` maps the stages of grading to CPU seconds; it is empty if nothing was graded on this
    machine. `waiting` lists submissions that a person should review and that nobody has reviewed
    yet, and `reviewed` contains the questions that people have reviewed; both are empty if this run
    did not write the gradebook.
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
    reviewed: Reviewed = field(default_factory=dict)


def class_outcome(
    courses: Courses,
    run: RunReport,
    options: RunOptions,
    best: Sequence[str],
    *,
    gradebook: bool,
    on_lateness: Callable[[Sequence[str]], None],
) -> GradeReport:
    """Updates lateness and the gradebook, if `gradebook` is true; returns a report on the run.

    `best` contains the sentences that `let_best_count` returned. `on_lateness` is called before
    penalties are applied.
    """
    from ..nbgrader import human_work

    own, folder = courses.own, courses.class_folder
    results = LastResults(options.results, run.keys)
    dated = [one for one in own.assignments if one.duedate] if own and gradebook else []
    is_counted = own is not None and gradebook  # without due dates, late days are given back
    lateness = (*best, *(_lateness(folder, dated, results.keys) if is_counted else ()))
    on_lateness(lateness)
    begin = time.process_time()
    recorded = _record(courses, results, gradebook=gradebook) if results else None
    seconds = time.process_time() - begin
    return GradeReport(
        run,
        options.results,
        results,
        recorded,
        lateness,
        {name: str(why) for name, why in {**courses.stopped, **run.stopped}.items()},
        {**run.costs, Stage.GRADEBOOK: seconds} if run.costs else {},
        unused_dates(folder, courses.course, read_roster(folder)) if gradebook else (),
        tuple(places_to_review(folder, results)) if gradebook else (),
        reviewed_questions(folder, human_work(folder)) if gradebook else {},
    )


def _lateness(
    class_folder: Path, dated: Sequence[Assignment], keys: Sequence[Key]
) -> tuple[str, ...]:
    from ..nbgrader import lateness_report, take_late_days

    days = take_late_days(class_folder, dated)
    return (*days, *lateness_report(class_folder, dated, keys))


def _record(courses: Courses, results: LastResults, *, gradebook: bool) -> RecordedGrades | None:
    """Fills the gradebook, except for nbgrader's own assignments, which the run itself recorded."""
    class_folder = courses.class_folder
    names = {assignment.name for assignment in courses.own.assignments} if courses.own else set()
    others = results.of(lambda key: key[1] not in names)
    notes = [f"{r.student}/{r.assignment}: {note}" for r in others for note in r.notes]
    if courses.own is None or not gradebook:
        return RecordedGrades(None, len(others), tuple(notes)) if courses.notebooks else None
    step = CachedStep.of(
        class_folder,
        courses.own.root,
        "record",
        sorted(results.keys),
        without=[GRADEBOOK_FILE, ALLOWED_FILE],
    )
    # skip this only if the gradebook is in the class folder and contains no other assignments
    if not courses.notebooks and (class_folder / GRADEBOOK_FILE).is_file():
        known = step.known()
        if known is not None:
            return RecordedGrades(**(known | {"notes": tuple(known["notes"])}))
    from ..nbgrader import record

    summary = record(courses.own, class_folder, results.of(lambda key: key[1] in names))
    recorded = RecordedGrades(
        summary.db_url,
        summary.submissions + len(others),
        (*(": ".join(filter(None, (n.student, n.text))) for n in summary.notes), *notes),
        summary.unrecorded,
    )
    step.keep([], asdict(recorded))
    return recorded
