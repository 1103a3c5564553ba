"""Grades one submission: reads its files, judges each exercise behind the wall, adds up."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import AnswerTimeout
from ..records import (
    Assignment,
    Exercise,
    ExerciseResult,
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Tier,
    Verdict,
)
from ..results.review import LOOK
from ..sandbox import ForkServer
from ..submission import Answers, Submission, read_exercise, submission_digest, unreadable
from ..suite.evasions import evasions
from .judging.parts import parts_given
from .judging.recorder import Recorder
from .judging.remote import RemoteImplementation
from .judging.substitution import Lender, to_lend
from .judging.suites import SuiteRunner
from .judging.verdicts import MAX_MESSAGE
from .naming.diagnosis import Diagnosis
from .watch import CPU_SECONDS, Place, Watch

_TOO_LONG = (
    f"judging what this answer gives back takes more than {CPU_SECONDS} s of computing time; "
    "return what the docstring says, and nothing else"
)
_UNGRADED = {ExerciseStatus.MISSING: Verdict.MISSING, ExerciseStatus.UNREADABLE: Verdict.ERROR}


class SubmissionGrader:
    """Grades submissions of a course's assignments with collected suites and a worker parent."""

    def __init__(
        self,
        runner: SuiteRunner,
        parent: ForkServer,
        suite_digests: Mapping[str, str],
        diagnoses: Mapping[Path, Diagnosis],
        seed: int | None = None,
    ) -> None:
        """`seed` is one for all submissions; by default each has its own."""
        self._seed = seed
        self._runner = runner
        self._diagnoses = diagnoses
        self._parent = parent
        self._suite_digests = suite_digests

    @property
    def parent(self) -> ForkServer:
        """Where workers come from."""
        return self._parent

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """The result of one submission; raises only for the grader's own faults."""
        start = time.perf_counter()
        digest = submission_digest(submission.folder, assignment.exercises)
        suite_digest = self._suite_digests[assignment.name]
        seed = self._seed if self._seed is not None else seed_of(digest, suite_digest)
        watch = watch or Watch()
        exercises = tuple(
            self._exercise(submission.folder, assignment, exercise, seed, watch)
            for exercise in assignment.exercises
        )
        watch.leave()
        return SubmissionResult(
            student=submission.student,
            assignment=assignment.name,
            submission_digest=digest,
            suite_digest=suite_digest,
            isolation=self._parent.tier,
            status=SubmissionStatus.GRADED,
            score=sum(exercise.score for exercise in exercises),
            max_score=sum(exercise.max_score for exercise in exercises),
            seconds=round(time.perf_counter() - start, 4),
            seed=seed,
            exercises=exercises,
        )

    def _exercise(
        self, folder: Path, assignment: Assignment, exercise: Exercise, seed: int, watch: Watch
    ) -> ExerciseResult:
        watch.enter(Place(exercise.name))
        if Place(exercise.name) in watch.left_out:
            answers = unreadable(exercise, folder)
        else:
            answers = read_exercise(folder, exercise)
        if answers.status is not ExerciseStatus.GRADED:
            return self._ungraded(exercise, answers)

        def ask(
            lender: Lender | None, only: str | None, seed: int
        ) -> tuple[tuple[QuestionResult, ...], Recorder]:
            limits, count = assignment.limits, len(exercise.questions)
            given = parts_given(exercise.solution.read_text(encoding="utf-8"))
            worker = RemoteImplementation(
                lambda: self._parent.open(limits, count), answers, limits, seed, lender, given
            )

            def begin(question: str) -> None:
                place = Place(exercise.name, question)
                watch.enter(place)
                worker.begin_question(question)
                if place in watch.left_out:
                    worker.refuse(AnswerTimeout(_TOO_LONG))

            recorder = Recorder(worker, begin)
            try:
                judged = self._runner.judge(exercise.hidden_suite, recorder, seed, recorder, only)
            finally:
                worker.close()
            ruled.update(worker.ruled)
            return judged, recorder

        def judge(
            lender: Lender | None = None, only: str | None = None
        ) -> tuple[QuestionResult, ...]:
            def probe(question: str, seed: int) -> tuple[QuestionResult, Recorder]:
                (result,), recorder = ask(lender, question, seed)
                return result, recorder

            diagnosis = self._diagnoses[exercise.hidden_suite]

            def explained(result: QuestionResult) -> QuestionResult:
                watch.enter(Place(exercise.name, result.question))
                return diagnosis.explain(result, probe, answers.text)

            return tuple(map(explained, ask(lender, only, seed)[0]))

        ruled: set[str] = set()
        results, notes = list(judge()), list(answers.notes)
        for number, result in enumerate(results):
            names = to_lend(exercise, answers.text, results, result)
            if names:
                lender = Lender(self._runner.solution(exercise.hidden_suite), names)
                (again,) = judge(lender, result.question)
                if again.score > result.score:
                    results[number] = again
                    notes.append(_about_lending(result.question, names))
        if ruled and (ways := evasions(answers.text)):
            notes.append(_about_evasions(sorted(ruled), ways))
        return _result(exercise, replace(answers, notes=tuple(notes)), tuple(results))

    def _ungraded(self, exercise: Exercise, answers: Answers) -> ExerciseResult:
        points = self._runner.points(exercise.hidden_suite)
        questions = tuple(
            QuestionResult(name, 0.0, worth, _UNGRADED[answers.status])
            for name, worth in points.items()
        )
        return _result(exercise, answers, questions)


