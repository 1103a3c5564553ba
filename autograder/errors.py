"""Defines all exceptions of this package; imports nothing from the package except `records`.

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
    """Returns the command that installs an extra from a wheel, since the package is not on PyPI."""
    return (
        f"pip install 'WHEEL[{extra}]', where WHEEL is the wheel, or the folder, that this package "
        "was installed from"
    )


class AutograderError(Exception):
    """The base class of all exceptions of this package."""


class UserError(AutograderError):
    """Raised for a problem that the user must fix; the message says how."""


class ContentError(UserError):
    """Raised if a file in the course is wrong."""

    def __init__(self, path: Path, line: int | None, problem: str, fix: str) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}\n  fix: {fix}")
        self.path, self.line, self.problem, self.fix = path, line, problem, fix


class SubmissionError(UserError):
    """Raised if a submitted file can't be read; the message says what to submit instead."""


class IsolationUnavailable(UserError):
    """Raised if this machine supports no isolation tier, or does not support the requested tier."""


class GraderError(AutograderError):
    """Raised if the grader itself fails, never because of a student's code."""


class SandboxError(GraderError):
    """Raised if the sandbox can't be started, or if its fork server has ended."""


class SandboxKilled(SandboxError):
    """Raised if the fork server or a worker was killed from outside while it was starting."""


class AnswerFault(AutograderError):
    """Raised if a student's code fails while a test is calling it; `verdict` is the kind of fault.

    Failures with the same `cause` are reported in one message.
    """

    verdict: Verdict = Verdict.ERROR
    cause: str = ""


class AnswerMissing(AnswerFault):
    """Raised if the submission does not define the function or class that the question asks for."""

    verdict = Verdict.MISSING


class AnswerNotImplemented(AnswerFault):
    """Raised if the answer is still a stub."""

    verdict = Verdict.NOT_IMPLEMENTED


class AnswerRaised(AnswerFault):
    """Raised if the answer raises an error; `type_name` is the name of that error's class."""

    def __init__(self, message: str, type_name: str = "", bases: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.type_name = type_name
        self.bases = bases or (type_name,)


class AnswerTimeout(AnswerFault):
    """Raised if the answer uses up the question's wall or CPU time."""

    verdict = Verdict.TIMEOUT


class AnswerMemory(AnswerFault):
    """Raised if the answer tries to allocate more memory than the limit allows."""

    verdict = Verdict.MEMORY


class AnswerCrashed(AnswerFault):
    """Raised if the student's process ends during a call."""

    verdict = Verdict.CRASHED


class AnswerOutputLimit(AnswerFault):
    """Raised if the answer prints more than the limit allows."""

    verdict = Verdict.OUTPUT_LIMIT


class AnswerForbidden(AnswerFault):
    """Raised if the answer makes a call that the question does not allow."""

    verdict = Verdict.FORBIDDEN


class AnswerProtocol(AnswerFault):
    """Raised if an answer's reply is too large, is malformed, or has a type that can't be sent."""

    verdict = Verdict.PROTOCOL
