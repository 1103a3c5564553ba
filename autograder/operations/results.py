"""Turns a class's results into a gradebook, feedback, exports and pairs of similar submissions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import Course
from ..records import DueDate, SubmissionResult
from ..results.last import keys_of
from ..submission.class_files import class_home
from .cached_steps import CachedStep
from .courses import HERE, course_if_found, course_of_class
from .reading import class_folder_at, counted_results, last_class_results

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..classroom import Selection
    from ..exports import Exported
    from ..feedback import DeliveryFormat, DeliveryReport, SimilarPair
    from ..nbgrader import RecordSummary
    from ..results.merge import MergeReport
    from .grades import DisplayOptions


def final_results(
    class_folder: Path | str,
    assignment: str | None = None,
    student: str | None = None,
    *,
    section: str | None = None,
    grader: str | None = None,
) -> list[SubmissionResult]:
    """Returns the results that count, with manual changes and without withdrawn submissions.

        for result in autograder.final_results("course", assignment="causal_attention"):
            print(result.student, result.score)

    Raises `UserError` if there are no results for the given assignment or student, or if the
    class's roster has no such section or grader.
    """
    from ..classroom import Selection
    from .grades import selected

    wanted = Selection(assignment, student, section, grader)
    folder = class_home(class_folder)
    return list(selected(folder, counted_results(folder), wanted))


def record(
    class_folder: Path | str, *, course: Path | str = HERE, db_url: str | None = None
) -> RecordSummary:
    """Writes, or rebuilds, nbgrader's gradebook and autograded/ from the results.

    Late days are counted again first, because the penalties depend on them.

        autograder.record("course")

    Raises `UserError` for a database or a release that can't be used.
    """
    from .. import nbgrader

    folder = class_folder_at(class_folder)
    results = last_class_results(folder)
    of_class = course_of_class(Path(course), folder)
    nbgrader.take_late_days(folder, [one for one in of_class.assignments if one.duedate])
    return nbgrader.record(of_class, folder, results, db_url=db_url)


def write_feedback(
    class_folder: Path | str,
    *,
    course: Path | str = HERE,
    selection: Selection | None = None,
) -> list[Path]:
    """Writes a feedback page for every student and assignment; returns the paths of the pages.

    pages = autograder.write_feedback("course")
    """
    from ..classroom import Selection

    folder, chosen = class_folder_at(class_folder), selection or Selection()
    of_class = course_of_class(Path(course), folder)
    step = CachedStep.of(folder, of_class.root, "feedback", chosen)
    if (known := step.known()) is not None:
        return [folder / name for name in known]

    from ..feedback import write_feedback as write_pages
    from ..nbgrader import class_lateness, human_work
    from .grades import selected

    results = selected(folder, last_class_results(folder), chosen)
    arrivals = class_lateness(folder, keys_of(results))
    pages = list(write_pages(of_class, folder, results, human_work(folder), arrivals))
    texts = [page.with_suffix(".txt") for page in pages]
    step.keep([*pages, *texts], [os.path.relpath(page, folder) for page in pages])
    return pages


def deliver_feedback(
    class_folder: Path | str,
    way: DeliveryFormat,
    *,
    course: Path | str = HERE,
    selection: Selection | None = None,
) -> DeliveryReport:
    """Packs feedback pages that have already been written, for a platform or for mail.

    Raises `UserError` if no pages have been written.
    """
    from ..classroom import Selection, read_origins, read_roster
    from ..feedback import Recipients, deliver
    from .grades import selected

    folder = class_folder_at(class_folder)
    results = selected(folder, counted_results(folder), selection or Selection())
    to = Recipients(read_origins(folder), read_roster(folder))
    return deliver(way, folder, results, to, course_if_found(Path(course), folder).titles)


def similar(
    class_folder: Path | str, showing: DisplayOptions | None = None, *, course: Path | str = HERE
) -> list[SimilarPair]:
    """Returns pairs of submissions that share unusual code; a person should look at each pair.

    print([(pair.left.student, pair.right.student) for pair in autograder.similar("course")])
    """
    from ..classroom import pseudonyms
    from ..feedback import similar_pairs
    from .grades import DisplayOptions, selected

    folder, wanted = class_home(class_folder), showing or DisplayOptions()
    results = selected(folder, last_class_results(folder), wanted.selection)
    pairs = similar_pairs(course_of_class(Path(course), folder), folder, results)
    if not wanted.is_anonymous:
        return pairs
    names = pseudonyms(student for student, _ in keys_of(results))
    return [
        replace(
            pair,
            left=replace(pair.left, student=names[pair.left.student]),
            right=replace(pair.right, student=names[pair.right.student]),
        )
        for pair in pairs
    ]


def export(
    format_name: str,
    class_folder: Path | str,
    *,
    to: Path | str | None = None,
    showing: DisplayOptions | None = None,
    roster: Path | str | None = None,
    course: Path | str = HERE,
) -> Exported:
    """Writes grades in one of the `export_formats()`, by default into the class folder.

    `course` provides titles and due dates, in addition to the class's own due dates. `showing` says
    whose grades to write, and what to write for missing submissions. `roster` is a file with the
    students' Canvas or Moodle IDs.

        autograder.export("csv", "course", to="grades.csv")

    Raises `UserError` for an unknown format, or if there is nothing to export.
    """
    from .. import exports
    from .changes import unseen_note
    from .grades import class_grades, not_due_note

    folder = Path(class_folder)
    home = folder if folder.is_dir() else folder.parent
    target = Path(to) if to else home / exports.default_name(format_name)
    known = course_if_found(Path(course), folder)
    grades = class_grades(folder, counted_results(folder), showing, _dates(known))
    grades = replace(grades, titles=known.titles)
    written = exports.export(format_name, grades, target, Path(roster) if roster else None)
    notes = [note for note in (unseen_note(folder), not_due_note(grades)) if note]
    return replace(written, notes=(*notes, *written.notes))


def duedates(course: Path, folder: Path) -> dict[str, DueDate]:
    """Returns the due dates of a class's course, or an empty mapping if no course is found."""
    return _dates(course_if_found(course, folder))


def _dates(course: Course) -> dict[str, DueDate]:
    return {a.name: a.duedate for a in course.assignments if a.duedate}


def export_formats() -> tuple[str, ...]:
    """Returns the formats that `export` writes."""
    from .. import exports

    return exports.export_formats()


def merge(results: Iterable[Path | str], to: Path | str) -> MergeReport:
    """Merges results files into one, sorted by student, assignment and attempt.

        autograder.merge(["shards/1.jsonl", "shards/2.jsonl"], to="course/results.jsonl")

    Raises `UserError` if two files have different results for a submission, if a file is damaged,
    or if `to` exists and is not one of these files.
    """
    from ..results.merge import merge_results

    return merge_results([Path(path) for path in results], Path(to))
