"""Judges an exercise's questions; judges a question again if its answer uses a wrong answer."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..errors import AnswerFault, AnswerTimeout, SandboxError
from ..records import Assignment, Exercise, ExerciseStatus, Limits, QuestionResult
from ..sandbox import Budget, ForkServer
from ..sandbox.replies import Batch, RawReply
from ..sandbox.session import Session
from ..submission import LOOK, SubmittedExercise
from ..suite.forbidden_calls import evasions
from .judging.judgement import Judgement, LimitedCache
from .judging.parts import parts_given
from .judging.plan import PlannedImplementation, Plans
from .judging.remote import RemoteImplementation
from .judging.right_answers import (
    NOT_JUDGED_AGAIN,
    ReferenceSubstitution,
    functions_to_substitute,
)
from .judging.suites import SuiteRunner
from .judging.verdicts import TestOutcome
from .naming.diagnosis import Diagnosis
from .watch import CPU_SECONDS, Position, Watch

_TOO_LONG = (
    f"judging the results of this answer takes more than {CPU_SECONDS} s of computing time; "
    "return only what the docstring asks for"
)

#: the maximum number of submitted modules whose results are kept
_MAX_TEXTS = 1000
#: for the course's own code, the limit on reply bytes is multiplied by this number
_MOST_TESTS = 4
#: the beginning of the reply if the answer reads a name whose defining statement has failed
_UNLOADED = b'{"U": ["unloaded", '


class ExerciseGrader:
    """Judges exercises with collected suites; shares cached outcomes between submissions."""

    def __init__(
        self, runner: SuiteRunner, fork_server: ForkServer, diagnoses: Mapping[Path, Diagnosis]
    ) -> None:
        self._runner = runner
        self._fork_server = fork_server
        self._diagnoses = diagnoses
        self._plans = Plans(runner)
        self._outcomes: LimitedCache[TestOutcome] = LimitedCache()
        self._texts: LimitedCache[_JudgedText] = LimitedCache(_MAX_TEXTS)
        self._given: dict[Path, tuple[str, ...]] = {}

    def prepare(self, exercises: Sequence[Exercise], seed: int) -> None:
        """Makes the exercises' plans, so that processes that are forked later share them."""
        for exercise in exercises:
            self._fork_server.hold(self._plans.of(exercise.hidden_suite, seed).batch)

    def results(
        self,
        assignment: Assignment,
        exercise: Exercise,
        answers: SubmittedExercise,
        seed: int,
        watch: Watch,
    ) -> tuple[tuple[QuestionResult, ...], tuple[str, ...]]:
        """Returns the result for each question, and notes for the student; updates `watch`.

        Once two workers have given the same replies for a submitted text, the results are certain,
        and the same text is not executed again.
        """
        key = exercise.hidden_suite, seed, _digest_of(answers)
        before = self._texts.get(key)
        if before is not None and before.is_certain:
            return before.results, before.notes
        task = _Task(assignment, exercise, answers, seed, watch)
        results, notes = self._results(task)
        if task.replies is not None and not watch.left_out:
            judged = _JudgedText(results, notes, tuple(task.replies))
            self._texts.put(key, replace(judged, is_certain=judged == before))
        return results, notes

    def _results(self, task: _Task) -> tuple[tuple[QuestionResult, ...], tuple[str, ...]]:
        exercise, answers = task.exercise, task.answers
        with closing(self._planned(task)) as worker:
            results = self._named(task, worker, self._judged(task, worker))
        notes = []
        for number, result in enumerate(results):
            if result.verdict in NOT_JUDGED_AGAIN:
                continue
            names = functions_to_substitute(exercise, answers.text, results, result)
            if names and (better := self._again(task, result, names)) is not None:
                results[number] = better
                notes.append(_about_lending(result.question, names))
        if task.ruled and (ways := evasions(answers.text, answers.questions)):
            notes.append(_about_evasions(sorted(task.ruled), ways))
        notes += [_about_naming(*failure) for failure in task.not_named.items()]
        return tuple(results), tuple(notes)

    def _again(
        self, task: _Task, result: QuestionResult, names: Sequence[str]
    ) -> QuestionResult | None:
        """Judges a question again, with the solution's versions of the functions in `names`.

        Returns None if the score is not higher. The solution runs in a separate worker, which
        receives no student's text.
        """
        text = task.exercise.solution.read_text(encoding="utf-8")
        solution = replace(task, answers=replace(task.answers, text=text, broken={}))
        reference = RemoteImplementation(*self._worker_of(solution), given=self._given_to(task))
        substitution = ReferenceSubstitution(reference, names)
        with closing(reference), closing(self._planned(task, result.question, substitution)) as own:
            again = self._judged(task, own, result.question)
            better = again[0].score > result.score
            return self._named(task, own, again)[0] if better else None

    def _planned(
        self,
        task: _Task,
        only: str | None = None,
        substitution: ReferenceSubstitution | None = None,
    ) -> PlannedImplementation:
        """Returns a worker that answers all questions, or only one question, in a single batch."""
        plan = self._plans.of(task.exercise.hidden_suite, task.seed, only)
        return PlannedImplementation(
            *self._worker_of(task), plan, substitution, self._given_to(task)
        )

    def _judged(
        self, task: _Task, worker: PlannedImplementation, only: str | None = None
    ) -> Sequence[QuestionResult]:
        suite, seed = task.exercise.hidden_suite, task.seed
        plan = self._plans.of(suite, seed, only)
        begin = partial(task.begin, worker)
        judgement = Judgement(suite, plan, worker, self._outcomes, begin)
        try:
            return self._runner.judge(suite, worker, seed, judgement, only)
        finally:
            task.ruled.update(worker.ruled)
            task.add(worker.replies_hash())

    def _named(
        self, task: _Task, worker: PlannedImplementation, results: Sequence[QuestionResult]
    ) -> list[QuestionResult]:
        """Adds the names of mistakes to the results.

        To name a mistake, calls are made in the worker that was judged, because starting a new
        worker would take as long as the calls. A new worker is started only if the old one has
        ended, if a thread that an answer started is still running in it, or if the answer may have
        kept random numbers from earlier calls.
        """
        diagnosis = self._diagnoses[task.exercise.hidden_suite]
        named = []
        for result in results:
            place = Position(task.exercise.name, result.question, is_naming=True)
            task.watch.enter(place)
            if place in task.watch.left_out:
                named.append(result)
                continue
            try:
                task.watch.enter_tables()
                diagnosis.prepare(result)
                task.watch.enter(place)
                if diagnosis.may_keep_draws(result):
                    worker.close()
                ask = partial(_probed, task, worker, result.question)
                named.append(diagnosis.explain(result, ask, task.answers.text))
            except SandboxError:
                raise
            except Exception as error:  # a fault in the search must not cost the student a verdict
                named.append(result)
                task.not_named[result.question] = error
        return named

    def _worker_of(
        self, task: _Task
    ) -> tuple[Callable[[], Session], SubmittedExercise, Limits, int]:
        return lambda: self._open(task), task.answers, task.assignment.limits, task.seed

    def _open(self, task: _Task) -> Session:
        batch = self._plans.of(task.exercise.hidden_suite, task.seed).batch
        limits, questions = task.assignment.limits, len(task.exercise.questions)
        return self._fork_server.open(limits, questions, [batch.digest])

    def _given_to(self, task: _Task) -> tuple[str, ...]:
        suite = task.exercise.hidden_suite
        if suite not in self._given:
            self._given[suite] = parts_given(task.exercise.solution.read_text(encoding="utf-8"))
        return self._given[suite]


