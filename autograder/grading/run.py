"""Runs the grading of a class: turns submissions into lines in the results file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import ContentError, UserError
from ..records import Key, SubmissionResult, SubmissionStatus, Tier
from ..results.file import History, ResultsFile, graded_key, iterate_results, read_results
from ..submission import FoundSubmissions, Submission, find_submissions
from .engine import Backend, Engine, OnResult, Scope
from .jobs import Jobs
from .one_question import OneQuestionGrader, last_results
from .secret import FILE_NAME, class_secret
from .sources import ListedSubmissions, RunEvents, RunOptions, Task
from .watch import Costs, Stage, total_costs


@dataclass(slots=True)
class Ledger:
    """Numbers attempts, counts results and, if a file is given, writes the results to it."""

    file: ResultsFile | None
    tell: OnResult
    history: History
    graded: int = 0
    failed: int = 0
    #: the isolation tier of the last result
    tier: Tier | None = None

    @classmethod
    def of(cls, file: ResultsFile | None, tell: OnResult) -> Ledger:
        """Creates a ledger from the lines in a file."""
        return cls(file, tell, file.history() if file else History())

    def is_graded(self, scope: Scope, task: Task) -> bool:
        """Returns whether a submission's last result is for the same files and the same suite."""
        if not self.history:
            return False
        submission, assignment = task
        suite = scope.suite_digests[assignment.name]
        key = (submission.student, assignment.name, scope.submission_digest(task), suite)
        return key in self.history

    def numbered(self, scope: Scope, task: Task) -> Task:
        """Returns the task with the number of the attempt filled in."""
        submission, assignment = task
        attempt = self.history.attempt(
            submission.student, assignment.name, lambda: scope.submission_digest(task)
        )
        return replace(submission, attempt=attempt), assignment

    def keep(self, result: SubmissionResult) -> None:
        """Writes a result to the file, counts it, and reports it."""
        if self.file:
            self.file.append(result)
            self.history.add(graded_key(result), result.status)
        self.graded += 1
        self.failed += result.status is SubmissionStatus.FAILED
        self.tier = result.isolation
        self.tell(result)


@dataclass(frozen=True, slots=True)
class RunReport:
    """The outcome of a grading run; `truncated` is the file with an incomplete line, if any.

    `found` contains the submissions for assignments that could be graded, and `stopped` maps all
    other assignments to the errors that prevented grading. `tier` is None if nothing was graded.
    `costs` contains CPU seconds by stage; it is empty if nothing was graded on this machine.
    """

    found: FoundSubmissions
    graded: int
    failed: int
    already_graded: int
    tier: Tier | None
    truncated: Path | None
    costs: Costs = field(default_factory=dict)
    stopped: Mapping[str, ContentError] = field(default_factory=dict)

    @property
    def keys(self) -> set[Key]:
        return {
            (submission.student, submission.assignment) for submission in self.found.submissions
        }


@dataclass(frozen=True, slots=True)
class _StartReport:
    events: RunEvents
    to_grade: int
    already_graded: int

    def __call__(self, tier: Tier | None) -> None:
        self.events.starts(tier, self.to_grade, self.already_graded)


def grade_class(
    engines: Sequence[Engine],
    options: RunOptions,
    events: RunEvents,
    *,
    backend: Backend | None = None,
    found: FoundSubmissions | None = None,
) -> RunReport:
    """Grades every submission in a folder, and appends a line for each to the results file.

    `backend` grades the submissions (default: processes on this machine). `found` contains the
    submissions if the caller has already listed them. An assignment whose content is wrong is left
    out; if no assignment is left, raises `ContentError`. If there is nothing to grade, no sandbox
    is started, and torch is not loaded. Raises `UserError` for something that the user must change,
    `IsolationUnavailable` if no tier works, and `GraderError` if the grader itself fails.
    """
    if found is None:
        names = sorted(name for engine in engines for name in engine.names)
        found = find_submissions(options.submitted, names, options.assignment)
    mine = in_shard(found.or_refuse(options.submitted).submissions, options.shard)
    with ResultsFile(options.results) as file:
        ledger = Ledger.of(file, events.graded)
        run = _Run(options, events, ledger, backend)
        for engine in engines:
            own = [submission for submission in mine if submission.assignment in engine.names]
            run.grade(engine, own)
        left = tuple(s for s in found.submissions if s.assignment not in run.stopped)
        if not left:
            raise next(iter(run.stopped.values()))
        costs = total_costs(*run.costs)
        if costs:  # the time for everything else since this process started
            start = time.process_time() - costs[Stage.PLAN] - costs[Stage.WRITE]
            costs = total_costs(costs, {Stage.START: start})
        return RunReport(
            replace(found, submissions=left),
            graded=ledger.graded,
            failed=ledger.failed,
            already_graded=len(in_shard(left, options.shard)) - ledger.graded,
            tier=ledger.tier,
            truncated=file.truncated,
            costs=costs,
            stopped=run.stopped,
        )


