"""If a folder is at the wrong level, `autograder grade` reports this before it grades."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import autograder
from autograder.cli.grading import _print_profile, _print_table, _row
from autograder.course import load_course
from autograder.errors import ContentError
from autograder.grading.engine import Scope
from autograder.grading.run import RunReport, grade_class
from autograder.grading.secret import submitted_digest, suite_digest
from autograder.grading.sources import RunEvents, RunOptions, Source
from autograder.grading.suite_engine import SuiteEngine
from autograder.grading.watch import Costs
from autograder.operations.courses import Courses, find_courses
from autograder.operations.outcome import GradeReport, _record
from autograder.records import SubmissionStatus
from autograder.results.file import ResultsFile
from autograder.results.last import LastResults
from autograder.submission import FoundSubmissions, Submission

ROOT = Path(__file__).resolve().parents[3]


def test_a_class_folder_names_the_submissions_in_it(
    course: autograder.Course, class_folder: Path
) -> None:
    (class_folder / "submitted" / "ada").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="submitted contains no submission"):
        autograder.grade(class_folder, course=course.root)


def test_a_students_folder_instead_of_the_class_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ada" / "simplified_attention").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="the folder of one student.* the class"):
        autograder.grade(tmp_path / "ada", course=ROOT)


def test_a_folder_without_submissions_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(autograder.UserError, match="expected <student>/<assignment>/"):
        autograder.grade(tmp_path, course=ROOT)


@pytest.mark.parametrize(
    ("folder", "class_folder"),
    [
        ("course/submitted", "course"),
        ("course/submitted/ada/simplified_attention", "course"),
        ("course/submitted/group/2026", "course/submitted/group"),
        ("inbox/ada/simplified_attention", "inbox/ada"),
    ],
)
def test_one_submission_of_a_class_is_graded_into_its_class(
    tmp_path: Path, folder: str, class_folder: str
) -> None:
    course = load_course(ROOT)
    found = Courses(course, course, None, FoundSubmissions((), ()), tmp_path / folder)
    assert found.class_folder == tmp_path.resolve() / class_folder


def test_a_broken_assignment_is_listed_once_and_stops_itself_only(
    course: autograder.Course, class_folder: Path, submit: Callable[..., Path]
) -> None:
    (course.root / "source" / "heads").mkdir()
    (course.root / "source" / "heads" / "assignment.toml").write_text("title =\n")
    for assignment in ("masks", "heads"):
        submit("ada", {}, assignment)
    found = find_courses(class_folder, course.root)
    assert [s.assignment for s in found.found.submissions] == ["masks"]
    assert (list(found.stopped), found.found.skipped) == (["heads"], ())
    question = course.assignments[0].exercises[0].questions[0].name
    assert find_courses(class_folder, course.root, question=question).stopped == {}
    with pytest.raises(autograder.ContentError, match="heads"):
        find_courses(class_folder, course.root, "heads")


class _BrokenSuite:
    """A grading backend that can't collect the suites of one assignment."""

    def __init__(self) -> None:
        self.graded: list[str] = []

    def grade(self, scope: Scope, source: Source, *_: object) -> Costs:
        if "self_attention" in scope.assignments:
            suite = ROOT / "tests" / "hidden" / "self_attention" / "embedding.py"
            raise ContentError(suite, None, "can't be imported", "fix the suite")
        self.graded += scope.assignments
        return {}


def test_a_suite_with_an_error_stops_only_its_assignment(tmp_path: Path) -> None:
    names = "causal_attention", "self_attention", "simplified_attention"
    for name in names:
        (tmp_path / "submitted" / "ada" / name).mkdir(parents=True)
    options = RunOptions(tmp_path / "submitted", tmp_path / "results.jsonl")
    backend, engine = _BrokenSuite(), SuiteEngine(load_course(ROOT))
    report = grade_class([engine], options, RunEvents(), backend=backend)
    assert (list(report.stopped), report.already_graded) == (["self_attention"], 2)
    assert [s.assignment for s in report.found.submissions] == backend.graded == [*names[::2]]
    alone = replace(options, assignment="self_attention")
    with pytest.raises(ContentError, match="can't be imported"):
        grade_class([engine], alone, RunEvents(), backend=backend)