@dataclass(frozen=True, slots=True)
class _JudgedText:
    """The results and notes for a submitted text, and hashes of the replies from each worker.

    The results are certain if two workers gave equal replies; a single worker's replies may be due
    to chance.
    """

    results: tuple[QuestionResult, ...]
    notes: tuple[str, ...]
    replies: tuple[int, ...]
    is_certain: bool = False


def _digest_of(answers: SubmittedExercise) -> bytes:
    """Returns a digest of everything in a submitted exercise on which its results depend."""
    parts = (answers.file, answers.text, answers.questions)
    texts = repr((parts, sorted(answers.broken.items()), sorted(answers.hints.items())))
    return hashlib.blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class _Task:
    """An exercise in a submission; `ruled` collects the questions with a rule about calls.

    `replies` collects a hash of each worker's replies, or is None if any replies depended on more
    than the submitted text.
    """

    assignment: Assignment
    exercise: Exercise
    answers: SubmittedExercise
    seed: int
    watch: Watch
    ruled: set[str] = field(default_factory=set)
    replies: list[int] | None = field(default_factory=list)
    #: questions with a mistake that could not be named because the grader is at fault
    not_named: dict[str, Exception] = field(default_factory=dict)

    def add(self, replies: int | None) -> None:
        if replies is None:
            self.replies = None
        elif self.replies is not None:
            self.replies.append(replies)

    def begin(self, worker: RemoteImplementation, question: str) -> None:
        """Begins a question; if `watch` leaves the question out, refuses all of its calls."""
        place = Position(self.exercise.name, question)
        self.watch.enter(place)
        worker.begin_question(question)
        if place in self.watch.left_out:
            worker.refuse(AnswerTimeout(_TOO_LONG))


