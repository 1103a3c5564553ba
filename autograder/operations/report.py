"""Creates the report on a class, as records and as an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import pseudonyms
from ..course import mistake_sentences
from ..records import SubmissionResult
from ..results.last import keys_of
from ..results.manual import QuestionKey
from .courses import HERE, course_if_found
from .grades import DisplayOptions, class_grades, display_name, missing_people, selected
from .reading import class_folder_at, counted_results

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..exports import Grades
    from ..feedback import ClassFacts, Report


def report(
    class_folder: Path | str, showing: DisplayOptions | None = None, *, course: Path | str = HERE
) -> Report:
    """Returns a class's report: shared mistakes, questions, points, and work to review.

    print([q.question for q in autograder.report("course").questions])
    """
    from ..feedback import class_report

    grades, background = _found(Path(class_folder), showing or DisplayOptions(), Path(course))
    return class_report(grades.results, background)


def write_report(
    class_folder: Path | str,
    path: Path | None = None,
    showing: DisplayOptions | None = None,
    *,
    course: Path | str = HERE,
) -> Path:
    """Writes the report as a page, by default report.html in the class folder."""
    from ..feedback import class_report, drill_down
    from ..feedback import write_report as write_page

    grades, background = _found(Path(class_folder), showing or DisplayOptions(), Path(course))
    found = class_report(grades.results, background)
    data = drill_down(grades.results, background.codes)
    return write_page(found, path or class_folder_at(class_folder) / "report.html", data)


def _found(folder: Path, showing: DisplayOptions, course: Path) -> tuple[Grades, ClassFacts]:
    from ..feedback import ClassFacts

    counted = counted_results(folder)
    grades = class_grades(folder, counted, showing)
    known = course_if_found(course, folder)
    background = ClassFacts(
        arrivals=grades.arrivals,
        missing=missing_people(folder, counted, showing),
        codes=_codes(folder, counted, showing),
        sentences=mistake_sentences(known),
        names={student: display_name(person) for student, person in grades.people.items()},
        comments=_comments(folder, counted, showing),
        titles=known.titles,
        reviewed=grades.reviewed,
    )
    return grades, background


def _codes(
    folder: Path, counted: Sequence[SubmissionResult], showing: DisplayOptions
) -> Mapping[tuple[str, str, str, str], str]:
    from ..feedback import wrong_code

    chosen = selected(folder, counted, showing.selection)
    codes = wrong_code(folder, chosen)
    if not showing.is_anonymous:
        return codes
    names = pseudonyms(student for student, _ in keys_of(chosen))
    return {(names[s], a, e, q): code for (s, a, e, q), code in codes.items()}


def _comments(
    folder: Path, counted: Sequence[SubmissionResult], showing: DisplayOptions
) -> Mapping[QuestionKey, Sequence[str]]:
    """Returns the names of the comments from the bank that graders used for each answer."""
    from ..nbgrader import human_work

    if not folder.is_dir():
        return {}
    found = {key: grade.reused for key, grade in human_work(folder).grades.items()}
    if not showing.is_anonymous:
        return found
    chosen = selected(folder, counted, showing.selection)
    names = pseudonyms(student for student, _ in keys_of(chosen))
    return {(names[key[0]], *key[1:]): texts for key, texts in found.items() if key[0] in names}
