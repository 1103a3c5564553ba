"""nbgrader's own commands work in our class folder, exactly as an instructor would type them."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook

from autograder.authoring.leaks import LeakFinder
from autograder.authoring.secrets import SecretKind
from autograder.course import load_course
from autograder.nbgrader.class_source import write_class_source

from .conftest import ASSIGNMENT, COURSE, REPOSITORY, NbgraderClass, cell_of

FULL = 100.0
WRITTEN = 5.0


def grades(place: NbgraderClass, column: str = "score") -> dict[str, float]:
    """Exports with `nbgrader export`; returns the numbers in a column for our assignment."""
    place.nbgrader("export", "--to", "grades.csv")
    with open(place.folder / "grades.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["assignment"] == ASSIGNMENT]
    return {row["student_id"]: float(row[column]) for row in rows if row[column]}


def gradebook(place: NbgraderClass) -> Gradebook:
    return Gradebook(f"sqlite:///{place.folder / 'gradebook.db'}", COURSE)


def page(place: NbgraderClass, student: str, name: str) -> str:
    text = (place.folder / "feedback" / student / ASSIGNMENT / f"{name}.html").read_text()
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def notebooks(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.ipynb")}


def test_nbgraders_release_equals_the_bundle(built: NbgraderClass) -> None:
    release, bundle = built.folder / "release" / ASSIGNMENT, REPOSITORY / "assignments" / ASSIGNMENT
    theirs, ours = notebooks(release), notebooks(bundle)
    written = cell_of(theirs["context.ipynb"], "why")  # the instructor's own question
    theirs["context.ipynb"]["cells"].remove(written)
    assert theirs == ours
    for path in [*bundle.glob("*.py"), *bundle.glob("checks/*")]:
        assert (release / path.relative_to(bundle)).read_text() == path.read_text()


def test_notebooks_that_nobody_grades_go_out_with_nbgrader(
    built: NbgraderClass, tmp_path: Path
) -> None:
    name = Path(ASSIGNMENT, "extras", "tour.ipynb")
    source, release = (built.folder / step / name for step in ("source", "release"))
    assert release.read_text() == source.read_text()
    with gradebook(built) as book:
        known = {notebook.name for notebook in book.find_assignment(ASSIGNMENT).notebooks}
    assert "tour" not in known
    course = load_course(REPOSITORY)
    write_class_source(course, course.assignment("decoder_attention"), tmp_path)
    assert {path.name for path in (tmp_path / "extras").iterdir()} == {
        "capstone.ipynb",
        "storyteller.json",
    }


def test_every_submission_is_graded_whatever_its_neighbours_are(autograded: NbgraderClass) -> None:
    found = grades(autograded, "raw_score")
    right = {"ada", "tom", "dup", "future", "half", "modules"}
    assert {name for name, score in found.items() if score == FULL} == right
    assert found["torn"] == FULL - 30  # loses the two questions in the notebook that can't be read
    assert FULL - 20 < found["ben"] < FULL
    assert found["eve"] == FULL - 10


def test_no_students_code_runs_where_the_course_is(autograded: NbgraderClass) -> None:
    assert not (autograded.exchange / COURSE / "ran").exists()


def test_late_work_has_its_penalty(autograded: NbgraderClass) -> None:
    assert grades(autograded, "late_submission_penalty")["tom"] == FULL
    assert grades(autograded)["tom"] == 0.0
    assert grades(autograded)["ada"] == FULL


def test_only_a_written_question_waits_for_a_human(
    autograded: NbgraderClass,
) -> None:
    with gradebook(autograded) as book:
        waiting = {
            grade.name
            for submission in book.assignment_submissions(ASSIGNMENT)
            for notebook in submission.notebooks
            for grade in notebook.grades
            if grade.needs_manual_grade and submission.student.id != "torn"
        }
        assert waiting == {"why"}
        assert book.find_submission(ASSIGNMENT, "ada").max_score == FULL + WRITTEN


def test_autograde_again_grades_only_what_is_new(
    autograded: NbgraderClass,
) -> None:
    results = autograded.folder / "results.jsonl"
    before = results.read_text()
    log = autograded.nbgrader("autograde", ASSIGNMENT)
    assert "Skipping existing assignment" in log
    assert results.read_text() == before
    shutil.rmtree(autograded.folder / "autograded" / "dup")
    autograded.nbgrader("autograde", ASSIGNMENT)
    assert cell_of(autograded.notebook("autograded", "dup", "scores"), "check_query_scores")
    assert results.read_text() == before  # unchanged, because the answers are the same


def test_manual_grades_survive_force(autograded: NbgraderClass) -> None:
    with gradebook(autograded) as book:
        grade = book.find_grade("check_softmax", "softmax", ASSIGNMENT, "ben")
        grade.manual_score, grade.extra_credit = 15.0, 1.0
        book.find_comment("softmax", "softmax", ASSIGNMENT, "ben").manual_comment = "Nearly!"
        book.find_grade("why", "context", ASSIGNMENT, "ben").manual_score = 4.0
        book.db.commit()
    before = grades(autograded)["ben"]
    autograded.nbgrader("autograde", ASSIGNMENT, "--student=ben", "--force")
    assert grades(autograded)["ben"] == before == FULL - 20 + 15 + 1 + 4
    with gradebook(autograded) as book:
        comment = book.find_comment("softmax", "softmax", ASSIGNMENT, "ben")
        assert comment.manual_comment == "Nearly!"
        assert "Hint:" in comment.auto_comment
        assert not book.find_grade("why", "context", ASSIGNMENT, "ben").needs_manual_grade
    results = (autograded.folder / "results.jsonl").read_text().splitlines()
    assert json.loads(results[-1])["student"] == "ben"


def test_feedback_says_all_that_helps_and_nothing_hidden(autograded: NbgraderClass) -> None:
    autograded.nbgrader("generate_feedback", ASSIGNMENT, "--student=ben")
    text = page(autograded, "ben", "softmax")
    lines = json.loads(_last_result(autograded, "ben"))
    exercise = next(e for e in lines["exercises"] if e["exercise"] == "softmax")
    (question,) = (q for q in exercise["questions"] if q["question"] == "softmax")
    assert "softmax: Partly right" in text
    assert question["misconception"] == "softmax.overflows"
    assert question["hint"] in " ".join(text.split())
    for test in question["tests"]:
        assert f"({test['points']:g} of {test['max_points']:g})" in text
        assert test["message"].splitlines()[:1] == [] or test["message"].splitlines()[0] in text
    finder = LeakFinder(load_course(REPOSITORY))
    hidden = {
        SecretKind.TEST_NAME,
        SecretKind.TEST_CODE,
    }  # ben's page may contain solutions and messages
    for name in ("context", "scores", "softmax"):
        leaks = finder.in_files(ASSIGNMENT, {"page.md": page(autograded, "ben", name).encode()})
        assert not [leak for leak in leaks if leak.secret.kind in hidden]


def _last_result(place: NbgraderClass, student: str) -> str:
    lines = (place.folder / "results.jsonl").read_text().splitlines()
    return [line for line in lines if json.loads(line)["student"] == student][-1]


def test_students_fetch_their_feedback(autograded: NbgraderClass) -> None:
    autograded.nbgrader("generate_feedback", ASSIGNMENT, "--student=ada", "--force")
    autograded.nbgrader("release_feedback", ASSIGNMENT, "--student=ada")
    student = autograded.home / "student"
    options = [f"--Exchange.root={autograded.exchange}", f"--course={COURSE}"]
    autograded.nbgrader("fetch_feedback", ASSIGNMENT, *options, cwd=student)
    pages = {path.name for path in (student / ASSIGNMENT / "feedback").rglob("*.html")}
    assert pages == {"context.html", "scores.html", "softmax.html"}


def test_feedback_is_released_for_what_autograder_graded(autograded: NbgraderClass) -> None:
    submitted = autograded.folder / "submitted" / "half" / ASSIGNMENT
    shutil.rmtree(autograded.folder / "autograded" / "half")
    results = autograded.folder / "results.jsonl"
    course = ("--course", REPOSITORY)
    autograded.autograder("grade", submitted, *course, "--resume", "--results", results)
    autograded.autograder("record", ".", *course)
    autograded.nbgrader("generate_feedback", ASSIGNMENT, "--student=half", "--force")
    log = autograded.nbgrader("release_feedback", ASSIGNMENT, "--student=half")
    assert log.count("Releasing feedback for student 'half'") == 3


def test_assignments_of_others_are_graded_as_ever(autograded: NbgraderClass) -> None:
    autograded.nbgrader("autograde", "warm_up")
    with gradebook(autograded) as book:
        submission = book.find_submission("warm_up", "ada")
        assert (submission.score, submission.max_score) == (4.0, 4.0)


def test_a_grader_that_cannot_start_harms_no_grade(autograded: NbgraderClass) -> None:
    before = grades(autograded)
    command = ("autograde", ASSIGNMENT, "--student=ada", "--force")
    log = autograded.nbgrader(*command, "--SandboxedExporter.results=source", code=1)
    assert "source can't be written (Is a directory)" in log
    assert grades(autograded) == before
    log = autograded.nbgrader(*command, "--SandboxedExporter.course=/nowhere", code=1)
    assert "/nowhere" in log


def test_changed_source_stays_and_a_configuration_gets_advice(
    built: NbgraderClass, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.source_directory = 'sources'\n"
    )
    command = (folder, ASSIGNMENT, "--course", REPOSITORY)
    output = built.autograder("nbgrader", *command)
    assert f"configure(c, course='{REPOSITORY}')" in output
    notebook = folder / "sources" / ASSIGNMENT / "scores.ipynb"
    assert "BEGIN SOLUTION" in notebook.read_text()
    notebook.write_text("changed for this class")
    output = built.autograder("nbgrader", *command, code=1)
    assert f"{notebook.parent} has different versions of: scores.ipynb\n" in output
    assert "they are left unchanged, because they were changed for this class" in output
    assert "fix: use --force to overwrite them" in output
    assert notebook.read_text() == "changed for this class"
    built.autograder("nbgrader", *command, "--force")
    assert "BEGIN SOLUTION" in notebook.read_text()
