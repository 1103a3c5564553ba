"""The gradebook has the same content in SQLite and PostgreSQL, even with several writers."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import shlex
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from autograder.cli import cli
from autograder.course import Course
from autograder.errors import UserError
from autograder.nbgrader import human_work, prepare_class_folder, record
from autograder.records import SubmissionResult, Tier
from autograder.results.file import read_results
from autograder.sandbox.doctor import examine

from ..commands import run_command

ROOT = Path(__file__).resolve().parents[4]
MANY = 100
_FORK = multiprocessing.get_context("fork")


def scores(db_url: str) -> dict[str, float]:
    with Gradebook(db_url) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions("masks")}


def content(db_url: str) -> list[dict[str, Any]]:
    """Returns nbgrader's data on each grade and comment, without database ids."""
    with Gradebook(db_url) as gradebook:
        return [
            {
                "student": submission.student.id,
                "at": submission.timestamp,
                "late": notebook.late_submission_penalty,
                "grades": [
                    (g.name, g.auto_score, g.manual_score, g.max_score, g.needs_manual_grade)
                    for g in sorted(notebook.grades, key=lambda g: g.name)
                ],
                "comments": sorted((c.name, c.auto_comment or "") for c in notebook.comments),
            }
            for submission in sorted(
                gradebook.assignment_submissions("masks"), key=lambda s: s.student.id
            )
            for notebook in sorted(submission.notebooks, key=lambda n: n.name)
        ]


def use(course: Course, class_folder: Path, db_url: str) -> None:
    """Writes the database's address into the configuration, as an instructor does."""
    path = prepare_class_folder(course, class_folder)
    path.write_text(f"{path.read_text()}c.CourseDirectory.db_url = {db_url!r}\n")


def write_results(class_folder: Path, results: list[SubmissionResult]) -> None:
    lines = [json.dumps(result.to_json()) for result in results]
    (class_folder / "results.jsonl").write_text("\n".join(lines) + "\n")


def grade_by_hand(db_url: str, student: str, score: float) -> None:
    with Gradebook(db_url) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", student)
        grade.manual_score = score
        gradebook.db.commit()


def test_sqlite_and_postgresql_hold_the_same_data(
    make_course: Callable[..., Course],
    make_result: Callable[..., SubmissionResult],
    postgresql: Callable[[], str],
    tmp_path: Path,
) -> None:
    course = make_course(tmp_path / "late", duedate="2026-05-01 11:00:00 UTC")
    class_folder = course.root / "course"
    settings = prepare_class_folder(course, class_folder)
    settings.write_text(settings.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    for student, hour in (("ada", 10), ("学生 ü", 12)):
        folder = class_folder / "submitted" / student / "masks"
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text(f"2026-05-01 {hour}:00:00.123456 UTC")
    results = [make_result("ada"), make_result("学生 ü"), make_result("ben", (0.0, 0.5, 2.0))]
    databases = (f"sqlite:///{class_folder / 'gradebook.db'}", postgresql())
    for db_url in databases:
        record(course, class_folder, results, db_url=db_url)
    one, other = map(content, databases)
    assert one == other
    assert [row["late"] for row in one] == [None, None, None, None, 2.0, 2.0]


def test_a_gradebook_with_a_name_that_is_markup_is_refused(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], db_url: str
) -> None:
    name = "<img src=x onerror='alert(1)'>"
    record(course, class_folder, [make_result("ada")], db_url=db_url)
    with Gradebook(db_url) as gradebook:
        gradebook.add_student(name)
    with pytest.raises(UserError, match="execute it") as refused:
        record(course, class_folder, [make_result("ada")], db_url=db_url)
    command = shlex.split(str(refused.value).split("`")[1])
    assert command == ["nbgrader", "db", "student", "remove", "--force", name]
    with Gradebook(db_url) as gradebook:  # has the same effect as the command
        gradebook.remove_student(name)
    record(course, class_folder, [make_result("ada")], db_url=db_url)


def test_human_grades_survive_a_second_record_and_a_changed_release(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
    db_url: str,
) -> None:
    record(course, class_folder, [make_result("ada"), make_result("ben")], db_url=db_url)
    grade_by_hand(db_url, "ada", 1.5)
    notebook = make_released("dropout", points=5.0)
    notebook.cells = notebook.cells[:2]  # without the question's cells
    nbformat.write(notebook, course.root / "assignments" / "masks" / "dropout.ipynb")
    results = [make_result("ada", (0.0, 2.0, 0.0)), make_result("ben", (2.0, 2.0, 0.0))]
    record(course, class_folder, results, db_url=db_url)
    assert scores(db_url) == {"ada": 3.5, "ben": 4.0}
    assert human_work(class_folder, db_url).grades.keys() == {
        ("ada", "masks", "masking", "causal_mask")
    }


