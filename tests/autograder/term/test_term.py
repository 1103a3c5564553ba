"""Plays a whole term of a made-up class, and compares every total with an independent calculation.

Six assignments are collected from Canvas, Moodle, Gradescope and a code classroom. Some submissions
are late, some very late; one student has an extension, one has extra time, and all have a budget of
late days. One student submits again, one submits worse work (the best submission counts), and one
asks for a second look. Moodle has groups and a team. One suite is fixed during the term, scores are
entered by hand, two students submit the same code, and one student leaves. Grades are returned to
the platforms, and a second class is pulled from them. TERM_STUDENTS is the number of students (12),
and TERM_COURSE is the course: `doubles`, or `attention` from this repository (`make term`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, Page, sync_playwright

import autograder
from autograder.classroom import Selection
from autograder.exports import Missing
from autograder.feedback import DeliveryFormat, write_similar
from autograder.live import RetryPolicy, Token
from autograder.operations.connection import Access
from autograder.operations.grades import DisplayOptions
from autograder.results.changes import Cause
from autograder.results.wording import amount

from ..live.servers import Fault, Response
from .connected import canvas_term, hand_in, moodle_term
from .courses import Attention, Content, Doubles
from .platforms import read_table
from .story import (
    AGAIN,
    ASKS,
    DUE,
    IN_DOUBT,
    LATE,
    LEAVES,
    SAME,
    WEEKS,
    WHY,
    WORSE,
    Term,
    play,
)

STUDENTS = int(os.environ.get("TERM_STUDENTS", "12"))
COURSES: dict[str, type[Content]] = {"doubles": Doubles, "attention": Attention}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
NEAR = 1e-3


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory, fork_server: object) -> Term:
    """Returns the class at the end of the term."""
    content = COURSES[os.environ.get("TERM_COURSE", "doubles")]()
    term = Term(tmp_path_factory.mktemp("term"), content, STUDENTS)
    play(term)
    return term


def test_every_total_is_that_of_an_independent_calculation(term: Term) -> None:
    number_of = term.number_of()
    rows = read_table(autograder.export("csv", term.folder).path)
    by_number = {number_of[row["student"]]: row for row in rows}
    assert len(by_number) == len(rows) == STUDENTS - 1
    for n, row in by_number.items():
        for week in WEEKS:
            cell, total = row[f"{term.name(week)}/total"], term.total(n, week)
            assert cell == "" if total is None else float(cell) == pytest.approx(total), (n, week)


def test_every_question_is_that_of_an_independent_calculation(term: Term) -> None:
    number_of = term.number_of()
    for result in autograder.final_results(term.folder):
        n, week = number_of[result.student], term.content.names.index(result.assignment) + 1
        got = {
            (exercise.exercise, question.question): question.score
            for exercise in result.exercises
            for question in exercise.questions
        }
        assert got == pytest.approx(dict(term.questions(n, week))), (n, week)


def test_the_table_shows_who_is_late_and_the_cost(term: Term) -> None:
    number_of = term.number_of()
    for row in read_table(autograder.export("csv", term.folder).path):
        n = number_of[row["student"]]
        for week in WEEKS:
            if not term.counts(n, week):
                continue
            name = term.name(week)
            is_marked = WEEKS[week] == "canvas" and n % 4 == 1
            is_late = bool(term.late(n, week)) and week not in term.late_days(n)
            assert bool(row[f"{name}/late"]) == (is_late or is_marked), (n, week)
            cost = float(row[f"{name}/penalty"] or 0)
            assert cost == pytest.approx(term.penalty(n, week)), (n, week)


def test_the_fixed_suite_is_reported_and_export_reminds(term: Term) -> None:
    number_of = term.number_of()
    assert term.changes["first"].changes == ()
    assert any("nobody has looked" in note for note in term.notes["fixed"])
    found = term.changes["fixed"].changes
    assert {(c.assignment, c.exercise, c.question) for c in found} == {
        (term.name(1), *term.content.unfair)
    }
    before = {n: term.submitted[n, 1].before()[term.content.unfair] for n in range(STUDENTS)}
    after = {n: term.submitted[n, 1].points[term.content.unfair] for n in range(STUDENTS)}
    change_of = {number_of[change.student]: change for change in found}
    for n in range(STUDENTS):
        difference = change_of[n].difference if n in change_of else 0.0
        assert difference == pytest.approx(after[n] - before[n]), n
    assert all(Cause.SUITE in change.causes for change in found)
    (doubt,) = term.changes["fixed"].in_doubt
    assert (number_of[doubt.student], doubt.entered) == (IN_DOUBT, 0.5)


def test_resubmissions_and_scores_by_hand_are_reported(term: Term) -> None:
    number_of = term.number_of()
    found = term.changes["again"]
    assert {(number_of[c.student], c.assignment) for c in found.changes} == {
        (AGAIN, term.name(4)), (AGAIN, term.name(6)), (WORSE, term.name(4)),
    }  # fmt: skip
    worse = [c for c in found.changes if number_of[c.student] == WORSE]
    assert {(c.assignment, c.difference) for c in worse} == {(term.name(4), 0.0)}
    assert all(change.causes == (Cause.SUBMISSION,) for change in found.changes)
    won = sum(change.difference for change in found.changes)
    assert won == pytest.approx(term.maximum(4) + term.maximum(6))
    reported = [number_of[c.student] for look in term.changes.values() for c in look.manual]
    assert sorted(reported) == sorted(by_hand(term)), "each score by hand is reported once"
    (request,) = found.requests
    assert (number_of[request.student], request.request) == (ASKS, WHY)
    assert (request.answer, request.answered_by) == ("You are right.", "tom")
    assert not any("looked" in note for note in autograder.export("csv", term.folder).notes)


def test_a_night_by_cron_collects_grades_and_reports(term: Term) -> None:
    status, log = term.night
    assert status == 3, log
    assert "request for a second look" in log and "Traceback" not in log
    assert re.search(r"^3 graded, ", log, re.MULTILINE), "two new attempts, and a worse one"
    assert f"a different submission of {term.name(4)} counts" in log


def by_hand(term: Term) -> set[int]:
    """Returns the students whose points were changed by hand."""
    return {
        n
        for (n, week), (question, points) in term.manual.items()
        if points != term.submitted[n, week].points[question]
    }


def test_late_days_are_those_of_an_independent_calculation(term: Term) -> None:
    number_of = term.number_of()
    rows = {number_of[r["student"]]: r for r in read_table(term.folder / "grades.csv")}
    found = {
        (n, week): int(row[f"{term.name(week)}/late_days"] or 0)
        for n, row in rows.items()
        for week in DUE
        if term.counts(n, week)
    }
    assert found == {(n, week): term.late_days(n).get(week, 0) for n, week in found}
    assert sum(found.values()) > 1
    page = term.folder / "feedback" / term.folder_of(LATE, 2) / term.name(2) / "feedback.txt"
    autograder.write_feedback(term.folder, course=term.root)
    assert "1 late day of your budget" in page.read_text()


def test_nbgraders_own_gradebook_has_the_same_totals(term: Term) -> None:
    number_of = term.number_of()
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        for week in WEEKS:
            for row in gradebook.assignment_submissions(term.name(week)):
                n = number_of[row.student.id]
                if term.counts(n, week):
                    points = row.score - row.late_submission_penalty
                    assert points == pytest.approx(term.total(n, week)), (n, week)


def test_a_worse_submission_is_kept_and_the_best_one_counts(term: Term) -> None:
    name = term.folder_of(WORSE, 4)
    assert term.total(WORSE, 4) == term.maximum(4)
    kept = term.folder / "earlier" / name / term.name(4)
    assert len(list(kept.iterdir())) == 1


def test_canvas_gets_back_the_whole_term(term: Term) -> None:
    showing = DisplayOptions(missing=Missing.ZERO)
    written = autograder.export("canvas", term.folder, showing=showing, roster=term.gradebook())
    rows = [row for row in read_table(written.path) if row["ID"]]
    assert len(rows) == STUDENTS
    for row in rows:
        n = int(row["ID"]) - 100
        for week in WEEKS:
            cell, total = row[term.column(week)], term.total(n, week) or 0.0
            assert float(cell) == pytest.approx(total, abs=NEAR), (n, week)


@pytest.mark.parametrize("missing", [Missing.BLANK, Missing.ZERO])
@pytest.mark.parametrize("week", [2, 5])
def test_moodle_gets_back_what_everybody_earned(term: Term, week: int, missing: Missing) -> None:
    showing = DisplayOptions(Selection(assignment=term.name(week)), missing)
    sheet = term.worksheet(week)
    written = autograder.export("moodle", term.folder, showing=showing, roster=sheet)
    rows = read_table(written.path)
    assert len(rows) == STUDENTS
    numbers = {f"Participant {s.participant(week)}": s.n for s in term.students}
    for row in rows:
        n = numbers[row["Identifier"]]
        total, cell = term.total(n, week), row["Grade"]
        if total is None:
            assert cell == ("0" if missing is Missing.ZERO else ""), n
        else:
            assert float(cell) == pytest.approx(total, abs=NEAR), n


@pytest.mark.parametrize("week", [3])
def test_gradescope_gets_back_what_everybody_earned(term: Term, week: int) -> None:
    showing = DisplayOptions(Selection(assignment=term.name(week)))
    folder = autograder.export("gradescope", term.folder, showing=showing).path
    number_of = term.number_of()
    found = {
        number_of[path.parent.parent.name]: json.loads(path.read_text())["score"]
        for path in folder.glob(f"*/{term.name(week)}/results.json")
    }
    totals = {n: term.total(n, week) for n in range(STUDENTS) if term.counts(n, week)}
    assert found == pytest.approx(totals)


def test_two_equal_answers_are_the_first_pair_shown(term: Term) -> None:
    number_of = term.number_of()
    chosen = DisplayOptions(Selection(assignment=term.name(5)))
    pairs = autograder.similar(term.folder, chosen, course=term.root)
    found = [
        (pair.assignment, *sorted(number_of[side.student] for side in (pair.left, pair.right)))
        for pair in pairs
    ]
    assert found[0] == (term.name(5), *SAME)


def test_the_report_has_the_numbers_of_an_independent_calculation(term: Term) -> None:
    report = autograder.report(term.folder, course=term.root)
    counted = [(n, week) for n in range(STUDENTS) for week in WEEKS if term.counts(n, week)]
    assert (report.submissions, report.failed) == (len(counted), 0)
    for question in report.questions:
        week = term.content.names.index(question.assignment) + 1
        key = question.exercise, question.question
        points = [
            term.questions(n, own)[key]
            for n, own in counted
            if own == week and question.exercise not in term.submitted[n, own].unreadable
        ]
        assert question.submissions == len(points)
        assert question.mean == pytest.approx(sum(points) / len(points)), key
    number_of = term.number_of()
    scores = {number_of[student.student]: student.score for student in report.students}
    assert LEAVES not in scores
    for n, score in scores.items():
        assert score == pytest.approx(sum(term.total(n, week) or 0.0 for week in WEEKS)), n


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


def test_the_report_opens_and_shows_everybody(term: Term, browser: Browser) -> None:
    page = _opened(browser, autograder.write_report(term.folder, course=term.root))
    students = {term.folder_of(n, 3) for n in range(STUDENTS)} - {term.folder_of(LEAVES, 3)}
    text = page.locator("body").inner_text()
    assert {name for name in students if name not in text} == set()


def test_the_other_pages_open(term: Term, browser: Browser) -> None:
    again = autograder.class_changes(term.folder, since_first=True)
    shown = _opened(browser, autograder.write_changes(again, term.folder / "changes.html"))
    text = shown.locator("body").inner_text()
    assert {change.student for change in again.changes if change.student not in text} == set()
    pairs = autograder.similar(term.folder, course=term.root)
    shown = _opened(browser, write_similar(pairs, term.folder / "similar.html"))
    text = shown.locator("body").inner_text()
    sides = [side.student for pair in pairs[:3] for side in (pair.left, pair.right)]
    assert pairs and {name for name in sides if name not in text} == set()


def test_feedback_says_the_points_that_count(term: Term, browser: Browser) -> None:
    number_of = term.number_of()
    pages = autograder.write_feedback(term.folder, course=term.root)
    assert len(pages) == sum(term.counts(n, week) for n in range(STUDENTS) for week in WEEKS)
    for path in pages:
        n, week = number_of[path.parts[-3]], term.content.names.index(path.parts[-2]) + 1
        text = path.with_suffix(".txt").read_text()
        assert f"{amount(term.total(n, week) or 0)} of {amount(term.maximum(week))}" in text
    _opened(browser, pages[-1])


@pytest.mark.parametrize(("week", "way"), [(4, DeliveryFormat.CANVAS), (5, DeliveryFormat.MOODLE)])
def test_feedback_reaches_the_right_students(term: Term, week: int, way: DeliveryFormat) -> None:
    chosen = Selection(assignment=term.name(week))
    autograder.write_feedback(term.folder, course=term.root, selection=chosen)
    (archive,) = autograder.deliver_feedback(term.folder, way, selection=chosen).paths
    numbers = {
        str(s.participant(week) if way is DeliveryFormat.MOODLE else s.canvas): s.n
        for s in term.students
    }
    with zipfile.ZipFile(archive) as pages:
        # both platforms use the first number in a name as the person's
        found = {numbers[re.findall(r"_(\d+)_", name)[0]] for name in pages.namelist()}
    assert found == {n for n in range(STUDENTS) if term.counts(n, week)}


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_flaky_platform_has_the_totals_after_a_push(
    term: Term, platform: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(term.folder, tmp_path / "course")
    expected = {
        (week, n): pytest.approx(total, abs=0.01)
        for n in range(STUDENTS)
        for week in WEEKS
        if term.counts(n, week) and (total := term.total(n, week)) is not None
    }
    with (canvas_term if platform == "canvas" else moodle_term)(term) as (server, grades):
        server.faults += [
            Fault("grades", Response(b"", 502), times=2, skip=1),
            Fault("grades", Response(b"", 429), skip=3),
            Fault("grades", None, skip=2, is_after=True),
        ]
        access = Access(server.course, token=Token(server.token), retry=RetryPolicy(lambda _: None))
        report = autograder.push(
            platform, folder, approve=lambda plan: True, access=access, course=term.root
        )
        assert report.waits == ()
        assert [fault for fault in server.faults if fault.times] == []
        assert grades() == expected
        again = autograder.push(
            platform, folder, approve=lambda plan: True, access=access, course=term.root
        )
    assert (again.plan.changes, again.plan.same) == ((), len(expected))


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_pulled_class_earns_what_it_handed_in(term: Term, platform: str, tmp_path: Path) -> None:
    folder = tmp_path / "pulled"
    with (canvas_term if platform == "canvas" else moodle_term)(term) as (server, _):
        expected = hand_in(term, server)
        access = Access(server.course, token=Token(server.token), retry=RetryPolicy(lambda _: None))
        for _ in range(2):  # the second pull brings nothing new
            report = autograder.pull(
                platform, folder, approve=lambda plan: True, access=access, course=term.root
            )
    assert not report.plan.changes_something
    assert autograder.grade(folder, course=term.root, jobs=2).run.failed == 0
    numbers = {name: number for number, name in enumerate(term.content.names, 1)}
    got = {
        (result.student, numbers[result.assignment]): {
            (exercise.exercise, question.question): question.score
            for exercise in result.exercises
            for question in exercise.questions
        }
        for result in autograder.final_results(folder)
    }
    assert got.keys() == expected.keys()
    assert all(got[key] == pytest.approx(expected[key]) for key in expected)


def _opened(browser: Browser, path: Path) -> Page:
    """Opens a page, which must not load other files or raise an error."""
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    assert (asked, errors) == ([path.as_uri()], [])
    return page
