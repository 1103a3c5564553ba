"""What becomes of a class's results: gradebook, feedback, report, exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..records import SubmissionResult
from ..results.file import read_results
from ..results.manual import with_human_work
from ..results.review import latest
from .courses import HERE, course_of_class

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..exports import Exported
    from ..feedback import Report
    from ..nbgrader import RecordSummary


def class_results(class_folder: Path | str) -> list[SubmissionResult]:
    """Every line of a class's results file; the folder may be the file itself.

    Raises `UserError` where there is none, or where it is damaged.
    """
    folder = Path(class_folder)
    path = folder / "results.jsonl" if folder.is_dir() else folder
    if not path.is_file():
        raise UserError(f"{path} is not there: grade first (autograder grade {folder}/submitted)")
    return read_results(path)


def final_results(
    class_folder: Path | str, assignment: str | None = None, student: str | None = None
) -> list[SubmissionResult]:
    """The results that count, with what humans changed in the gradebook.

        for result in autograder.final_results("course", assignment="causal_attention"):
            print(result.student, result.score)

    Raises `UserError` where there are none of the wanted assignment or student.
    """
    from ..nbgrader import human_work

    work = human_work(Path(class_folder))
    results = list(with_human_work(latest(class_results(class_folder)), work))
    return _chosen(results, assignment, student)


def record(
    class_folder: Path | str, *, course: Path | str = HERE, db_url: str | None = None
) -> RecordSummary:
    """Writes, or builds anew, nbgrader's gradebook and autograded/ from the results.

        autograder.record("course")

    Raises `UserError` for a database or a release that can't be used.
    """
    from .. import nbgrader

    folder = Path(class_folder)
    results = class_results(folder)
    of_class = course_of_class(Path(course), folder)
    return nbgrader.record(of_class, folder, results, db_url=db_url)


def write_feedback(class_folder: Path | str, *, course: Path | str = HERE) -> list[Path]:
    """Writes a page of feedback for every student and assignment; returns the pages.

    pages = autograder.write_feedback("course")
    """
    from ..feedback import write_feedback as write_pages
    from ..nbgrader import human_work

    folder = Path(class_folder)
    of_class = course_of_class(Path(course), folder)
    return list(write_pages(of_class, folder, class_results(folder), human_work(folder)))


def report(class_folder: Path | str) -> Report:
    """What a class can do, by question, and who needs a look.

    print([q.question for q in autograder.report("course").questions])
    """
    from ..feedback import class_report

    return class_report(final_results(class_folder))


def write_report(class_folder: Path | str, path: Path | None = None) -> Path:
    """Writes the report as a page, by default report.html in the class folder."""
    from ..feedback import write_report as write_page

    return write_page(report(class_folder), path or Path(class_folder) / "report.html")


def export(
    format_name: str,
    class_folder: Path | str,
    *,
    to: Path | str | None = None,
    assignment: str | None = None,
    student: str | None = None,
    roster: Path | str | None = None,
) -> Exported:
    """Writes grades in a format of `export_formats()`, by default into the class folder.

    `roster` is the file in which Canvas or Moodle gives its own ids of the students.

        autograder.export("csv", "course", to="grades.csv")

    Raises `UserError` for an unknown format, or where there is nothing to export.
    """
    from .. import exports

    folder = Path(class_folder)
    home = folder if folder.is_dir() else folder.parent
    target = Path(to) if to else home / exports.default_name(format_name)
    results = final_results(folder, assignment, student)
    return exports.export(format_name, results, target, Path(roster) if roster else None)


def export_formats() -> tuple[str, ...]:
    """The formats that `export` writes."""
    from .. import exports

    return exports.export_formats()


def _chosen(
    results: list[SubmissionResult], assignment: str | None, student: str | None
) -> list[SubmissionResult]:
    found = [
        result
        for result in results
        if assignment in (None, result.assignment) and student in (None, result.student)
    ]
    if results and not found:
        wanted = " of ".join(repr(name) for name in (assignment, student) if name is not None)
        assignments = ", ".join(sorted({result.assignment for result in results}))
        raise UserError(f"there is no result of {wanted}; assignments with results: {assignments}")
    return found