def test_a_misspelt_path_to_the_secret_creates_no_secret(tmp_path: Path) -> None:
    (tmp_path / "submitted" / "ada" / "simplified_attention").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="clas does not exist"):
        autograder.grade(
            tmp_path / "submitted", course=ROOT, secret=tmp_path / "clas" / "secret.key"
        )
    assert not (tmp_path / "clas").exists()
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(autograder.UserError, match=r"made with a different secret.*misspelled"):
        autograder.grade(tmp_path / "submitted", course=ROOT, secret=tmp_path / "secert.key")
    assert not (tmp_path / "secert.key").exists()


def test_the_submissions_name_the_class_around_them(
    tmp_path: Path, make_result: Callable[..., autograder.SubmissionResult]
) -> None:
    with ResultsFile(tmp_path / "results.jsonl") as file:
        file.append(make_result("ada"))
    (tmp_path / "submitted").mkdir()
    (line,) = autograder.final_results(tmp_path / "submitted")
    assert line.student == "ada"


def test_a_class_without_anything_to_grade_is_listed_once(
    course: autograder.Course,
    class_folder: Path,
    make_result: Callable[..., autograder.SubmissionResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submitted = class_folder / "submitted"
    place = submitted / "ada" / "masks"
    place.mkdir(parents=True)
    (assignment,) = course.assignments
    graded = replace(
        make_result("ada"),
        submission_digest=submitted_digest(Submission("ada", "masks", place), assignment),
        suite_digest=suite_digest(assignment),
    )
    with ResultsFile(class_folder / "results.jsonl") as file:
        file.append(graded)
    listed: list[str] = []
    scandir = os.scandir

    def counting(path: Any) -> Any:
        listed.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)
    report = autograder.grade(submitted, course=course.root, resume=True, gradebook=False)
    assert (report.run.graded, report.run.already_graded) == (0, 1)
    assert listed.count(str(submitted)) == 1


def test_a_missing_assignment_has_no_mistakes(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").touch()
    with pytest.raises(autograder.AutograderError, match="no assignment is called 'nope'"):
        autograder.unnamed_mistakes(tmp_path, "nope", course=ROOT)


def test_a_profile_of_what_other_machines_graded_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RunReport(FoundSubmissions((), ()), 0, 0, 0, None, None)
    _print_profile(GradeReport(run, Path("results.jsonl"), (), None))
    assert "nothing was graded on this machine" in capsys.readouterr().out


def test_a_second_night_still_waits_for_what_cannot_be_recorded(
    course: autograder.Course,
    class_folder: Path,
    make_result: Callable[..., autograder.SubmissionResult],
) -> None:
    with ResultsFile(class_folder / "results.jsonl") as file:
        for student in ("ada", "a\nb"):
            file.append(make_result(student))
    none = FoundSubmissions((), ())
    found = Courses(course, course, None, none, class_folder / "submitted")
    last = LastResults(class_folder / "results.jsonl")
    nights = [_record(found, last, gradebook=True) for _ in range(2)]
    assert [night.unrecorded for night in nights if night] == [1, 1]
    assert nights[0] == nights[1]


@pytest.mark.parametrize(
    ("failed", "lines"),
    [
        (0, ["61 submissions; none needs review"]),
        (1, ["61 submissions; these need review", "student", "s0"]),
    ],
)
def test_only_submissions_that_need_a_look_are_listed(
    make_result: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    failed: int,
    lines: list[str],
) -> None:
    kinds = [{"status": SubmissionStatus.FAILED}] * failed + [{}] * (61 - failed)
    _print_table([_row(make_result(f"s{n}", **kind), {}) for n, kind in enumerate(kinds)])
    said = capsys.readouterr().out.splitlines()
    assert [line[: len(start)] for line, start in zip(said, lines, strict=True)] == lines
