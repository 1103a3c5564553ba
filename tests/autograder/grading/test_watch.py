"""A file that ends its grading job is reported and left out, and affects no other student."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.errors import AnswerMemory
from autograder.grading import job, submissions
from autograder.grading.judging.plan import PlannedImplementation
from autograder.grading.judging.verdicts import blamed
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.watch import Position, Watch
from autograder.records import Exercise, QuestionResult, SubmissionStatus
from autograder.results.review import reasons_to_look
from autograder.submission import SubmittedExercise, read_exercise

from .conftest import ASSIGNMENT, ROOT, ClassFolder

#: ways to end a job: the limit on CPU time, a crash, or waiting forever
ENDINGS: dict[str, Callable[[], object]] = {
    "time": lambda: signal.raise_signal(signal.SIGXCPU),
    "crash": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sleep": lambda: time.sleep(3600),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}
MARK = "# ends the job"


@pytest.fixture
def hostile(a_class: ClassFolder) -> ClassFolder:
    """Returns a class with a student whose answers are correct, and one whose file ends its job."""
    solution = (ROOT / "solutions" / ASSIGNMENT / "scores.py").read_text()
    a_class.submit("mallory", scores=f"{solution}\ndef query_scores(*args): return 7  {MARK}\n")
    a_class.submit("zoe")
    return a_class


@pytest.fixture(autouse=True)
def short_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the grader abandon an idle job after four seconds."""
    monkeypatch.setattr(job, "quiet_seconds", lambda assignment: 4.0)
    monkeypatch.setattr(job, "whole_seconds", lambda assignment: 3600.0)


@pytest.mark.parametrize("ending", ["time", "crash", "sleep"])
def test_an_answer_that_ends_its_job_costs_its_own_question(
    ending: str, hostile: ClassFolder, monkeypatch: pytest.MonkeyPatch, questions: Any
) -> None:
    call = PlannedImplementation.call

    def ends(self: PlannedImplementation, name: str, args: Any, *way: Any) -> Any:
        outcome = call(self, name, args, *way)
        if type(outcome.value) is int:
            ENDINGS[ending]()
        return outcome

    monkeypatch.setattr(PlannedImplementation, "call", ends)
    mallory, zoe = sorted(hostile.grade(jobs=1).graded, key=lambda result: result.student)
    assert mallory.status is SubmissionStatus.GRADED
    assert questions(mallory)["query_scores"] == "timeout"
    assert "correct" in questions(mallory).values()
    assert zoe.score == zoe.max_score
    assert hostile.grade(jobs=1, resume=True).already_graded == 2


@pytest.mark.parametrize("ending", ["time", "crash", "stop"])
def test_naming_that_ends_its_job_costs_the_name_only(
    ending: str, hostile: ClassFolder, monkeypatch: pytest.MonkeyPatch, questions: Any
) -> None:
    explain = Diagnosis.explain

    def ends(self: Diagnosis, result: QuestionResult, *rest: Any) -> QuestionResult:
        if result.question == "query_scores" and result.score < result.max_score:
            ENDINGS[ending]()
        return explain(self, result, *rest)

    monkeypatch.setattr(Diagnosis, "explain", ends)
    mallory, zoe = sorted(hostile.grade(jobs=1).graded, key=lambda result: result.student)
    assert questions(mallory)["query_scores"] in ("wrong", "error", "partial")
    assert zoe.score == zoe.max_score


@pytest.mark.parametrize("ending", ["time", "crash"])
def test_a_file_that_ends_its_reader_is_unreadable(
    ending: str, hostile: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(folder: Path, exercise: Exercise) -> SubmittedExercise:
        answers = read_exercise(folder, exercise)
        if MARK in answers.text:
            ENDINGS[ending]()
        return answers

    monkeypatch.setattr(submissions, "read_exercise", ends)
    mallory, zoe = sorted(hostile.grade(jobs=1).graded, key=lambda result: result.student)
    assert [e.exercise for e in mallory.exercises if e.status == "unreadable"] == ["scores"]
    assert mallory.score > 0
    assert zoe.score == zoe.max_score


def test_memory_needed_to_judge_a_reply_is_the_answers_fault() -> None:
    assert isinstance(blamed(MemoryError()), AnswerMemory)
    assert isinstance(
        blamed(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")), AnswerMemory
    )
    assert isinstance(blamed(AssertionError("wrong")), AssertionError)


def test_each_stage_is_charged_for_the_time_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 11.0, 13.0, 20.0, 24.0, 30.0, 32.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(times))
    watch = Watch()
    watch.enter(Position("softmax"))
    watch.enter(Position("softmax", "normalize"))
    watch.enter(Position("softmax", "normalize", is_naming=True))
    watch.enter(Position("softmax", "exponentiate"))
    watch.leave()
    watch.enter(Position("scores"))
    watch.enter_tables()
    assert watch.costs == {"read": 1.0 + 2.0, "judge": 2.0 + 4.0, "name": 7.0, "tables": 0.0}
    assert watch.place() == Position("scores")


def test_the_last_work_of_a_lost_job_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 3.0])
    monkeypatch.setattr(time, "thread_time", lambda: next(times))
    watch = Watch()
    watch.enter(Position("softmax"))
    watch.enter(Position("softmax", "normalize", is_naming=True))
    watch.book_end(33.0)
    watch.book_end(34.0)
    assert watch.costs == {"read": 2.0, "judge": 0.0, "name": 30.0, "tables": 0.0}


def test_a_table_of_known_mistakes_has_more_time(
    monkeypatch: pytest.MonkeyPatch, course: Course
) -> None:
    watch, now = Watch(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    waits = job.JobTimeout(watch, pid=0)
    waits.begin(course.assignment(ASSIGNMENT))
    watch.enter_tables()
    for now[0] in range(5, 1_800, 5):
        assert not waits.is_out()
    now[0] = 1806.0
    assert waits.is_out()


@pytest.mark.parametrize("in_tables", [False, True])
def test_time_while_the_grader_was_stopped_is_not_the_jobs(
    in_tables: bool, monkeypatch: pytest.MonkeyPatch, course: Course
) -> None:
    watch, now = Watch(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    waits = job.JobTimeout(watch, pid=0)
    waits.begin(course.assignment(ASSIGNMENT))
    if in_tables:
        watch.enter_tables()
        now[0] = 5.0
        assert not waits.is_out()
    now[0] += 86_400.0
    assert not waits.is_out()
    now[0] = waits.due + 1.0
    assert waits.is_out() is not in_tables


def test_the_search_for_a_mistake_can_not_cost_the_score(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Diagnosis, *given: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(Diagnosis, "diagnose", fail)
    result = a_class.grade_one(scores="def query_scores(x, q):\n    return x.sum(-1)\n")
    assert 0 < result.score < result.max_score
    (look,) = reasons_to_look(result)
    assert re.search(r"query_scores: its score is not affected.* KeyError \(.*, line \d+", look)
