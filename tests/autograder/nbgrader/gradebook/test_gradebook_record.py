"""nbgrader's own API and commands read the right grades after `record`."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, Configurable

from autograder.course import Course
from autograder.errors import ContentError, UserError
from autograder.nbgrader import human_work, prepare_class_folder, record
from autograder.nbgrader.gradebook.database import opened
from autograder.nbgrader.gradebook.lateness import LatePenalties
from autograder.records import (
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from autograder.results.manual import HumanGrade, HumanWork, counted

STAMP = "2026-05-01 12:00:00 UTC"
REPOSITORY = Path(__file__).resolve().parents[4]


def url(class_folder: Path) -> str:
    return f"sqlite:///{class_folder / 'gradebook.db'}"


def scores(class_folder: Path) -> dict[str, float]:
    with Gradebook(url(class_folder)) as gradebook:
        found = gradebook.assignment_submissions("masks")
        return {s.student.id: s.score - s.late_submission_penalty for s in found}


def autograded(class_folder: Path, student: str, exercise: str) -> nbformat.NotebookNode:
    path = class_folder / "autograded" / student / "masks" / f"{exercise}.ipynb"
    return nbformat.read(path, as_version=4)


def cell(notebook: nbformat.NotebookNode, name: str) -> Any:
    own = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name]
    assert len(own) == 1
    return own[0]


def test_scores_in_the_gradebook_are_those_of_the_results(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
) -> None:
    submit("ada", {"masking.py": "def causal_mask(x): return x\n", "timestamp.txt": STAMP})
    results = [
        make_result("ada", (2.0, 1.5, 2.0)),
        make_result("ben", (0.0, 1.0, 0.0), files=("masking.ipynb", None),
                    statuses=(ExerciseStatus.GRADED, ExerciseStatus.MISSING)),
    ]  # fmt: skip
    summary = record(course, class_folder, results)
    assert summary.submissions == 2
    assert scores(class_folder) == {"ada": 5.5, "ben": 1.0}


def test_the_last_line_of_a_submission_counts(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result(scores=(2, 2, 2)), make_result(scores=(0, 0, 2))])
    assert scores(class_folder) == {"ada": 2.0}


def test_nbgrader_export_gives_the_scores_of_the_results(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
    tmp_path: Path,
) -> None:
    submit("ada", {"timestamp.txt": STAMP})
    results = [make_result("ada", (2.0, 1.25, 2.0)), make_result("Ünï cöde", (0.0, 0.0, 2.0))]
    record(course, class_folder, results)
    target = tmp_path / "grades.csv"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "nbgrader", "export", "--to", str(target)],
        cwd=class_folder, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    rows = {row["student_id"]: row for row in csv.DictReader(target.open(encoding="utf-8"))}
    assert {r.student: r.score for r in results} == {n: float(rows[n]["score"]) for n in rows}
    assert {float(row["max_score"]) for row in rows.values()} == {6.0}


def test_formgrader_treats_every_submission_as_autograded(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
) -> None:
    submit("stamped", {"masking.py": "", "timestamp.txt": "2026-05-01 12:00:00 Europe/Berlin"})
    submit("unstamped", {"masking.py": ""})
    record(course, class_folder, [make_result("stamped"), make_result("unstamped")])
    directories = CourseDirectory(root=str(class_folder), source_directory="../assignments")
    api = NbGraderAPI(directories)
    assert api.get_autograded_students("masks") == {"stamped", "unstamped"}
    assert all(
        s["autograded"] and not s["needs_manual_grade"] for s in api.get_submissions("masks")
    )
    assert [assignment["max_score"] for assignment in api.get_assignments()] == [6.0]


def test_manual_grades_comments_and_extra_credit_survive_a_second_record(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result(scores=(0.0, 0.0, 2.0))])
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 1.5, 0.5, False
        comment = gradebook.find_comment("causal_mask", "masking", "masks", "ada")
        comment.manual_comment = "I looked."
        gradebook.db.commit()
    record(course, class_folder, [make_result(scores=(0.0, 2.0, 2.0))])
    assert scores(class_folder) == {"ada": 6.0}
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        assert (grade.manual_score, grade.needs_manual_grade) == (1.5, False)
        comment = gradebook.find_comment("causal_mask", "masking", "masks", "ada")
        assert comment.comment == "I looked."


def test_a_manual_grade_needs_review_if_the_automatic_one_changed(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result(scores=(0.0, 0.0, 2.0))])
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    record(course, class_folder, [make_result(scores=(2.0, 0.0, 2.0))])
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        assert (grade.score, grade.auto_score, grade.needs_manual_grade) == (1.5, 2.0, True)


def test_messages_become_comments_and_outputs(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(
        course, class_folder, [make_result(scores=(2.0, 0.0, 2.0), message="row 1\x00 \x1b[31m")]
    )
    with Gradebook(url(class_folder)) as gradebook:
        wrong = gradebook.find_comment("mask_scores", "masking", "masks", "ada").auto_comment
        right = gradebook.find_comment("causal_mask", "masking", "masks", "ada").auto_comment
    assert right is None
    assert "Not right yet, 0 of 2 points" in wrong
    assert "Hint: May a token see itself?" in wrong
    check = cell(autograded(class_folder, "ada", "masking"), "check_mask_scores")
    assert (
        "[not passed] Diagonal is allowed (0 of 1)\n    row 1\ufffd \ufffd[31m\n"
        in check.outputs[0].text
    )
    assert "Hint: May a token see itself?" in check.outputs[0].text


def test_an_unreadable_file_waits_for_a_human_in_formgrader(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
) -> None:
    submit("ada", {"masking.py": "def broken(:\n"})
    statuses = (ExerciseStatus.UNREADABLE, ExerciseStatus.GRADED)
    record(course, class_folder, [make_result(scores=(0.0, 0.0, 2.0), statuses=statuses)])
    with Gradebook(url(class_folder)) as gradebook:
        assert gradebook.find_submission("masks", "ada").needs_manual_grade
    sources = [c.source for c in autograded(class_folder, "ada", "masking").cells]
    assert any("masking.py could not be read" in source for source in sources)
    assert any("def broken(:" in source for source in sources)


def test_the_penalty_of_nbgraders_plugin_is_applied_with_extensions(
    make_course: Callable[..., Course], tmp_path: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    course = make_course(tmp_path / "late", duedate="2026-05-01 11:00:00 UTC")
    class_folder = course.root / "course"
    prepare_class_folder(course, class_folder)
    settings = class_folder / "nbgrader_config.py"
    settings.write_text(settings.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    for student, stamp in (("late", STAMP), ("early", "2026-05-01 10:00:00 UTC")):
        folder = class_folder / "submitted" / student / "masks"
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text(stamp)
    results = [make_result("late"), make_result("early")]
    record(course, class_folder, results)
    assert scores(class_folder) == {"late": 0.0, "early": 4.0}
    with Gradebook(url(class_folder)) as gradebook:
        gradebook.find_submission("masks", "late").extension = timedelta(hours=2)
        gradebook.db.commit()
    record(course, class_folder, results)
    assert scores(class_folder) == {"late": 4.0, "early": 4.0}


def test_nbgraders_own_step_uses_the_same_times_and_minute(tmp_path: Path) -> None:
    stamps = {
        "minute": "2026-07-20 21:59:30 UTC",
        "summer": "2026-07-20 23:58:00 CEST",
        "unknown": "20.07.2026 23:59",
        "late": "2026-07-20 22:00:00 UTC",
    }
    directories = CourseDirectory(root=str(tmp_path), config=Config())
    address = f"sqlite:///{tmp_path / 'gradebook.db'}"
    config = Config({"LateSubmissionPlugin": {"penalty_method": "zero"}})
    converter: Any = Configurable()
    converter.coursedir = directories
    with opened(address):
        pass  # creates the tables without nbgrader, which would start a program for it
    with Gradebook(address) as gradebook:
        gradebook.add_assignment("ps1", duedate="2026-07-20 21:59 UTC")
        gradebook.add_notebook("p", "ps1")
        gradebook.add_grade_cell("test", "p", "ps1", max_score=2, cell_type="code")
        for student in stamps:
            gradebook.add_student(student)
            gradebook.add_submission("ps1", student, timestamp="2026-07-20 23:58 UTC")
            gradebook.find_grade("test", "p", "ps1", student).auto_score = 2
        for student, stamp in stamps.items():
            folder = tmp_path / "submitted" / student / "ps1"
            folder.mkdir(parents=True)
            (folder / "timestamp.txt").write_text(stamp)
        gradebook.db.commit()
    for student in stamps:
        step = LatePenalties(config=config)
        step.parent = Configurable(parent=converter)
        names = {"student": student, "assignment": "ps1", "notebook": "p", "db_url": address}
        step.preprocess(new_notebook(), {"nbgrader": names})
    with Gradebook(address) as gradebook:
        taken = {
            student: gradebook.find_submission("ps1", student).late_submission_penalty
            for student in stamps
        }
    assert taken == {"minute": 0, "summer": 0, "unknown": 0, "late": 2}


def test_nobody_is_late_without_a_timestamp_whatever_the_file_dates(
    make_course: Callable[..., Course], tmp_path: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    course = make_course(tmp_path / "late", duedate="2026-05-01 11:00:00 UTC")
    class_folder = course.root / "course"
    settings = prepare_class_folder(course, class_folder)
    settings.write_text(settings.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    folder = class_folder / "submitted" / "ada" / "masks"
    folder.mkdir(parents=True)
    (folder / "masking.py").write_text("")
    os.utime(folder / "masking.py", (2_000_000_000, 2_000_000_000))
    record(course, class_folder, [make_result("ada")])
    assert scores(class_folder) == {"ada": 4.0}


@pytest.mark.parametrize("stamp", ["", "yesterday-ish", "99999-01-01", "\x00\xff", "1 2 3 4 5"])
def test_a_timestamp_that_is_not_a_date_is_noted_only(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
    stamp: str,
) -> None:
    submit("ada", {"timestamp.txt": stamp})
    summary = record(course, class_folder, [make_result("ada")])
    assert [note.student for note in summary.notes] == ["ada"]
    assert "no unambiguous time" in summary.notes[0].text
    assert scores(class_folder) == {"ada": 4.0}


@pytest.mark.parametrize(
    "name",
    [
        *("../evil", "..", "", "a\x00b", "x" * 300, "a\nb", "\udcff", "a\\b"),
        *("<script>alert(1)<b>", '" onmouseover=alert(1) x="', 'x";alert(1)+"'),
    ],
)
def test_a_name_that_nbgrader_refuses_is_noted_and_changes_nothing(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], name: str
) -> None:
    summary = record(course, class_folder, [make_result(name), make_result("ada")])
    assert [(note.student, "nbgrader does not accept" in note.text) for note in summary.notes] == [
        (name, True)
    ]
    assert summary.unrecorded == 1
    assert scores(class_folder) == {"ada": 4.0}
    assert [path.name for path in (class_folder / "autograded").iterdir()] == ["ada"]
    assert not (class_folder.parent / "evil").exists()


@pytest.mark.parametrize(
    "name", ["Ada > Ben & Co.", "学生 ü", "a'; DROP TABLE student;--", "{x}", "*"]
)
def test_an_unusual_name_is_recorded_under_itself(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], name: str
) -> None:
    record(course, class_folder, [make_result(name)])
    assert scores(class_folder) == {name: 4.0}
    assert (class_folder / "autograded" / name / "masks" / "masking.ipynb").is_file()


def test_names_refused_by_nbgraders_csv_are_recorded_with_a_note(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    summary = record(course, class_folder, [make_result("Doe, Jane")])
    assert "autograder export csv" in summary.notes[0].text
    assert not summary.unrecorded
    assert scores(class_folder) == {"Doe, Jane": 4.0}


def test_failed_and_unknown_results_are_noted_and_not_recorded(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    results = [
        make_result("ada", status=SubmissionStatus.FAILED),
        make_result("ben", assignment="nothing"),
        make_result("cyd"),
    ]
    summary = record(course, class_folder, results)
    assert {note.student for note in summary.notes} == {"ada", "ben"}
    assert scores(class_folder) == {"cyd": 4.0}


def test_a_lost_database_is_rebuilt_by_the_same_call(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    results = [make_result("ada"), make_result("ben", (0.0, 0.0, 0.0))]
    record(course, class_folder, results)
    before = scores(class_folder)
    (class_folder / "gradebook.db").unlink()
    record(course, class_folder, results)
    assert scores(class_folder) == before


def test_recording_again_changes_no_byte_of_the_notebooks(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result("ada")])
    path = class_folder / "autograded" / "ada" / "masks" / "masking.ipynb"
    before = (path.read_bytes(), path.stat().st_ino)
    record(course, class_folder, [make_result("ada")])
    assert (path.read_bytes(), path.stat().st_ino) == before


def test_a_broken_database_is_an_error_with_a_remedy(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    (class_folder / "gradebook.db").write_bytes(b"this is not a database" * 100)
    with pytest.raises(UserError, match="move the file away and run this again"):
        record(course, class_folder, [make_result("ada")])


def test_a_locked_database_is_an_error_and_stays_unchanged(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result("ada", (0.0, 0.0, 0.0))])
    other = sqlite3.connect(class_folder / "gradebook.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(UserError, match="is using it"):
            record(course, class_folder, [make_result("ada")],
                   db_url=f"{url(class_folder)}?timeout=0.01")  # fmt: skip
    finally:
        other.close()
    assert scores(class_folder) == {"ada": 0.0}


@pytest.mark.parametrize(
    "address", ["nonsense", "sqlite:////no/such/folder/x.db", "nodb://a:pw@h/x"]
)
def test_an_address_without_a_database_is_reported_without_the_password(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], address: str
) -> None:
    with pytest.raises(UserError, match="can't be used") as raised:
        record(course, class_folder, [make_result("ada")], db_url=address)
    assert "pw" not in str(raised.value)


def test_a_missing_released_notebook_is_reported_before_anything_is_written(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    (course.root / "assignments" / "masks" / "dropout.ipynb").unlink()
    with pytest.raises(ContentError, match="autograder release masks"):
        record(course, class_folder, [make_result("ada")])
    assert not (class_folder / "gradebook.db").exists()


def test_points_that_differ_between_release_and_suite_are_noted_once(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
) -> None:
    path = course.root / "assignments" / "masks" / "dropout.ipynb"
    nbformat.write(make_released("dropout", points=3.0), path)
    summary = record(course, class_folder, [make_result("ada"), make_result("ben")])
    assert len(summary.notes) == 1
    assert "masks/dropout/dropout has 3 points" in summary.notes[0].text


def test_a_changed_release_updates_the_gradebook_and_keeps_human_grades(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
) -> None:
    record(course, class_folder, [make_result("ada"), make_result("ben")])
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_dropout", "dropout", "masks", "ada")
        grade.manual_score = 1.0
        gradebook.db.commit()
    notebook = make_released("masking", points=5.0)
    notebook.cells = notebook.cells[:4]  # without mask_scores
    nbformat.write(notebook, course.root / "assignments" / "masks" / "masking.ipynb")
    record(course, class_folder, [make_result("ada"), make_result("ben")])
    with Gradebook(url(class_folder)) as gradebook:
        masking = gradebook.find_notebook("masking", "masks")
        assert [(c.name, c.max_score) for c in masking.grade_cells] == [("check_causal_mask", 5.0)]
        assert gradebook.find_grade("check_dropout", "dropout", "masks", "ada").score == 1.0


def test_a_students_module_fills_the_released_notebook(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
) -> None:
    helper, answer = "def _help(x):\n    return x + 1", "def causal_mask(x):\n    return _help(x)"
    submit("ada", {"masking.py": f"import torch\n\n\n{helper}\n\n\n{answer}\n"})
    record(course, class_folder, [make_result("ada")])
    notebook = autograded(class_folder, "ada", "masking")
    nbformat.validate(notebook)
    assert cell(notebook, "causal_mask").source == answer
    assert "NotImplementedError" in cell(notebook, "mask_scores").source
    assert helper in notebook.cells[-1].source


def test_a_students_own_notebook_is_kept_with_locked_cells_restored(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
    submit: Callable[..., Path],
) -> None:  # fmt: skip
    own = make_released("masking")
    own.cells.insert(1, nbformat.v4.new_markdown_cell("my thoughts"))
    cell(own, "causal_mask").source = "def causal_mask(x): return 7"
    cell(own, "check_causal_mask").source = "print('full marks')"
    cell(own, "check_causal_mask").metadata["nbgrader"]["points"] = 99
    cell(own, "check_causal_mask").metadata["nbgrader"]["schema_version"] = 99
    submit("ada", {"masking.ipynb": nbformat.writes(own)})
    record(course, class_folder, [make_result("ada", files=("masking.ipynb", None))])
    notebook = autograded(class_folder, "ada", "masking")
    nbformat.validate(notebook)
    assert "shown as released: check_causal_mask" in notebook.cells[0].source
    assert notebook.cells[2].source == "my thoughts"
    assert cell(notebook, "causal_mask").source == "def causal_mask(x): return 7"
    check = cell(notebook, "check_causal_mask")
    assert check.source == 'check("causal_mask")'
    assert check.metadata.nbgrader["points"] == 2.0
    assert check.metadata.nbgrader["schema_version"] == 3


def test_a_notebook_with_a_duplicated_or_lost_cell_is_rebuilt(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
    submit: Callable[..., Path],
) -> None:  # fmt: skip
    doubled, lost = make_released("masking"), make_released("masking")
    doubled.cells.append(nbformat.from_dict(dict(cell(doubled, "causal_mask"))))
    doubled.cells[-1].source = "def causal_mask(x): return 'the last counts'"
    lost.cells = [nbformat.v4.new_code_cell("def causal_mask(x): return 'kept'")]
    for student, own in (("doubled", doubled), ("lost", lost)):
        submit(student, {"masking.ipynb": json.dumps(own)})
    results = [make_result(name, files=("masking.ipynb", None)) for name in ("doubled", "lost")]
    record(course, class_folder, results)
    for student, answer in (("doubled", "the last counts"), ("lost", "kept")):
        notebook = autograded(class_folder, student, "masking")
        assert "the notebook was rebuilt" in notebook.cells[0].source
        assert answer in cell(notebook, "causal_mask").source
    assert scores(class_folder) == {"doubled": 4.0, "lost": 4.0}


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", '{"cells": 3}', '{"cells": [1, null, "x"]}', "[" * 100_000, "\x00",
     '{"cells": [{"cell_type": "code", "source": ["\\ud800"], "outputs": "x", "metadata": 3}]}'],
)  # fmt: skip
def test_a_broken_notebook_is_rebuilt_from_the_release(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
    text: str,
) -> None:
    submit("ada", {"masking.ipynb": text})
    record(course, class_folder, [make_result("ada", files=("masking.ipynb", None))])
    notebook = autograded(class_folder, "ada", "masking")
    nbformat.validate(notebook)
    assert "NotImplementedError" in cell(notebook, "causal_mask").source


def test_output_of_a_students_notebook_is_harmless_and_small(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
    submit: Callable[..., Path],
) -> None:  # fmt: skip
    own = make_released("masking")
    bad = "<script>alert(1)</script>"
    own.cells.insert(1, nbformat.v4.new_markdown_cell(f"look {bad} <img src=x onerror=alert(1)>"))
    own.cells.insert(1, nbformat.v4.new_raw_cell(bad))
    output = nbformat.v4.new_output
    cell(own, "causal_mask").outputs = [
        output(
            "display_data", data={"text/html": bad, "image/png": '"><script>', "text/plain": "ok"}
        ),
        output("display_data", data={"application/javascript": "alert(1)"}),
        output("stream", name="stdout", text="x" * 5_000_000),
    ]
    submit("ada", {"masking.ipynb": json.dumps(own)})
    record(course, class_folder, [make_result("ada", files=("masking.ipynb", None))])
    notebook = autograded(class_folder, "ada", "masking")
    shown = cell(notebook, "causal_mask").outputs
    assert [dict(o.data) for o in shown[:-1]] == [{"text/plain": "ok"}]
    assert len(shown[-1].text) < 30_000
    markdown = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    assert not any("<script" in source or "<img" in source for source in markdown)
    assert not any(c.cell_type == "raw" for c in notebook.cells)


def test_text_of_a_student_without_markup_stays_as_written(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult],
    make_released: Callable[..., Any],
    submit: Callable[..., Path],
) -> None:  # fmt: skip
    own = make_released("masking")
    written = 'if $a < b$ & c > d\n\n> `x -> y`, [a "link"](https://example.org)'
    own.cells.insert(1, nbformat.v4.new_markdown_cell(written))
    submit("ada", {"masking.ipynb": json.dumps(own)})
    record(course, class_folder, [make_result("ada", files=("masking.ipynb", None))])
    notebook = autograded(class_folder, "ada", "masking")
    assert written in [c.source for c in notebook.cells if c.cell_type == "markdown"]


def test_a_link_in_a_submission_is_not_followed(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("def causal_mask(x): return 'secret'\n")
    (submit("ada", {}) / "masking.py").symlink_to(secret)
    record(course, class_folder, [make_result("ada")])
    text = (class_folder / "autograded" / "ada" / "masks" / "masking.ipynb").read_text()
    assert "secret'" not in text
    assert "not a regular file" in text


def test_a_class_of_more_than_one_batch_is_recorded_whole(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    record(course, class_folder, [make_result(f"student{number}") for number in range(101)])
    assert len(scores(class_folder)) == 101


def test_an_existing_configuration_stays_and_a_broken_one_is_reported(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    settings = class_folder / "nbgrader_config.py"
    settings.write_text("c = get_config()\nc.CourseDirectory.autograded_directory = 'marked'\n")
    record(course, class_folder, [make_result("ada")])
    assert (class_folder / "marked" / "ada" / "masks" / "masking.ipynb").is_file()
    settings.write_text("c = get_config(\n")
    with pytest.raises(UserError, match=r"nbgrader_config\.py: can't be loaded"):
        record(course, class_folder, [make_result("ada")])


def test_an_answer_that_cannot_be_judged_waits_for_a_human(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    make_question: Callable[..., QuestionResult],
) -> None:
    result = make_result("ada", (0.0, 2.0, 2.0))
    masking = result.exercises[0]
    strange = make_question("causal_mask", 0.0, Verdict.PROTOCOL)
    exercise = replace(masking, questions=(strange, masking.questions[1]))
    record(course, class_folder, [replace(result, exercises=(exercise, result.exercises[1]))])
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        assert grade.needs_manual_grade


def test_human_entries_are_read_back_and_count_as_in_nbgrader(
    make_course: Callable[..., Course], tmp_path: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    course = make_course(tmp_path / "late", duedate="2026-05-01 11:00:00 UTC")
    class_folder = course.root / "course"
    settings = prepare_class_folder(course, class_folder)
    assert human_work(class_folder) == HumanWork()
    assert not (class_folder / "gradebook.db").exists()
    settings.write_text(settings.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n')
    folder = class_folder / "submitted" / "late" / "masks"
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text(STAMP)
    results = [make_result("late"), make_result("ben", (0.0, 0.5, 2.0))]
    record(course, class_folder, results)
    with Gradebook(url(class_folder)) as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ben")
        grade.manual_score, grade.extra_credit = 1.0, 0.25
        comment = gradebook.find_comment("causal_mask", "masking", "masks", "ben")
        comment.manual_comment = "Well."
        gradebook.db.commit()
    work = human_work(class_folder)
    assert work.grades == {
        ("ben", "masks", "masking", "causal_mask"): HumanGrade(1.0, 0.25, "Well.")
    }
    final = [counted(result, work) for result in results]
    assert {result.student: result.score for result in final} == scores(class_folder)
