"""Shows the progress of long commands, on stderr."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ..errors import UserError
from ..escaping import for_terminal
from ..grading.sources import RunEvents
from ..records import SubmissionResult, Tier
from .output import errors
from .torch_start import end_loading


@contextlib.contextmanager
def counting(what: str) -> Iterator[tuple[Callable[[int], None], Callable[[], None]]]:
    """Shows a progress bar on stderr; yields functions that set its total and advance it by one."""
    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)
        yield (
            lambda total: progress.reset(task, total=total, description=what),
            lambda: progress.advance(task),
        )


def progress_bar() -> Progress:
    """Returns a bar for stderr with the count, rate and time left; it disappears at the end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,  # otherwise, it leaves an empty line in a log
    )


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


class RunProgress(RunEvents):
    """Shows a run's progress on stderr, so that stdout contains only the result."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self._done = 0

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        end_loading()
        already = f", {already_graded} graded before" if already_graded else ""
        where = f"isolation tier {tier}" if tier else "each worker has its own isolation tier"
        self._progress.console.print(f"{where}; {to_grade} to grade{already}")
        self._progress.update(self._task, total=to_grade, description="grading")
        self._progress.reset(self._task, total=to_grade)

    def passed_over(self, tier: Tier, why: str) -> None:
        end_loading()
        self._progress.console.print(
            f"using tier {tier}, because stronger tiers do not work here:", style="yellow"
        )
        for line in why.split("\n"):
            self._progress.console.print(for_terminal(line), soft_wrap=True)

    def graded(self, result: SubmissionResult) -> None:
        self._done += 1
        self._progress.advance(self._task)

    @contextlib.contextmanager
    def may_be_stopped(self) -> Iterator[None]:
        """Turns Ctrl-C into a `UserError` that says how to resume, if any results are kept."""
        try:
            yield
        except KeyboardInterrupt as error:
            if not self._done:
                raise
            raise UserError(
                f"stopped: {self._done} results are kept; run the same command with --resume to "
                "grade the rest"
            ) from error
