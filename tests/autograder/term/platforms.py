"""Writes downloads of submissions and tables of people as the platforms do.

File names are made by the platforms' own rules: see `collecting/test_round_trip.py`.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .people import TEAM, TEAM_NAME, TEAM_WEEK, Student

#: the headings of Canvas's and Moodle's tables
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE_COLUMNS = (
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"),
    *("Grade can be changed", "Last modified (submission)", "Last modified (grade)"),
    "Feedback comments",
)


@dataclass(frozen=True)
class Upload:
    """Files that a student uploads to a platform at a UTC time; `attempt` counts from 1."""

    student: Student
    files: Mapping[str, str]
    at: datetime
    attempt: int = 1
    is_marked_late: bool = False


def canvas_archive(path: Path, uploads: Iterable[Upload]) -> Path:
    """Writes a Canvas download: a zip without folders, in which repeated names get a number."""
    return _zip(path, (file for upload in uploads for file in _canvas_files(upload)))


def _canvas_files(upload: Upload) -> Iterator[tuple[str, str]]:
    who = re.sub(r"\W", "", upload.student.last_first.lower())
    late = "LATE_" if upload.is_marked_late else ""
    for place, (name, text) in enumerate(upload.files.items()):
        stem, dot, ending = name.rpartition(".")
        again = f"-{upload.attempt - 1}" if upload.attempt > 1 else ""
        attachment = 900_000 * upload.attempt + 50 * upload.student.n + place
        numbers = f"{upload.student.canvas}_{attachment}"
        yield f"{who}_{late}{numbers}_{stem}{again}{dot}{ending}", text


#: the team's number in Moodle, which is also the number of a student in this assignment
_TEAM_NUMBER = Student(8).participant(TEAM_WEEK)


def moodle_archive(path: Path, week: int, uploads: Iterable[Upload]) -> Path:
    """Writes a download from Moodle (4.1 and later), in which a team shares one folder."""
    files = dict(file for upload in uploads for file in _moodle_files(week, upload))
    return _zip(path, files.items())


def _moodle_files(week: int, upload: Upload) -> Iterator[tuple[str, str]]:
    who = re.sub(r"""[&<>"`|':\\/]""", "", upload.student.name.replace("_", " "))
    group = f"{upload.student.team}-" if week == 5 else ""  # Moodle's group mode
    folder = f"{group}{who}_{upload.student.participant(week)}_assignsubmission_file"
    if week == TEAM_WEEK and upload.student.n in TEAM:
        folder = f"{TEAM_NAME}_{_TEAM_NUMBER}_assignsubmission_file"
    for name, text in upload.files.items():
        yield f"{folder}/{name}", text


def moodle_worksheet(
    path: Path, week: int, students: Iterable[Student], uploads: Iterable[Upload], maximum: float
) -> Path:
    """Writes an assignment's grading worksheet in English, in which times have no time zone."""
    times = {upload.student: upload.at for upload in uploads}
    rows = [MOODLE_COLUMNS]
    for student in students:
        at = times.get(student)
        status = "Submitted for grading" if at else "No submission"
        when = f"{at:%A}, {at.day} {at:%B %Y, %I:%M %p}" if at else "-"
        cells = (f"Participant {student.participant(week)}", student.name, student.email, status)
        rows.append((*cells, "", f"{maximum:.2f}", "Yes", when, "-", ""))
    return _table(path, rows)


def gradescope_export(path: Path, uploads: Iterable[Upload]) -> Path:
    """Writes *Export submissions*: a folder for each submission, and a table of their owners."""
    entries: list[tuple[str, str]] = []
    submitters = {}
    for number, upload in enumerate(uploads, start=31_000):
        student, folder = upload.student, f"submission_{number}"
        submitter = {":name": student.name, ":sid": str(student.n), ":email": student.email}
        at = f"{upload.at:%Y-%m-%d %H:%M:%S}.123456000 Z"
        submitters[folder] = {":submitters": [submitter], ":created_at": at, ":score": 0.0}
        entries += [(f"assignment_4711_export/{folder}/{n}", t) for n, t in upload.files.items()]
    table = (
        "assignment_4711_export/submission_metadata.yml",
        json.dumps(submitters, ensure_ascii=False),
    )
    return _zip(path, [*entries, table])


def clones(folder: Path, assignment: str, uploads: Iterable[Upload]) -> Path:
    """Makes a folder with a clone of each student's repository, as `gh classroom clone` does."""
    for upload in uploads:
        place = folder / f"{assignment.replace('_', '-')}-{upload.student.github}"
        place.mkdir(parents=True)
        for name, text in upload.files.items():
            (place / name).write_text(text)
        date = f"{upload.at:%Y-%m-%dT%H:%M:%S+00:00}"
        environment = {
            **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
        }  # fmt: skip
        who = ("-c", "user.name=a", "-c", "user.email=a@u.example")
        for words in (("init",), ("add", "."), (*who, "commit", "--message", "work")):
            subprocess.run(
                ["git", *words], cwd=place, env=environment, check=True, capture_output=True
            )
    return folder


def classroom_roster(path: Path, students: Iterable[Student]) -> Path:
    """Writes GitHub Classroom's roster, whose identifiers are email addresses."""
    rows = [("identifier", "github_username", "github_id", "name")]
    return _table(path, [*rows, *((s.email, s.github, str(s.n), s.name) for s in students)])


def canvas_gradebook(path: Path, students: Iterable[Student], columns: Mapping[str, float]) -> Path:
    """Writes a gradebook as Canvas exports it, with a row of maximum points above the people."""
    rows = [
        (*CANVAS_COLUMNS, *columns),
        ("    Points Possible", *[""] * 4, *map(str, columns.values())),
    ]
    for s in students:
        rows.append((s.last_first, str(s.canvas), "", s.login, s.section, *[""] * len(columns)))
    return _table(path, rows)


def people_table(path: Path, students: Iterable[Student], extra: Mapping[int, str]) -> Path:
    """Writes an instructor's own table of people, with extra time."""
    rows = [("student", "name", "email", "section", "number", "extra_time", "group")]
    for s in students:
        more = (s.section, str(s.canvas), extra.get(s.n, ""), s.group)
        rows.append((s.login, s.last_first, s.email, *more))
    return _table(path, rows)


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _table(path: Path, rows: Iterable[Iterable[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def _zip(path: Path, files: Iterable[tuple[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files:
            archive.writestr(name, text)
    return path
