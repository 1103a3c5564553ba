"""Prints the plan and the outcome of a pull or push, and converts them to JSON documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..counts import number_of
from ..deadlines import duration_text
from ..escaping import for_terminal
from .collecting import collected_document, print_collected
from .output import console

if TYPE_CHECKING:
    from ..operations.pull import PullPlan, PullReport
    from ..operations.push import GradeChange, PushPlan, PushReport

_MOST = 10


def _line(text: str) -> None:
    console.print(for_terminal(text), soft_wrap=True)


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST} more" if len(every) > _MOST else ""
    return f"{', '.join(every[:_MOST])}{more}"


def print_pull(plan: PullPlan) -> None:
    _line(f"{plan.platform}: {plan.title} ({plan.address})")
    if plan.roster and plan.roster.added:
        _line(f"roster: {len(plan.roster.added)} new: {_some(plan.roster.added)}")
    if plan.roster and plan.roster.updated:
        _line(f"roster: {len(plan.roster.updated)} updated: {_some(plan.roster.updated)}")
    for date in plan.dates:
        where = f"{date.assignment}{f' for {date.section}' if date.section else ''}"
        _line(f"due date of {where}: {date.before or 'none'} -> {date.after}")
    for item in plan.extensions:
        before = "no extension" if item.before is None else duration_text(item.before)
        after = duration_text(item.after)
        _line(f"extension for {item.student} in {item.assignment}: {before} -> {after}")
    for name, count in Counter(item.assignment for item in plan.submissions).items():
        own = [item for item in plan.submissions if item.assignment == name]
        again = sum(item.attempt.number > 1 for item in own)
        here = sum(item.is_here for item in own)
        more = f" ({again} submitted again)" if again else ""
        what = f"{count - here} to download" + f", {here} already downloaded" * bool(here)
        _line(f"submissions for {name}: {what}{more}: {_some(i.student for i in own)}")
    _print_rest(plan.notes, plan.waits)


def print_pulled(report: PullReport, class_folder: Path, dry_run: bool) -> None:
    """Prints the outcome of a pull; a plan that changes something has already been printed."""
    plan = report.plan
    if not plan.changes_something:
        _line(f"{plan.platform}: {plan.title}: nothing has changed")
        _print_rest(plan.notes, plan.waits)
        return
    if report.collected:
        print_collected(report.collected, class_folder / "submitted")
    _print_rest((), report.waits[len(plan.waits) :])
    _print_end(report.is_done, dry_run)


def print_push(plan: PushPlan) -> None:
    _line(f"{plan.platform}: {plan.title} ({plan.address})")
    for name in dict.fromkeys(change.assignment for change in plan.changes):
        own = [change for change in plan.changes if change.assignment == name]
        new = [change for change in own if change.before is None]
        others = [change for change in own if change.before is not None]
        feedback = sum(bool(change.update.feedback) for change in own)
        with_it = f", {feedback} with feedback" if feedback else ""
        _line(f"{name}: {number_of(len(new), 'new grade')}, {len(others)} changed{with_it}")
        for change in [*others, *new][:_MOST]:
            _line(f"  {_change_text(change)}")
        if len(own) > _MOST:
            _line(f"  and {len(own) - _MOST} more")
    if plan.same:
        _line(f"already there, so not sent again: {number_of(plan.same, 'grade')}")
    _print_rest(plan.notes, plan.waits)


def _change_text(change: GradeChange) -> str:
    before = "none" if change.before is None else f"{change.before:g}"
    return f"{change.student}: {before} -> {change.update.points:g}"


def print_pushed(report: PushReport, dry_run: bool) -> None:
    """Prints the outcome of a push; a plan that changes something has already been printed."""
    plan = report.plan
    if not plan.changes:
        _line(f"{plan.platform}: {plan.title}: no grades to write; {plan.same} already there")
        _print_rest(plan.notes, plan.waits)
        return
    if report.is_done:
        _line(f"{report.written} of {number_of(len(plan.changes), 'grade')} written")
    _print_rest((), report.waits[len(plan.waits) :])
    _print_end(report.is_done, dry_run)


def _print_rest(notes: Iterable[str], waits: Iterable[str]) -> None:
    for note in notes:
        _line(f"note: {note}")
    for wait in waits:
        console.print(f"[yellow]needs your attention:[/] {for_terminal(wait)}", soft_wrap=True)


def _print_end(is_done: bool, dry_run: bool) -> None:
    if dry_run:
        _line("nothing was changed: this was a dry run")
    elif not is_done:
        _line("nothing was changed")


def pull_document(report: PullReport) -> dict[str, object]:
    plan = report.plan
    return {
        "platform": plan.platform,
        "course": plan.title,
        "done": report.is_done,
        "roster": {
            "added": list(plan.roster.added) if plan.roster else [],
            "updated": list(plan.roster.updated) if plan.roster else [],
            "not_in_list": list(plan.roster.not_in_list) if plan.roster else [],
        },
        "dates": [
            {"assignment": d.assignment, "section": d.section, "from": d.before, "to": d.after}
            for d in plan.dates
        ],
        "extensions": [
            {
                "student": item.student,
                "assignment": item.assignment,
                "from": None if item.before is None else duration_text(item.before),
                "to": duration_text(item.after),
            }
            for item in plan.extensions
        ],
        "submissions": [
            {
                "student": item.student,
                "assignment": item.assignment,
                "attempt": item.attempt.number,
                "time": item.attempt.time.isoformat() if item.attempt.time else None,
            }
            for item in plan.submissions
        ],
        "collected": collected_document(report.collected) if report.collected else None,
        "notes": list(plan.notes),
        "needs_you": list(report.waits),
    }


def push_document(report: PushReport) -> dict[str, object]:
    plan = report.plan
    return {
        "platform": plan.platform,
        "course": plan.title,
        "done": report.is_done,
        "written": report.written,
        "same": plan.same,
        "changes": [
            {
                "student": change.student,
                "assignment": change.assignment,
                "from": change.before,
                "to": change.update.points,
                "feedback": bool(change.update.feedback),
            }
            for change in plan.changes
        ],
        "notes": list(plan.notes),
        "needs_you": list(report.waits),
    }