def test_every_command_works_on_the_classs_database(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    db_url: str,
    tmp_path: Path,
) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, [*arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    use(course, class_folder, db_url)
    write_results(class_folder, [make_result("ada", (0.0, 0.0, 2.0)), make_result("ben")])
    folder, at = str(class_folder), ("--course", str(course.root))
    assert "2 submissions recorded" in run("record", folder, *at)
    grade_by_hand(db_url, "ada", 1.5)
    run("feedback", folder, *at)
    page = class_folder / "feedback" / "ada" / "masks" / "masking.html"
    pages = "".join(path.read_text() for path in page.parent.glob("*.html"))
    assert "1.5" in pages
    run("report", folder)
    assert "ada" in (class_folder / "report.html").read_text()
    roster = tmp_path / "gradebook.csv"
    roster.write_text('Student,ID,SIS Login ID,Section\n"L, Ada",7,ada,one\n"B, Ben",8,ben,one\n')
    run("export", "canvas", folder, "--roster", str(roster))
    rows = list(csv.DictReader((class_folder / "grades.canvas.csv").open()))
    assert {row["ID"]: row["Masks"] for row in rows if row["ID"]} == {"7": "3.5", "8": "4"}
    run("export", "csv", folder)
    totals = csv.DictReader((class_folder / "grades.csv").open())
    assert {row["student"]: row["masks/total"] for row in totals} == {"ada": "3.5", "ben": "4.0"}


def test_a_grading_run_writes_into_the_classs_database(
    postgresql: Callable[[], str], tmp_path: Path
) -> None:
    if not any(examine(tier).works for tier in (Tier.A, Tier.B, Tier.C)):
        pytest.skip("no submission is graded on this machine: see autograder doctor")
    db_url, class_folder = postgresql(), tmp_path / "class"
    shutil.copytree(ROOT / "examples" / "submitted" / "emeka" / "simplified_attention",
                    class_folder / "submitted" / "emeka" / "simplified_attention")  # fmt: skip
    (class_folder / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.db_url = {db_url!r}\n"
    )
    command = ["autograder", "grade", "submitted", "--course", ROOT, "--json"]
    done = run_command(command, class_folder, os.environ)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)["submissions"]
    with Gradebook(db_url) as gradebook:
        submission = gradebook.find_submission("simplified_attention", "emeka")
        assert (submission.score, submission.max_score) == (line["score"], line["max_score"])
        assert 0 < submission.score < submission.max_score
    assert not (class_folder / "gradebook.db").exists()


def test_nbgraders_own_commands_read_postgresql(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    postgresql: Callable[[], str],
    tmp_path: Path,
) -> None:
    db_url = postgresql()
    use(course, class_folder, db_url)
    record(course, class_folder, [make_result("ada", (1.0, 2.0, 2.0))])
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path)}
    command = ["nbgrader", "export", "--to", "grades.csv"]
    run_command(command, class_folder, environment).check_returncode()
    (row,) = csv.DictReader((class_folder / "grades.csv").open())
    assert (row["student_id"], float(row["score"])) == ("ada", 5.0)


class Writers:
    """Runs two processes that record the same class at the same time, one in reverse order."""

    def __init__(self, *arguments: object) -> None:
        self._lines, self._processes = [], []
        for step in (1, -1):
            ours, theirs = _FORK.Pipe()
            process = _FORK.Process(target=_write, args=(theirs, step, *arguments))
            process.start()
            self._lines.append(ours)
            self._processes.append(process)

    def begin(self) -> None:
        for line in self._lines:
            line.send("begin")

    def wait(self) -> None:
        for line in self._lines:
            assert line.recv() == "done"

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()


def _write(line: Connection, step: int, course: Course, class_folder: Path, db_url: str) -> None:
    """Records the class each time a message arrives."""
    while line.recv():
        results = read_results(class_folder / "results.jsonl")
        record(course, class_folder, results[::step], db_url=db_url)
        line.send("done")


def test_two_writers_and_a_human_grader_lose_nothing(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], db_url: str
) -> None:
    everybody = [f"s{number:03d}" for number in range(MANY)]
    write_results(class_folder, [make_result(student, (0.0, 0.0, 0.0)) for student in everybody])
    writers = Writers(course, class_folder, db_url)
    try:
        writers.begin()  # neither writer finds a gradebook
        writers.wait()
        rows = content(db_url)
        assert {row["student"] for row in rows} == set(everybody)
        assert [len(row["grades"]) for row in rows] == [1, 2] * MANY
        assert [len(row["comments"]) for row in rows] == [1, 2] * MANY
        write_results(class_folder, [make_result(student) for student in everybody])
        writers.begin()
        by_hand = everybody[:: MANY // 20]
        # formgrader waits for 5 s, which may be too short on a busy machine
        patient = f"{db_url}?timeout=60" if db_url.startswith("sqlite") else db_url
        for student in by_hand:
            grade_by_hand(patient, student, 0.25)
        writers.wait()
    finally:
        writers.end()
    assert scores(db_url) == {s: 2.25 if s in by_hand else 4.0 for s in everybody}


def test_a_password_is_shown_nowhere(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    postgresql: Callable[[], str],
) -> None:
    # this server accepts any password
    db_url = postgresql().replace("postgres@", "postgres:secret@")
    summary = record(course, class_folder, [make_result()], db_url=db_url)
    assert "secret" not in summary.db_url
    assert summary.db_url.startswith("postgresql+psycopg://postgres:***@")


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        (lambda url: url.replace("/gradebook", "/nonsense"), "createdb NAME"),
        (lambda url: url.replace("postgres@", "nobody_here:pw@"), "createuser NAME"),
        (lambda url: f"{url}-not-there", "start the server"),
        (lambda url: url.replace("psycopg", "pg8000"), r"pip install .*\[postgresql\]"),
    ],
    ids=["database", "user", "server", "driver"],
)
def test_an_address_that_is_wrong_says_what_to_do(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult],
    postgresql: Callable[[], str],
    wrong: Callable[[str], str], remedy: str,
) -> None:  # fmt: skip
    with pytest.raises(UserError, match=remedy) as raised:
        record(course, class_folder, [make_result()], db_url=wrong(postgresql()))
    assert "pw@" not in str(raised.value)
