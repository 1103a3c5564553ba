"""Graders enter points, reuse comments, answer requests for a second look, and see waiting work."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

import autograder
from autograder.cli import cli
from autograder.course import Course
from autograder.errors import UserError
from autograder.nbgrader import prepare_class_folder, record
from autograder.operations.changes import class_changes
from autograder.operations.grades import DisplayOptions
from autograder.operations.reviews import places_to_review
from autograder.operations.second_looks import WaitingAnswers
from autograder.records import SubmissionResult, Verdict

ROSTER = "student,name,grader,login\nada,Ada L,tim,ada-codes\nben,Ben B,uli,\nzoe,Zoe Z,tim,\n"
LATE = "2026-05-01 11:30:00 UTC"


class Term:
    """A class of three students who have submitted; ben is late, which costs half of the points."""

    def __init__(self, course: Course, make_result: Callable[..., SubmissionResult]) -> None:
        self.course, self.folder = course, course.root / "course"
        results = [make_result(name) for name in ("ada", "ben", "zoe")]
        settings = prepare_class_folder(course, self.folder)
        half = "\nfrom nbgrader.plugins import LateSubmissionPlugin\n\n\nclass Half(Late):\n"
        half = half.replace("class Half(Late)", "class Half(LateSubmissionPlugin)")
        half += "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        half += "        return score / 2\n\n\nc.AssignLatePenalties.plugin_class = Half\n"
        settings.write_text(settings.read_text() + half)
        for name in ("ada", "ben", "zoe"):
            place = self.folder / "submitted" / name / "masks"
            place.mkdir(parents=True)
            (place / "masking.py").write_text("")
        (self.folder / "submitted" / "ben" / "masks" / "timestamp.txt").write_text(LATE)
        (self.folder / "roster.csv").write_text(ROSTER)
        lines = "".join(json.dumps(result.to_json()) + "\n" for result in results)
        (self.folder / "results.jsonl").write_text(lines)
        record(course, self.folder, results)

    def mark(self, student: str, question: str, **entry: Any) -> None:
        """Enters points, a comment or an answer as the grader tim."""
        course = self.course.root
        autograder.mark(self.folder, student, question, by="tim", course=course, **entry)

    def call(self, command: str, *options: str) -> Result:
        course = () if command in {"graders", "changes"} else ("--course", str(self.course.root))
        arguments = [command, str(self.folder), *options, *course]
        return CliRunner().invoke(cli, arguments, standalone_mode=False)

    def score(self, student: str) -> float:
        """Returns the points that count for a student."""
        return autograder.final_results(self.folder, student=student)[0].score

    def page(self, student: str) -> str:
        """Returns a student's feedback page, followed by its plain-text copy."""
        autograder.write_feedback(self.folder, course=self.course.root)
        page = self.folder / "feedback" / student / "masks" / "feedback.html"
        return page.read_text() + " ".join(page.with_suffix(".txt").read_text().split())


