"""Writes students' feedback pages, with grades, findings and next steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..classroom import Lateness
from ..course import Course
from ..course.ways import AlternativeSolution, ways_of
from ..files import replace_file
from ..records import (
    ExerciseResult,
    Key,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    TestResult,
    Verdict,
)
from ..results.last import last_of
from ..results.manual import HumanGrade, HumanWork, Request, counted
from ..results.wording import (
    NEXT_STEPS,
    VERDICT_WORDS,
    exercise_advice,
    mistake_text,
    shortened,
    title_of,
)
from ..submission.bounded import BoundedReader
from ..submission.class_files import submission_folder
from .answer_code import code_reader, definitions_of
from .delivery import page_of
from .plain_text import arrival_sentence, feedback_text
from .rendering import render

#: other correct answers, keyed by question
Ways = Mapping[str, tuple[AlternativeSolution, ...]]

_LONGEST_MESSAGE = 4_000
#: a message of at most this many lines is never folded, because "The same as in ..." has two
_OPEN_LINES = 3


@dataclass(frozen=True, slots=True)
class _Test:
    """A test's line on a page; `message` is empty if an earlier test has the same message.

    If a message is long and is not the question's first, the page shows only its first line,
    `unfolds`, until the user clicks on that line.
    """

    result: TestResult
    message: str
    unfolds: str


@dataclass(frozen=True, slots=True)
class _Question:
    result: QuestionResult
    anchor: str
    grade: HumanGrade
    requests: tuple[Request, ...]
    tone: str
    verdict: str
    mistake: str
    next_step: str
    tests: tuple[_Test, ...]
    code: str
    #: other correct answers, shown if the answer is correct
    ways: tuple[AlternativeSolution, ...]


@dataclass(frozen=True, slots=True)
class _Exercise:
    result: ExerciseResult
    advice: str
    questions: tuple[_Question, ...]


def write_feedback(
    course: Course,
    class_folder: Path,
    results: Iterable[SubmissionResult],
    human: HumanWork | None = None,
    arrivals: Mapping[Key, Lateness] | None = None,
) -> list[Path]:
    """Writes feedback/<student>/<assignment>/feedback.html for each graded submission.

    The same content is written next to it as plain text, `feedback.txt`. `human` contains graders'
    entries in the gradebook, which replace automatic points and are shown on the page. `arrivals`
    says when submissions arrived. A student's name is encoded if it is not a safe folder name.
    Raises `UserError` if a page can't be written.
    """
    own = {assignment.name: assignment for assignment in course.assignments}
    work = human or HumanWork()
    ways: dict[str, Ways] = {}
    written: list[Path] = []
    with code_reader() as reader:
        for result in last_of(results):
            if result.status is SubmissionStatus.GRADED:
                assignment = own.get(result.assignment)
                title = title_of(result.assignment, course.titles)
                due = assignment.duedate if assignment else None
                submitted = submission_folder(class_folder, result.student, result.assignment)
                final, late = counted(result, work), (arrivals or {}).get(result.key, Lateness())
                arrival = arrival_sentence(late, due)
                if assignment and assignment.name not in ways:
                    ways[assignment.name] = ways_of(course, assignment)
                own_ways = ways.get(result.assignment, {})
                page = _page(final, title, submitted, work, arrival, reader, own_ways)
                target = page_of(class_folder, result.key)
                written.append(replace_file(target, page))
                text = feedback_text(final, title, work, arrival)
                replace_file(target.with_suffix(".txt"), text)
    return written


def _page(
    result: SubmissionResult,
    title: str,
    submitted: Path,
    human: HumanWork,
    arrival: str,
    reader: BoundedReader,
    ways: Ways,
) -> str:
    exercises = [
        _exercise(result, exercise, definitions_of(submitted, exercise, reader), human, ways)
        for exercise in result.exercises
    ]
    questions = [question for exercise in exercises for question in exercise.questions]
    open_ones = [question for question in questions if question.tone != "right"]
    return render(
        "feedback.html.jinja",
        result=result,
        penalty=human.penalty(result),
        requests=human.asked(result.key, ""),
        arrival=arrival,
        title=title,
        exercises=exercises,
        right=len(questions) - len(open_ones),
        questions=len(questions),
        first_open=open_ones[0] if open_ones else None,
    )


def _exercise(
    result: SubmissionResult,
    exercise: ExerciseResult,
    code: Mapping[str, str],
    human: HumanWork,
    ways: Ways,
) -> _Exercise:
    return _Exercise(
        result=exercise,
        advice=exercise_advice(exercise),
        questions=tuple(
            _question(
                question,
                code.get(question.question, ""),
                human.of(result, exercise.exercise, question.question),
                human.asked(result.key, f"{exercise.exercise}/{question.question}"),
                f"{exercise.exercise}-{question.question}",
                ways.get(question.question, ()),
            )
            for question in exercise.questions
        ),
    )


def _question(
    question: QuestionResult,
    code: str,
    grade: HumanGrade,
    requests: tuple[Request, ...],
    anchor: str,
    ways: tuple[AlternativeSolution, ...],
) -> _Question:
    return _Question(
        result=question,
        anchor=anchor,
        grade=grade,
        requests=requests,
        tone=_tone(question.verdict),
        verdict=VERDICT_WORDS[question.verdict],
        mistake=mistake_text(question.misconception),
        next_step=NEXT_STEPS[question.verdict],
        tests=_tests(question),
        code=code,
        ways=ways if question.verdict is Verdict.CORRECT else (),
    )


def _tone(verdict: Verdict) -> str:
    return {
        Verdict.CORRECT: "right",
        Verdict.PARTIAL: "partly",
        Verdict.NOT_IMPLEMENTED: "empty",
        Verdict.MISSING: "empty",
    }.get(verdict, "wrong")


def _tests(question: QuestionResult) -> tuple[_Test, ...]:
    shown: set[str] = set()
    tests: list[_Test] = []
    for test in question.tests:
        text = "" if test.message in shown else shortened(test.message, _LONGEST_MESSAGE)
        lines = text.strip().splitlines()
        tests.append(_Test(test, text, lines[0] if len(lines) > _OPEN_LINES and any(shown) else ""))
        shown.add(test.message)
    return tuple(tests)