def _probed(
    task: _Task, worker: RemoteImplementation, question: str, batch: Batch
) -> Sequence[RawReply] | None:
    """Returns a worker's replies to a batch; None if the answer can't be run or the worker ends."""
    if question in task.answers.broken:
        return None
    worker.begin_question(question)
    try:
        replies = worker.replies(batch, Budget.of(task.assignment.limits))
    except AnswerFault:
        return None
    # An answer that reads a name from a failed statement was not run to its end, so its results
    # don't show a mistake.
    return None if any(header.startswith(_UNLOADED) for header, _ in replies) else replies


def ask_text(
    fork_server: ForkServer, assignment: Assignment, exercise: Exercise, text: str, batch: Batch
) -> Sequence[RawReply] | None:
    """Runs one of the course's own modules in a worker; returns the worker's replies to a batch.

    Returns None if the worker ends.
    """
    answers = SubmittedExercise(exercise.name, ExerciseStatus.GRADED, f"{exercise.name}.py", text)
    given = parts_given(exercise.solution.read_text(encoding="utf-8"))
    # a batch contains the calls of all tests, whose results together may exceed the limit for
    # students
    limits = replace(assignment.limits, reply_bytes=_MOST_TESTS * assignment.limits.reply_bytes)
    worker = RemoteImplementation(
        lambda: fork_server.open(limits, len(exercise.questions)), answers, limits, 0, given=given
    )
    try:
        return worker.replies(batch, Budget.of(limits))
    except AnswerFault:
        return None
    finally:
        worker.close()


def _about_lending(question: str, names: Sequence[str]) -> str:
    return (
        f"{question} uses {', '.join(names)} (not right yet); it was judged with correct code "
        "instead, so that each mistake costs points only in its own question"
    )


def _about_naming(question: str, error: Exception) -> str:
    *_, last = traceback.extract_tb(error.__traceback__)
    return (
        f"{LOOK}{question}: its score is not affected, but the search for its mistake raised "
        f"{type(error).__name__} ({Path(last.filename).name}, line {last.lineno}); please report "
        "this fault of the grader"
    )


def _about_evasions(questions: Sequence[str], ways: Sequence[str]) -> str:
    return (
        f"{LOOK}{', '.join(questions)}: some calls are not allowed there, and the code contains "
        f"{', '.join(ways)}, which can hide a call"
    )
