"""Defines all exceptions of this package; imports only `records` from it.

AutograderError
|-- UserError                 exit code 1: the user must change something
|   |-- ContentError          a file of the course is wrong: file, line, fix
|   |-- SubmissionError       a submitted file can't be read
|   `-- IsolationUnavailable  no isolation tier works on this machine
|-- GraderError               exit code 2: the grader itself failed
|   `-- SandboxError          the sandbox could not do its work
|       `-- SandboxKilled     the sandbox was killed from outside; another try may work
`-- AnswerFault               a student's code failed while a test was calling it
    |-- AnswerMissing         no definition of that name
    |-- AnswerNotImplemented  raised NotImplementedError
    |-- AnswerRaised          raised another exception
    |-- AnswerTimeout         used up the question's wall or CPU time
    |-- AnswerMemory          requested more memory than the limit
    |-- AnswerCrashed         ended its process
    |-- AnswerOutputLimit     printed too much
    |-- AnswerForbidden       used a call that the question does not allow
    `-- AnswerProtocol        returned something that is not an answer
"""

from __future__ import annotations

from pathlib import Path

from .records import Verdict


def install_with(extra: str) -> str:
    """Returns the command that installs an extra from a wheel: the package is not on PyPI."""
    return (
        f"pip install 'WHEEL[{extra}]', where WHEEL is the wheel, or the folder, that this package "
        "was installed from"
    )


class AutograderError(Exception):
    """The base class of all exceptions of this package."""


class UserError(AutograderError):
    """An error that the user must correct; the message says how."""


class ContentError(UserError):
    """A file of the course is wrong."""

    def __init__(self, path: Path, line: int | None, problem: str, fix: str) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}\n  fix: {fix}")
        self.path, self.line, self.problem, self.fix = path, line, problem, fix


class SubmissionError(UserError):
    """A submitted file that can't be read; the message says what to submit instead."""


class IsolationUnavailable(UserError):
    """This machine supports no isolation tier, or not the requested one."""


class GraderError(AutograderError):
    """The grader's own fault, never the student's."""


class SandboxError(GraderError):
    """The sandbox could not be started, or its fork server has ended."""


class SandboxKilled(SandboxError):
    """The fork server or a worker was killed from outside while it started."""


class AnswerFault(AutograderError):
    """A student's code failed while a test was calling it; `verdict` says how.

    Failures with the same `cause` are reported in one message.
    """

    verdict: Verdict = Verdict.ERROR
    cause: str = ""


class AnswerMissing(AnswerFault):
    """The submission does not define the name of the question."""

    verdict = Verdict.MISSING


class AnswerNotImplemented(AnswerFault):
    """The answer is still a stub."""

    verdict = Verdict.NOT_IMPLEMENTED


class AnswerRaised(AnswerFault):
    """The answer raised an exception; `type_name` is its class name in the student's process."""

    def __init__(self, message: str, type_name: str = "", bases: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.type_name = type_name
        self.bases = bases or (type_name,)


class AnswerTimeout(AnswerFault):
    """The answer used up the question's wall or CPU time."""

    verdict = Verdict.TIMEOUT


class AnswerMemory(AnswerFault):
    """An allocation failed at the memory limit."""

    verdict = Verdict.MEMORY


class AnswerCrashed(AnswerFault):
    """The student's process ended."""

    verdict = Verdict.CRASHED


class AnswerOutputLimit(AnswerFault):
    """The answer printed more than the limit allows."""

    verdict = Verdict.OUTPUT_LIMIT


class AnswerForbidden(AnswerFault):
    """The answer uses a call that the question does not allow."""

    verdict = Verdict.FORBIDDEN


class AnswerProtocol(AnswerFault):
    """The reply is not an answer: too large, malformed, or of a type that can't be sent."""

    verdict = Verdict.PROTOCOL
