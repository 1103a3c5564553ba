"""Defines the command line; only this package prints, reads the terminal, or sets an exit code.

Exit codes: 0, the command did its job; 1, the user must change something first; 2, the grader
itself failed; 3, everything possible has been done, but something needs a person's attention.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import importlib.util
import io
import os
import sys
import traceback

import click

from ..errors import AutograderError, GraderError, UserError, install_with
from ..inherited import forget_callers_settings
from .torch_start import FastExit

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, or ask for a larger quota",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close other programs that have many files open",
    errno.ENOMEM: "close other programs that need a lot of memory, or raise the limit (ulimit -v)",
    errno.EAGAIN: "close other programs, or raise the limit on processes (ulimit -u)",
    errno.EROFS: "choose a folder that you can write to",
    errno.EIO: "check the disk: it reported an error",
}


def open_streams() -> None:
    """Opens the null device for each standard stream that the caller closed.

    Otherwise, the next file to be opened would get the stream's number, and printed text would be
    written to that file.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 kept
            setattr(sys, name, stream)


def refusal(error: BaseException) -> str | None:
    """Returns the system's error message with a remedy, or None if no remedy is known."""
    if not isinstance(error, OSError) or error.errno not in _REMEDIES:
        return None
    where = f"{error.filename}: " if error.filename else ""
    return (
        f"{where}{os.strerror(error.errno)}. To fix it, {_REMEDIES[error.errno]}, and run the "
        "command again; finished results are kept, and `grade --resume` continues from there."
    )


#: each command's module and its line in the help; a module is imported only when its command is
#: called
_SECTIONS = {
    "Students": {
        "check": ("student", "Run the public checks on the answers in this folder."),
        "retry": ("student", "Repeat the call that makes a check fail."),
        "watch": ("student", "Run the checks again after every save."),
        "hint": ("student", "Show the hints, one at a time."),
        "status": ("student", "Show progress and points, and what to submit."),
    },
    "Instructors": {
        "new": ("authoring", "Write all files for a new exercise, question or course."),
        "validate": ("authoring", "Check the content: solutions pass, mistakes fail."),
        "expected": ("authoring", "Grade the example class and write its scores."),
        "release": ("authoring", "Write assignments/ and the bundles for students."),
        "nbgrader": ("authoring", "Turn a folder into an nbgrader course."),
        "collect": ("collecting", "Copy downloads and clones into the class folder."),
        "pull": ("live", "Copy the roster, dates and submissions from Canvas or Moodle."),
        "roster": ("classes", "Import the class's roster, or show who has submitted."),
        "extend": ("classes", "Give one student more time, with a reason."),
        "withdraw": ("classes", "Leave a submission out of reports and exports."),
    },
    "Grading runs": {
        "grade": ("grading", "Grade every submission in a folder."),
        "merge": ("results", "Merge the results from shards into one file."),
        "doctor": ("doctor", "Show which isolation tier this machine supports."),
    },
    "Results": {
        "mark": ("marking", "Enter points, a comment, or the answer to a request."),
        "comments": ("marking", "Add a comment for graders to reuse, or list them."),
        "requests": ("marking", "List requests for a second look, or read new ones."),
        "graders": ("marking", "Show which answers are waiting, and who has graded the others."),
        "changes": ("changes", "Show what the last grading changed, and why."),
        "record": ("results", "Write nbgrader's gradebook."),
        "feedback": ("results", "Write a feedback page for every student."),
        "report": ("results", "Write a report on the class."),
        "similar": ("results", "Find pairs of similar submissions."),
        "mistakes": ("mistakes", "Show wrong answers that match no known mistake."),
        "misconception": ("mistakes", "Record a student's answer as a known mistake."),
        "export": ("results", "Export grades for a platform."),
        "push": ("live", "Write grades and feedback to Canvas or Moodle."),
        "gradescope-bundle": ("results", "Write an autograder for Gradescope."),
    },
}
#: the commands in this installation; one for students has only the students' commands
COMMANDS = {
    name: command
    for section in _SECTIONS.values()
    for name, command in section.items()
    if importlib.util.find_spec(f"{__name__}.{command[0]}")
}


class _Commands(click.Group):
    """The group of all commands: lists them by section, and imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{COMMANDS[cmd_name][0]}", __package__)
        found: dict[str | None, click.Command] = {one.name: one for one in module.COMMANDS}
        return found[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in _SECTIONS.items():
            rows = [(name, text) for name, (_, text) in commands.items() if name in COMMANDS]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{guess}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Invokes the command; raises `UserError` if a package that it needs is not installed."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if (error.name or "autograder").startswith("autograder"):
                raise
            raise UserError(
                f"this command needs {error.name}: run {install_with('instructor')}"
            ) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="attention-autograder")
def cli() -> None:
    """Exercises that build the attention mechanism, and their grader."""


def main() -> None:
    """Runs the command line: prints errors, and ends the process with an exit code."""
    open_streams()
    forget_callers_settings()
    end = FastExit()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # replace characters that a stream can't encode: a student's umlaut must not stop a
            # command
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        _say("stopped")
        sys.exit(1)
    except UserError as error:
        _say(str(error))
        sys.exit(1)
    except GraderError as error:
        _say(f"the grader failed: {error}")
        sys.exit(2)
    except (AutograderError, Exception) as error:
        unexpected = f"the grader failed with an unexpected error:\n{traceback.format_exc()}"
        known = refusal(error)
        _say(f"the grader failed: {known}" if known else unexpected)
        sys.exit(2)
    end.code = code if isinstance(code, int) else 0
    sys.exit(end.code)


def _say(text: str) -> None:
    from ..escaping import visible
    from .output import errors

    lines = "\n".join(visible(line) for line in text.split("\n"))
    with contextlib.suppress(OSError):  # the exit code still reports the error
        errors.print(f"autograder: {lines}", markup=False, highlight=False, soft_wrap=True)
