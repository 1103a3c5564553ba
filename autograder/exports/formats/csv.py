"""Writes a CSV table for a spreadsheet, with a row per student and a column per question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from ...classroom import Lateness, utc_text
from ...escaping import Value
from ...records import Key, SubmissionResult, SubmissionStatus
from ...results.last import keys_of
from ...results.review import reasons_to_look
from ..class_grades import Grades
from ..export_tables import Exported, write_csv

DEFAULT = "grades.csv"


def write(grades: Grades, path: Path) -> Exported:
    """Writes the table; the cell for a question that was not graded is empty."""
    return Exported(write_csv(table_of(grades), path))


def table_of(grades: Grades) -> Iterable[list[Value]]:
    """Yields the rows of the table, beginning with the headings."""
    columns, names, maxima = _columns(grades), grades.assignments, grades.maxima
    of_people = ("name", "email", "section") if grades.people else ()
    yield ["student", *of_people, *columns, "points", "maximum", "needs_review"]
    several = _in_several_folders(grades)
    kept: dict[str, tuple[dict[str, Value], list[str]]] = {}

    def row(student: str, values: Mapping[str, Value], reasons: Iterable[str]) -> list[Value]:
        cells = [values.get(column, "") for column in columns]
        person = _of_person(grades, student)
        return [student, *person, *cells, *_sum(values, names), "; ".join(reasons)]

    for folder, results in groupby(grades.results, lambda result: result.student):
        student = several.get(folder, folder)
        values, reasons = kept.get(student) or (_nothing(grades, maxima, student), [])
        for result in results:
            values |= _values(grades, result)
            looks = reasons_to_look(result, grades.reviewed)
            reasons += [f"{result.assignment}: {reason}" for reason in looks]
        if folder in several:
            kept[student] = values, reasons
        else:
            yield row(student, values, reasons)
    for student, (values, reasons) in kept.items():
        yield row(student, values, reasons)
    for student in grades.absent:
        yield row(student, _nothing(grades, maxima, student), ["nothing was submitted"])


def _in_several_folders(grades: Grades) -> Mapping[str, str]:
    """Maps folders to their owners, but only for people who have several folders.

    Someone whose name differs on two platforms has several folders, with different assignments.
    """
    works: dict[str, list[Key]] = {}
    for key in keys_of(grades.results):
        if person := grades.people.get(key[0]):
            works.setdefault(person.student, []).append(key)
    return {
        folder: student
        for student, keys in works.items()
        if len({folder for folder, _ in keys}) > 1 and len({name for _, name in keys}) == len(keys)
        for folder, _ in keys
    }


def _of_person(grades: Grades, student: str) -> tuple[str, ...]:
    """Returns a student's name, email address and section, or () if there is no roster."""
    if not grades.people:
        return ()
    person = grades.people.get(student)
    return (person.name, person.email, person.section) if person else ("", "", "")


def _sum(values: Mapping[str, Value], names: Iterable[str]) -> tuple[Value, Value]:
    """Returns the total points and the total maximum, or empty cells if there are no points."""
    found = [(values.get(f"{n}/total", ""), values.get(f"{n}/maximum", "")) for n in names]
    counted = [(float(total), float(most)) for total, most in found if total != "" and most]
    if not counted:
        return "", ""
    return sum(total for total, _ in counted), sum(most for _, most in counted)


def _columns(grades: Grades) -> list[str]:
    """Returns each assignment's columns: its questions, total, maximum and, if known, arrival."""
    by_assignment: dict[str, dict[str, None]] = {}
    for result in grades.results:
        columns = by_assignment.setdefault(result.assignment, {})
        columns.update(dict.fromkeys(_questions(result)))
    arrival = ["submitted", "late", "penalty"] if grades.arrivals else []
    if any(late.late_days for late in grades.arrivals.values()):
        arrival.append("late_days")
    return [
        column
        for assignment, columns in by_assignment.items()
        for column in (
            *columns,
            *(f"{assignment}/{name}" for name in ("total", "maximum", *arrival)),
        )
    ]


def _questions(result: SubmissionResult) -> dict[str, float]:
    return {
        f"{result.assignment}/{exercise.exercise}/{question.question}": question.score
        for exercise, question in result.questions()
    }


def _nothing(grades: Grades, maxima: Mapping[str, float], student: str) -> dict[str, Value]:
    """Returns a student's cells for missing submissions: zeros if requested, otherwise empty."""
    cells: dict[str, Value] = {}
    for name, most in maxima.items():
        zero = grades.missing_cell(student, name)
        cells |= {f"{name}/total": zero, f"{name}/maximum": most if zero else ""}
    return cells


def _values(grades: Grades, result: SubmissionResult) -> dict[str, Value]:
    key, name = result.key, result.assignment
    arrived = grades.arrivals.get(key, Lateness())
    cells: dict[str, Value] = {
        f"{name}/submitted": utc_text(arrived.submitted),
        f"{name}/late": arrived.text,
        f"{name}/late_days": arrived.late_days or "",
        f"{name}/total": "",
        f"{name}/maximum": "",
    }
    if result.status is SubmissionStatus.FAILED:
        return cells
    total, maximum = f"{name}/total", f"{name}/maximum"
    cells |= {**_questions(result), total: result.score, maximum: result.max_score}
    return {**cells, f"{name}/penalty": grades.human.penalties.get(key, "")}