def in_shard(submissions: Iterable[Submission], shard: tuple[int, int]) -> list[Submission]:
    """Returns the submissions in a shard.

    `shard` contains the shard's number (from 1) and the number of shards.
    """
    return [submission for submission in submissions if _is_in_shard(submission, shard)]


def _is_in_shard(submission: Submission, shard: tuple[int, int]) -> bool:
    index, count = shard
    name = f"{submission.student}/{submission.assignment}".encode(errors="surrogateescape")
    # Use a digest, because checksums of similar names often fall into the same shard.
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % count == index - 1


def refuse_weaker_tier(results: Path, tier: Tier, why: Sequence[str]) -> None:
    """Raises `UserError` with the reasons `why` if a class has results from a stronger tier."""
    order = list(Tier)
    before = {result.isolation for result in iterate_results(results)}
    strongest = min(before, key=order.index, default=tier)
    if order.index(strongest) < order.index(tier):
        reasons = "\n".join(why)
        raise UserError(
            f"{results} has results from tier {strongest}, but only tier {tier} works "
            f"now:\n{reasons}\n  fix: make tier {strongest} work (autograder doctor) and run the "
            f"command again, or grade in the weaker tier with --tier {tier}"
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """A grading run; `backend`, if given, grades instead of this machine; `ledger` keeps results.

    `costs` collects the costs for each engine, and `stopped` collects the assignments whose content
    is wrong.
    """

    options: RunOptions
    events: RunEvents
    ledger: Ledger
    backend: Backend | None
    costs: list[Costs] = field(default_factory=list)
    stopped: dict[str, ContentError] = field(default_factory=dict)

    def grade(self, engine: Engine, submissions: Sequence[Submission]) -> None:
        """Grades submissions with an engine, except those that are skipped or can't be graded."""
        while True:
            left = [s for s in submissions if s.assignment not in self.stopped]
            names = sorted({submission.assignment for submission in left})
            try:
                scope = Scope.of(engine, map(engine.assignment, names))
                tasks = self._to_grade(scope, left)
                if tasks:
                    ready = _StartReport(self.events, len(tasks), len(left) - len(tasks))
                    backend, source = self.backend or self._this_machine(), ListedSubmissions(tasks)
                    self.costs.append(backend.grade(scope, source, self.ledger.keep, ready))
                return
            except ContentError as error:
                wrong = next((name for name in names if name in error.path.parts), None)
                if wrong is None:
                    raise
                self.stopped[wrong] = error

    def _to_grade(self, scope: Scope, submissions: Sequence[Submission]) -> list[Task]:
        """Returns the submissions that this run grades, with the numbers of their attempts."""
        tasks = [(s, scope.assignments[s.assignment]) for s in submissions]
        return [
            self.ledger.numbered(scope, task)
            for task in tasks
            if not (self.options.resume and self.ledger.is_graded(scope, task))
        ]

    def _this_machine(self) -> Jobs:
        options = self.options
        secret = class_secret(options.secret or options.results.with_name(FILE_NAME))
        jobs = Jobs(secret, options.jobs, options.tier, weaker=self._weaker)
        question = options.question
        if question is None:
            return jobs
        before = last_results(read_results(options.results))
        return replace(jobs, around=lambda grader: OneQuestionGrader(grader, question, before))

    def _weaker(self, tier: Tier, why: Sequence[str]) -> None:
        self.events.passed_over(tier, "\n".join(why))
        refuse_weaker_tier(self.options.results, tier, why)
