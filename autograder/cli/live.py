"""Defines the commands for the live connection to a platform: pull and push."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from ..errors import UserError
from ..escaping import for_terminal
from ..live import PLATFORMS, RetryPolicy
from ..operations.connection import Access
from .collecting import needs_a_person
from .live_showing import (
    print_pull,
    print_pulled,
    print_push,
    print_pushed,
    pull_document,
    push_document,
)
from .options import ClassFolder, in_course, of_people
from .output import WAITS, as_json, command, emit, errors

if TYPE_CHECKING:
    from ..classroom import Selection

F = TypeVar("F", bound=Callable[..., Any])


Plan = TypeVar("Plan")


@dataclass(frozen=True, slots=True)
class _Approval:
    """Decides whether to carry out a plan: obeys --yes or --dry-run, or else asks the user."""

    is_dry_run: bool
    is_given: bool

    def asking(self, show: Callable[[Plan], None], as_json: bool) -> Callable[[Plan], bool]:
        """Returns a function that shows a plan and returns whether to carry it out."""
        if as_json and not (self.is_dry_run or self.is_given):
            raise click.UsageError("with --json there is no confirmation: use --dry-run or --yes")

        def approve(plan: Plan) -> bool:
            if not as_json:
                show(plan)
            if self.is_dry_run or self.is_given:
                return not self.is_dry_run
            if not sys.stdin.isatty():
                raise UserError("nothing was changed: to confirm without a terminal, use --yes")
            return click.confirm("Do this?")

        return approve

    def status(self, is_done: bool, waits: bool) -> int:
        if not is_done and not self.is_dry_run:
            return 1
        return WAITS if waits else 0


def _live(command: F) -> F:
    """Adds the options that pull and push share, and passes them as `access` and `approval`."""

    @functools.wraps(command)
    def connected(
        *args: Any, at: str | None, links: tuple[str, ...], dry_run: bool, yes: bool, **others: Any
    ) -> Any:
        access = Access(at, _links(links), retry=RetryPolicy(on_wait=_print_wait))
        return command(*args, access=access, approval=_Approval(dry_run, yes), **others)

    for add in (
        click.option(
            "--yes",
            is_flag=True,
            help="Do not ask for confirmation (for use in scripts); try --dry-run first.",
        ),
        click.option("--dry-run", is_flag=True, help="Show what would change, and stop."),
        click.option(
            "--link",
            "links",
            multiple=True,
            metavar="ASSIGNMENT=NUMBER",
            help="An assignment's number on the platform, if the assignment is not found by name.",
        ),
        click.option(
            "--at",
            metavar="URL",
            help="The address of the course page, as the browser shows it; needed only once.",
        ),
        click.argument(
            "class_folder", metavar="[CLASS]", type=ClassFolder(), default=Path("course")
        ),
        click.argument("platform", type=click.Choice(PLATFORMS)),
    ):
        connected = add(connected)
    return cast(F, connected)


@command()
@_live
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(["roster", "dates", "submissions"]),
    help="Only this part; may be repeated (default: all).",
)
@in_course
@as_json
def pull(
    platform: str,
    class_folder: Path,
    access: Access,
    approval: _Approval,
    parts: tuple[str, ...],
    course_folder: Path,
    as_json: bool,
) -> int:
    """Copy the roster, due dates and submissions from a course on Canvas or Moodle into a class.

    First shows what will change, and asks for confirmation. Like `collect`, it keeps earlier
    submissions and files that you have edited. If the command is interrupted, run it again. The
    access token is read from the environment (CANVAS_TOKEN, MOODLE_TOKEN) or from the keyring
    (keyring set autograder https://SITE), and is never written to
    a file.

    \b
    Example: autograder pull canvas course --at https://canvas.example.edu/courses/4711
             autograder pull moodle course --dry-run
             autograder pull canvas course --link causal_attention=991 --yes

    \b
    Exit status: 0 if everything was done; 1 if the command did not finish; 3 if something needs
    your attention.
    """
    from ..operations.pull import PARTS
    from ..operations.pull import pull as bring

    with _progress("downloading file") as on_progress:
        report = bring(
            platform,
            class_folder,
            approve=approval.asking(print_pull, as_json),
            access=access,
            parts=parts or PARTS,
            course=course_folder,
            on_progress=on_progress,
        )
    if as_json:
        emit(pull_document(report))
    else:
        print_pulled(report, class_folder, approval.is_dry_run)
    waits = bool(report.waits or (report.collected and needs_a_person(report.collected)))
    return approval.status(report.is_done, waits)


@command()
@_live
@of_people
@click.option(
    "--feedback",
    type=click.Choice(["none", "comment", "file"]),
    default="none",
    show_default=True,
    help="What to return with the grades: the feedback as a comment, or its page as a file.",
)
@click.option(
    "--missing",
    type=click.Choice(["keep", "zero"]),
    default="keep",
    show_default=True,
    help="What to write for people on the roster who have not submitted and have no grade.",
)
@click.option(
    "--overwrite", is_flag=True, help="Also replace grades that somebody entered on the platform."
)
@in_course
@as_json
def push(
    platform: str,
    class_folder: Path,
    access: Access,
    approval: _Approval,
    selection: Selection,
    feedback: str,
    missing: str,
    overwrite: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Write the grades of a class, and feedback if requested, into a course on Canvas or Moodle.

    First shows what will change, and asks for confirmation. A grade that the platform already has
    is not sent again, and a grade that somebody entered there is kept (see --overwrite). If the
    command is interrupted, run it again. The access token is read as in `pull`.

    \b
    Example: autograder push canvas course --dry-run
             autograder push moodle course --assignment causal_attention --feedback comment

    \b
    Exit status: 0 if everything was done; 1 if the command did not finish; 3 if something needs
    your attention.
    """
    from ..exports import Missing
    from ..operations.grades import DisplayOptions
    from ..operations.push import FeedbackKind
    from ..operations.push import push as write

    with _progress("writing grade") as on_progress:
        report = write(
            platform,
            class_folder,
            approve=approval.asking(print_push, as_json),
            access=access,
            showing=DisplayOptions(selection, Missing(missing)),
            feedback=FeedbackKind(feedback),
            overwrite=overwrite,
            course=course_folder,
            on_progress=on_progress,
        )
    if as_json:
        emit(push_document(report))
    else:
        print_pushed(report, approval.is_dry_run)
    return approval.status(report.is_done, bool(report.waits))


COMMANDS = (pull, push)


def _links(texts: Iterable[str]) -> Mapping[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, _, number in pairs:
        if not name or not number.isdigit():
            raise click.UsageError("--link takes ASSIGNMENT=NUMBER, such as causal_attention=991")
    return {name: number for name, _, number in pairs}


def _print_wait(text: str) -> None:
    errors.print(for_terminal(text), soft_wrap=True)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function that shows progress if stderr is a terminal, and does nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return

    def on_progress(done: int, of: int) -> None:
        click.echo(f"\r{what} {done} of {of}", nl=done == of, err=True)

    yield on_progress