def failed(
    submission: Submission, assignment: Assignment, suite_digest: str, tier: Tier, error: str
) -> SubmissionResult:
    """The line of a submission on which the grader itself failed; `--resume` grades it again."""
    return SubmissionResult(
        student=submission.student,
        assignment=assignment.name,
        submission_digest="sha256:" + "0" * 64,
        suite_digest=suite_digest,
        isolation=tier,
        status=SubmissionStatus.FAILED,
        score=0.0,
        max_score=0.0,
        seconds=0.0,
        seed=0,
        error=error[-MAX_MESSAGE:],
    )


def seed_of(submission_digest: str, suite_digest: str) -> int:
    """The seed of a submission's drawn inputs: the same whenever and wherever it is graded."""
    text = f"{submission_digest}/{suite_digest}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")


def suite_digest(root: Path, assignment: Assignment) -> str:
    """A digest of all that a verdict depends on besides the submission: so not of a due date."""
    package = Path(__file__).resolve().parent.parent
    files = []
    for exercise in assignment.exercises:
        files += [exercise.solution, exercise.hidden_suite]
        files.append(root / "tests" / "misconceptions" / assignment.name / f"{exercise.name}.py")
    for folder in ("suite", "grading", "worker", "submission"):
        files += sorted((package / folder).rglob("*.py"))
    digest = hashlib.sha256(repr(assignment.limits).encode())
    for path in files:
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}"


def _result(
    exercise: Exercise, answers: Answers, questions: tuple[QuestionResult, ...]
) -> ExerciseResult:
    return ExerciseResult(
        exercise=exercise.name,
        file=answers.file,
        status=answers.status,
        score=sum(question.score for question in questions),
        max_score=sum(question.max_score for question in questions),
        questions=questions,
        notes=answers.notes,
    )


def _about_lending(question: str, names: Sequence[str]) -> str:
    """Why a question has points although it calls something that is wrong."""
    return (
        f"{question} calls {', '.join(names)}, which is not right yet; it was judged with a right "
        "one in its place, so that each mistake costs its own question only"
    )


def _about_evasions(questions: Sequence[str], ways: Sequence[str]) -> str:
    """Why a person should look at code that may go round a rule."""
    return (
        f"{LOOK}{', '.join(questions)}: some calls are not allowed there, and the code has "
        f"{', '.join(ways)}, which can hide a call"
    )


#: called with every result as soon as it is there
OnResult = Callable[[SubmissionResult], None]
