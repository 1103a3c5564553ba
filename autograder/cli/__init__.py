"""The command line: the only part that prints, reads the terminal, or chooses an exit code.

Exit codes: 0 the command did its job, 1 the user must change something, 2 the grader itself failed.
"""

from __future__ import annotations

import sys
import traceback

import click

from ..errors import AutograderError, GraderError, UserError
from . import collecting, doctor, grading, instructor, nbgrading, results, student
from .output import errors, plain


class _Commands(click.Group):
    """Commands in the order of a course, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="attention-autograder")
def cli() -> None:
    """Exercises that build the attention mechanism, and their grader.

    Students: check, watch, hint, status. Instructors: validate, release, nbgrader,
    collect.
    Grading runs: grade, doctor. What came of them: record, feedback, report, export.
    """


for group in (student, instructor, nbgrading, collecting, grading, doctor, results):
    for command in group.COMMANDS:
        cli.add_command(command)


def main() -> None:
    """The console script."""
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
    except (AutograderError, Exception):
        _say(f"the grader failed, and not as it expected to:\n{traceback.format_exc()}")
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str) -> None:
    lines = "\n".join(plain(line) for line in text.split("\n"))
    errors.print(f"autograder: {lines}", markup=False, highlight=False, soft_wrap=True)