@pytest.fixture
def term(
    make_course: Callable[..., Course], make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> Term:
    course = make_course(tmp_path / "term", duedate="2026-05-01 12:00 Europe/Berlin")
    return Term(course, make_result)


def test_marks_are_those_of_formgrader_and_the_penalty_follows(term: Term) -> None:
    assert term.score("ben") == 2.0
    term.mark("ben", "masking/mask_scores", points=1.0, comment="A whole line is missing.")
    assert term.score("ben") == 2.5
    assert "A whole line is missing." in term.page("ben")
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        cell = gradebook.find_grade("check_mask_scores", "masking", "masks", "ben")
        assert (cell.manual_score, cell.needs_manual_grade) == (1.0, False)
    term.mark("ben", "mask_scores", points="auto", comment="")
    assert term.score("ben") == 2.0
    assert "A whole line" not in term.page("ben")


@pytest.mark.parametrize("points", ["2.5", "-1", "two", "nan"])
def test_points_that_a_question_does_not_have_are_refused(term: Term, points: str) -> None:
    with pytest.raises(UserError, match="from 0 to 2"):
        term.mark("ada", "mask_scores", points=points)
    assert not (term.folder / "marked.csv").exists()


def test_a_comment_of_the_bank_has_its_newest_text(term: Term) -> None:
    term.call("comments", "diagonal", "A token sees itself.", "--question", "causal_mask")
    term.call("comments", "Diagonal", "Another question's.", "--question", "mask_scores")
    term.call("comments", "neat", "Well written.")
    term.mark("ada", "causal_mask", comment="#Diagonal See p. #3. #neat")
    term.mark("zoe", "causal_mask", comment="#diagonal")
    assert "A token sees itself. See p. #3. Well written." in term.page("ada")
    term.call("comments", "diagonal", "Each token sees itself.", "--question", "causal_mask")
    assert "Each token sees itself." in term.page("zoe")
    uses = {(u.comment.name, u.comment.question): u.used for u in autograder.bank_uses(term.folder)}
    assert uses == {
        ("diagonal", "masking/causal_mask"): 2, ("Diagonal", "masking/mask_scores"): 0,
        ("neat", ""): 1,
    }  # fmt: skip
    (row,) = [q for q in autograder.report(term.folder).questions if q.question == "causal_mask"]
    assert dict(row.comments) == {"diagonal": 2, "neat": 1}


def test_a_name_that_the_bank_lacks_is_reported_wherever_typed(term: Term) -> None:
    term.call("comments", "neat", "Well written.")
    with pytest.raises(UserError, match="no comment #net"):
        term.mark("ada", "causal_mask", comment="#net")
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        gradebook.find_comment("causal_mask", "masking", "masks", "ada").manual_comment = "#net"
        gradebook.db.commit()
    result = term.call("comments")
    assert (result.return_value, "not in the bank" in result.output) == (3, True)
    assert "no comment #net for masking/causal_mask" in term.call("feedback").output


def test_without_a_bank_formgraders_comment_is_shown_as_typed(term: Term) -> None:
    with pytest.raises(
        UserError, match=r'no comment #diagonal .*to add this one, run .*diagonal "TEXT"'
    ):
        term.mark("ada", "causal_mask", comment="#diagonal")
    term.mark("ada", "causal_mask", comment="See # diagonal.")
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        gradebook.find_comment("mask_scores", "masking", "masks", "ada").manual_comment = "#typed"
        gradebook.db.commit()
    page = term.page("ada")
    assert "See # diagonal." in page and "#typed" in page
    assert term.call("comments").return_value == 0


ISSUES = [
    {
        "author": {"login": "ada-codes"}, "title": "mask_scores in masks", "body": "It is right!",
        "createdAt": "2026-05-03T10:00:00Z", "url": "https://github.com/c/attention-1/issues/7",
    },
    {
        "author": {"username": "ben"}, "title": "Please look", "description": "The masks, all.",
        "created_at": "2026-05-03T11:00:00Z", "web_url": "https://git.example/c/r/-/issues/1",
    },
    {
        "user": {"login": "stranger"}, "title": "masks", "body": "",
        "html_url": "https://github.com/c/attention-9/issues/7",
    },
]  # fmt: skip


def test_an_issue_becomes_one_row_and_its_answer_is_shown(term: Term) -> None:
    path = term.folder.parent / "issues.json"
    path.write_text(json.dumps(ISSUES))
    result = term.call("requests", str(path))
    assert (result.return_value, "stranger" in result.output) == (3, True)
    term.call("requests", str(path))
    found = autograder.class_requests(term.folder)
    assert [(one.student, one.question, one.asked_at) for one in found] == [
        ("ada", "masking/mask_scores", "2026-05-03 10:00:00 UTC"),
        ("ben", "", "2026-05-03 11:00:00 UTC"),
    ]
    with pytest.raises(UserError, match="no open request for dropout/dropout"):
        term.mark("ada", "dropout", answer="Yes.")
    term.mark("ada", "mask_scores", answer="You are right.", points=2)
    assert term.score("ada") == 6.0
    assert {one.student: one.answer for one in class_changes(term.folder).requests} == {
        "ada": "You are right.", "ben": "",
    }  # fmt: skip
    term.mark("ben", "masks", answer="No.")
    assert [one.student for one in class_changes(term.folder).requests] == ["ben"]
    assert "ben asked" in term.call("changes").output
    assert "You asked for a second look" in term.page("ada")
    assert "You are right." in term.page("ada")
    assert term.call("requests").return_value == 0


def test_a_file_names_its_question_and_a_refusal_costs_nothing(term: Term) -> None:
    uploads = term.folder.parent / "uploads"
    (uploads / "zoe" / "masks").mkdir(parents=True)
    text = "The question is causal_mask: is my mask not the right one?\n"
    (uploads / "zoe" / "masks" / "regrade_request.txt").write_text(text, encoding="utf-8")
    before = term.score("zoe")
    term.call("requests", str(uploads))
    (found,) = autograder.class_requests(term.folder)
    assert (found.student, found.question) == ("zoe", "masking/causal_mask")
    term.mark("zoe", "causal_mask", answer="No, it is the transposed one.")
    assert term.score("zoe") == before
    assert "No, it is the transposed one." in term.page("zoe")


def test_a_table_of_requests_names_what_it_lacks(term: Term) -> None:
    path = term.folder.parent / "requests.csv"
    path.write_text("student,question,request\nAda L,causal_mask,why?\n")
    (one,) = autograder.bring_requests(term.folder, path, course=term.course.root).new
    assert (one.student, one.assignment, one.question) == ("ada", "masks", "masking/causal_mask")
    path.write_text("who,what\nada,why?\n")
    with pytest.raises(UserError, match="no column 'student'"):
        autograder.bring_requests(term.folder, path, course=term.course.root)


def test_work_waits_for_the_graders_of_question_and_student(term: Term) -> None:
    (term.folder / "graders.csv").write_text("question,grader\ndropout,vera\n")
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        for student in ("ada", "ben", "zoe"):
            for cell, exercise in (("check_dropout", "dropout"), ("check_causal_mask", "masking")):
                grade = gradebook.find_grade(cell, exercise, "masks", student)
                grade.needs_manual_grade = True
        gradebook.db.commit()
    found = autograder.graders_work(term.folder).waiting
    assert [(one.grader, one.question, one.students) for one in found] == [
        ("tim", "masking/causal_mask", ("ada", "zoe")),
        ("uli", "masking/causal_mask", ("ben",)),
        ("vera", "dropout/dropout", ("ada", "ben", "zoe")),
    ]
    term.mark("ada", "causal_mask", points=1)
    tims = autograder.graders_work(term.folder, "tim")
    assert [one.students for one in tims.waiting] == [("zoe",)]
    assert tims.graded == (("tim", "masks", "masking/causal_mask", 1),)
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("check_causal_mask", "masking", "masks", "zoe").manual_score = 1.0
        gradebook.db.commit()
    graded = autograder.graders_work(term.folder).graded
    assert ("formgrader", "masks", "masking/causal_mask", 1) in graded
    with pytest.raises(UserError, match="tim, uli, vera"):
        autograder.graders_work(term.folder, "tom")


def test_the_look_list_waits_until_a_person_has_acted(
    term: Term, make_result: Callable[..., SubmissionResult]
) -> None:
    whole = make_result("ada")
    masking, dropout = whole.exercises
    slow = replace(masking.questions[0], verdict=Verdict.TIMEOUT)
    late = replace(masking, questions=(slow, *masking.questions[1:]))
    names = ("ada", "ben", "zoe")
    results = [replace(whole, student=name, exercises=(late, dropout)) for name in names]
    assert tuple(places_to_review(term.folder, results)) == tuple((name, "masks") for name in names)
    term.mark("ada", "causal_mask", comment="An endless loop.")
    term.mark("ben", "causal_mask", points="auto")
    term.mark("zoe", "mask_scores", points=1)
    assert tuple(places_to_review(term.folder, results)) == (("zoe", "masks"),)
    autograder.withdraw(term.folder, "zoe", "masks", "left", course=term.course.root)
    assert tuple(places_to_review(term.folder, results)) == ()


def test_an_unused_file_waits_for_the_students_grader(term: Term) -> None:
    lines = (term.folder / "results.jsonl").read_text().splitlines()
    result = json.loads(lines[0]) | {"notes": ["look at masks.docx: nothing in it was used"]}
    (term.folder / "results.jsonl").write_text("\n".join([json.dumps(result), *lines[1:], ""]))
    (one,) = autograder.graders_work(term.folder).waiting
    assert one == WaitingAnswers("tim", "masks", "", "to review", ("ada",))
    assert "to review" in term.call("graders", "--grader", "tim").output
    term.mark("ada", "causal_mask", points="auto")
    assert autograder.graders_work(term.folder).waiting == ()


@pytest.mark.parametrize("is_anonymous", [False, True])
def test_pages_and_tables_leave_out_what_a_person_reviewed(term: Term, is_anonymous: bool) -> None:
    lines = (term.folder / "results.jsonl").read_text().splitlines()
    note = "look at masks.docx: nothing in it was used"
    results = [json.loads(line) | {"notes": [note]} for line in lines]
    (term.folder / "results.jsonl").write_text("\n".join([*map(json.dumps, results), ""]))
    term.mark("ada", "causal_mask", points="auto")
    term.mark("zoe", "causal_mask", comment="Please submit a Python file.")
    showing = DisplayOptions(is_anonymous=is_anonymous)
    table = autograder.export("csv", term.folder, showing=showing).path.read_text()
    page = autograder.export("markdown", term.folder, showing=showing).path.read_text()
    looks = [one.look for one in autograder.report(term.folder, showing).students]
    assert (table.count("masks.docx"), page.count("nothing in it")) == (1, 1)
    assert sorted(looks) == [(), (), (f"masks: {note}",)]


def test_an_answer_to_grade_is_not_listed_again_for_review(term: Term) -> None:
    path = term.folder / "results.jsonl"
    result = json.loads(path.read_text().splitlines()[0])
    result["exercises"][0]["status"] = "unreadable"
    path.write_text(json.dumps(result) + "\n")
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("check_causal_mask", "masking", "masks", "ada")
        grade.needs_manual_grade = True
        gradebook.db.commit()
    (one,) = autograder.graders_work(term.folder).waiting
    assert (one.why, one.question) == ("to grade", "masking/causal_mask")


def test_changes_remembers_the_manual_scores_that_were_seen(term: Term) -> None:
    def seen() -> list[tuple[str, float]]:
        manual = class_changes(term.folder).manual
        return [(one.student, one.after.points) for one in manual if one.after]

    term.mark("ada", "mask_scores", points=1.0)
    assert seen() == seen() == [("ada", 1.0)]
    term.mark("ben", "mask_scores", points=1.5)
    assert seen() == seen() == [("ben", 1.5)]
    term.mark("ada", "mask_scores", points=0.5)
    assert seen() == [("ada", 0.5)]
    term.mark("ada", "mask_scores", points=1.0)
    assert seen() == [("ada", 1.0)]
    with (term.folder / "results.jsonl").open("a") as file:
        file.write((term.folder / "results.jsonl").read_text().splitlines()[2] + "\n")
    assert seen() == []
    assert len(class_changes(term.folder, since_first=True).manual) == 2


@pytest.mark.parametrize("platform", ["moodle", "gradescope"])
def test_a_platforms_comment_has_the_penalty_and_the_graders_words(
    term: Term, platform: str
) -> None:
    term.mark("ben", "mask_scores", points=1.0, comment="A <line> is missing.")
    written = autograder.export(platform, term.folder, course=term.course.root)
    texts = "".join(p.read_text() for p in written.path.rglob("*") if p.is_file())
    assert "Deducted because this was submitted late: 2.5 points." in texts
    words = html.unescape(texts)
    assert "A grader set the points for this question. A grader wrote: A <line> is" in words
    assert ("<line>" in texts) is (platform == "gradescope")
