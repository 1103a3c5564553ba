"""docs/instructors.md works as a reader types it: every command, in order, in an empty folder.

The class on that page is the example class, so this also tests the main workflow, from files to
nbgrader's export, and compares every score and verdict with `examples/expected.json`. To avoid
downloads, the test creates the virtual environment that `make` would create, but uses the packages
of the current environment.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from autograder.records import SubmissionResult
from autograder.results.file import read_results

from .forks import commands_in

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXPECTED = json.loads((ROOT / "examples" / "expected.json").read_text())
CASES = [(student, name) for student, work in EXPECTED.items() for name in work]
ASSIGNMENT = "simplified_attention"
EXAMPLE = ROOT / "examples" / "submitted"
#: the assignments in which an answer of the example class never ends
LOOPS_IN = (ASSIGNMENT, "causal_attention")

#: tables of people that the page mentions
CANVAS = "Student,ID,SIS Login ID,Section\n" + "".join(
    f'"Doe, {student.title()}",{number},{student},one\n' for number, student in enumerate(EXPECTED)
)
MOODLE = "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n" + "".join(
    f"Participant {number},{student},{student}@uni.example,,,100.00\n"
    for number, student in enumerate(EXPECTED)
)
CLASSROOM = "identifier,github_username,github_id,name\nzora,octo-zora,1,Zora\n"


def run(script: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}"
    return done.stdout


def commit(folder: Path, environment: dict[str, str]) -> None:
    identity = "-c user.name=a -c user.email=a@example.org"
    script = f"git init --quiet && git add --all && git {identity} commit --quiet --message all"
    run(script, folder, environment)


def repository(folder: Path, environment: dict[str, str]) -> Path:
    """Makes an instructor's copy of this repository's current files, and commits it."""
    everywhere = shutil.ignore_patterns(".*_cache", "__pycache__")
    at_the_top = {".git", ".venv", "build", "dist", "course", ".hypothesis"}

    def left_out(place: str, names: list[str]) -> set[str]:
        return everywhere(place, names) | (at_the_top if Path(place) == ROOT else set())

    shutil.copytree(ROOT, folder, ignore=left_out)
    # endless loops run until a question's CPU seconds are used up
    for name in LOOPS_IN:
        settings = folder / "source" / name / "assignment.toml"
        text = re.sub(r"\[limits\][^[]*", "", settings.read_text(encoding="utf-8"))
        settings.write_text(f"{text}\n[limits]\ncpu_seconds = 2.0\n", encoding="utf-8")
    commit(folder, environment)
    return folder


def downloads(folder: Path, environment: dict[str, str]) -> None:
    """Writes platforms' downloads: a zip of submissions, a clone, and three tables of people."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "submissions.zip", "w") as archive:
        for path in (EXAMPLE / "bruno" / ASSIGNMENT).iterdir():
            archive.write(path, f"youngyuri_4711_{path.stat().st_size}_{path.name}")
    clone = folder / "simplified-attention-submissions" / "simplified-attention-octo-zora"
    shutil.copytree(EXAMPLE / "ada" / ASSIGNMENT, clone)
    commit(clone, environment)
    (folder / "classroom_roster.csv").write_text(CLASSROOM)
    (folder / "gradebook.csv").write_text(CANVAS)
    (folder / "worksheet.csv").write_text(MOODLE)


def borrow_packages(course: Path, environment: dict[str, str]) -> None:
    """Makes a .venv that looks installed, with the packages of the current environment."""
    venv, packages = course / ".venv", sysconfig.get_path("purelib")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (own,) = venv.glob("lib/python*/site-packages")
    (own / "borrowed.pth").write_text(f"{course}\n{packages}\n")
    run(
        "{ cat pyproject.toml constraints.txt && pwd && .venv/bin/python -V; } | cksum"
        " > .venv/.ready-instructor",
        course, environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, fork_server: object) -> Path:
    """Returns the instructor's folder after all commands on the page have been run."""
    place = tmp_path_factory.mktemp("instructor")
    environment = {
        "HOME": str(place / "home"), "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull,
        "REPOSITORY": str(place / "repository"),
        # known mistakes' answers depend only on the suites, so the cache of this test run is used
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
    }  # fmt: skip
    repository(place / "repository", environment)
    downloads(place / "home" / "Downloads", environment)
    empty = place / "empty"
    empty.mkdir()
    first, *others = BLOCKS
    run(first, empty, environment)
    borrow_packages(empty / "attention", environment)
    # with one secret key in fifty, an almost correct answer loses one more point; this fixed key is
    # not one of them, so the scores are the same in every run
    secret = empty / "attention" / "course" / "secret.key"
    secret.parent.mkdir()
    secret.write_text(f"{1:064x}\n")
    secret.chmod(0o600)
    # exit code 3 means that something waits for a person: two people are not in Canvas's gradebook
    done = 'autograder() { command autograder "$@" || [ $? -eq 3 ]; }\n'
    programs = empty / "attention" / ".venv" / "bin"
    with commands_in(programs, str(programs / "python"), environment):
        printed = run(done + "\n".join(others), empty / "attention", environment)
    (place / "printed.txt").write_text(printed)
    return empty / "attention"


