"""Every way to fail, as one tree. Of ours it imports `records` alone.

AutograderError
|-- UserError                 exit code 1: the user must change something
|   |-- ContentError          a file of the course is wrong: file, line, fix
|   |-- SubmissionError       what was submitted can't be read
|   `-- IsolationUnavailable  no isolation tier is to be had on this machine
|-- GraderError               exit code 2: the grader itself failed
|   `-- SandboxError          the sandbox could not do its work
|       `-- SandboxKilled     something ended it from outside; it may work when it is tried again
`-- AnswerFault               a student's code, while a test was calling it
    |-- AnswerMissing         no definition of that name
    |-- AnswerNotImplemented  raised NotImplementedError
    |-- AnswerRaised          raised anything else
    |-- AnswerTimeout         used up the question's wall or CPU time
    |-- AnswerMemory          asked for more memory than the limit
    |-- AnswerCrashed         ended its process
    |-- AnswerOutputLimit     printed too much
    |-- AnswerForbidden       used a call that the question does not allow
    `-- AnswerProtocol        answered with something that is not an answer
"""

from __future__ import annotations

from pathlib import Path

from .records import Verdict


def install_with(extra: str) -> str:
    """How the packages of an extra are installed; no index has ours, whose name is free there."""
    return (
        f"pip install 'WHEEL[{extra}]', where WHEEL is the wheel, or the folder, that this package "
        "was installed from"
    )


class AutograderError(Exception):
    """The root of the tree."""


class UserError(AutograderError):
    """Something the user must change; the message says what."""


class ContentError(UserError):
    """A file of the course is wrong."""

    def __init__(self, path: Path, line: int | None, problem: str, fix: str) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}\n  fix: {fix}")
        self.path, self.line, self.problem, self.fix = path, line, problem, fix


class SubmissionError(UserError):
    """A submitted file that can't be read; the message says what to submit instead."""


class IsolationUnavailable(UserError):
    """This machine gives no isolation tier, or not the one asked for."""


class GraderError(AutograderError):
    """The grader's own fault, never the student's."""


class SandboxError(GraderError):
    """The sandbox could not be started or lost its fork server."""


class SandboxKilled(SandboxError):
    """The fork server was ended from outside while it started."""


class AnswerFault(AutograderError):
    """A student's code failed while a test was calling it. `verdict` names how.

    `cause` is equal for failures that one message is enough for.
    """

    verdict: Verdict = Verdict.ERROR
    cause: str = ""


class AnswerMissing(AnswerFault):
    """The submission defines nothing of the question's name."""

    verdict = Verdict.MISSING


class AnswerNotImplemented(AnswerFault):
    """The answer is still a stub."""

    verdict = Verdict.NOT_IMPLEMENTED


class AnswerRaised(AnswerFault):
    """The answer raised. `type_name` is the exception's class name in the student's process."""

    def __init__(self, message: str, type_name: str = "", bases: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.type_name = type_name
        self.bases = bases or (type_name,)


class AnswerTimeout(AnswerFault):
    """The question's wall or CPU time is used up."""

    verdict = Verdict.TIMEOUT


class AnswerMemory(AnswerFault):
    """An allocation failed at the memory limit."""

    verdict = Verdict.MEMORY


class AnswerCrashed(AnswerFault):
    """The student's process ended."""

    verdict = Verdict.CRASHED


class AnswerOutputLimit(AnswerFault):
    """More was printed than the limit allows."""

    verdict = Verdict.OUTPUT_LIMIT


class AnswerForbidden(AnswerFault):
    """A call that the question does not allow."""

    verdict = Verdict.FORBIDDEN


class AnswerProtocol(AnswerFault):
    """The reply was not an answer: too large, malformed, or of a type that can't cross."""

    verdict = Verdict.PROTOCOL