def autograder(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in the instructor's environment."""
    command = [str(course / ".venv" / "bin" / "python"), "-m", "autograder", *arguments]
    return subprocess.run(command, cwd=course, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def results(course: Path) -> dict[tuple[str, str], SubmissionResult]:
    """Returns the results of the page's class by student and assignment."""
    lines = read_results(course / "course" / "results.jsonl")
    return {(line.student, line.assignment): line for line in lines}


def total(student: str) -> float:
    questions = EXPECTED[student].get(ASSIGNMENT, {}).values()
    return sum(score for exercise in questions for score, _ in exercise.values())


def test_the_page_ends_with_the_grades_of_everybody(course: Path) -> None:
    rows = csv.DictReader((course / "course" / "grades.csv").open(encoding="utf-8"))
    got = {row["student"]: row[f"{ASSIGNMENT}/total"] for row in rows}
    wanted = {student: total(student) for student in EXPECTED if ASSIGNMENT in EXPECTED[student]}
    wanted |= {"youngyuri": total("bruno"), "zora": total("ada")}
    assert {student: float(score) for student, score in got.items() if score} == wanted


def test_the_platforms_tables_have_the_same_grades(course: Path) -> None:
    canvas = csv.DictReader((course / "course" / "grades.canvas.csv").open(encoding="utf-8"))
    rows = {row["SIS Login ID"]: row["Simplified attention"] for row in canvas}
    assert float(rows["ada"]) == total("ada")
    sheet = course / "course" / "grades.moodle" / f"{ASSIGNMENT}.csv"
    moodle = csv.DictReader(sheet.open(encoding="utf-8-sig"))
    grades = {row["Full name"]: row["Grade"] for row in moodle}
    assert float(grades["emeka"]) == total("emeka")


def test_everything_named_on_the_page_exists(course: Path) -> None:
    for name in ("dist/simplified_attention.zip", "course/report.html", "course/gradebook.db",
                 "course/feedback/ada/simplified_attention/feedback.html"):  # fmt: skip
        assert name.rpartition("/")[2] in PAGE
        assert (course / name).stat().st_size > 1000


def test_every_page_that_is_linked_is_there() -> None:
    for link in re.findall(r"\]\(([a-z]+\.md)", PAGE):
        assert (ROOT / "docs" / link).is_file(), link


def test_nothing_of_the_class_would_be_committed(course: Path) -> None:
    done = subprocess.run(["git", "status", "--porcelain"], cwd=course, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout == ""


def test_every_submission_has_one_line(results: dict[tuple[str, str], SubmissionResult]) -> None:
    others = [("youngyuri", ASSIGNMENT), ("zora", ASSIGNMENT)]  # from the downloads
    assert sorted(results) == sorted([*CASES, *others])


@pytest.mark.parametrize(("student", "assignment"), CASES)
def test_scores_and_verdicts_are_as_expected(
    results: dict[tuple[str, str], SubmissionResult], student: str, assignment: str
) -> None:
    got = {
        exercise.exercise: {q.question: [q.score, q.verdict.value] for q in exercise.questions}
        for exercise in results[student, assignment].exercises
    }
    assert got == EXPECTED[student][assignment]


def test_the_table_names_every_student_and_what_needs_a_look(course: Path) -> None:
    printed = (course.parents[1] / "printed.txt").read_text()
    for student in EXPECTED:
        assert student in printed
    assert "did not finish in time" in printed
    assert "not allowed" in printed


def test_nbgraders_export_agrees_with_the_results(
    course: Path, results: dict[tuple[str, str], SubmissionResult], tmp_path: Path
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    exported = tmp_path / "exported.csv"
    command = [sys.executable, "-m", "nbgrader", "export", "--to", str(exported)]
    subprocess.run(
        command, cwd=course / "course", env={**os.environ, "PATH": path}, check=True,
        capture_output=True,
    )  # fmt: skip
    with open(exported, newline="") as file:
        rows = {(row["student_id"], row["assignment"]): row for row in csv.DictReader(file)}
    for key, result in results.items():
        assert float(rows[key]["score"]) == result.score
        assert float(rows[key]["max_score"]) == result.max_score


def test_feedback_and_csv_are_written_for_all(
    course: Path, results: dict[tuple[str, str], SubmissionResult]
) -> None:
    for student, assignment in results:
        page = course / "course" / "feedback" / student / assignment / "feedback.html"
        assert page.is_file()
    with open(course / "course" / "grades.csv", newline="", encoding="utf-8-sig") as file:
        rows = sorted(row["student"] for row in csv.DictReader(file))
    assert set(rows) >= {student for student, _ in results}
    assert len(set(rows)) == len(rows)


def test_json_is_one_document_and_nothing_else(
    course: Path, results: dict[tuple[str, str], SubmissionResult]
) -> None:
    done = autograder(course, "grade", "course/submitted", "--resume", "--json")
    document = json.loads(done.stdout)
    assert document["graded"] == 0
    assert document["already_graded"] == len(results)
    assert {row["student"] for row in document["submissions"]} == {who for who, _ in results}
