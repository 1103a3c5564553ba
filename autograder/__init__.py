"""Autograded exercises that build the attention mechanism, and their grader.

Provides most commands for instructors as functions, which are imported only when they are used::

    import autograder

    report = autograder.grade("course/submitted", jobs=2, resume=True)
    for result in autograder.final_results("course"):
        print(result.student, result.assignment, result.score)
    autograder.write_feedback("course")
    autograder.export("csv", "course")
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .course import Course
    from .errors import AutograderError, ContentError, GraderError, UserError
    from .operations.changes import class_changes, write_changes
    from .operations.classes import extend, extend_all, set_roster, withdraw
    from .operations.collect import collect, undo_collect
    from .operations.course_content import load_course, new, release, validate
    from .operations.grade import grade, grade_stream
    from .operations.marking import add_comment, bank_uses, mark
    from .operations.misconceptions import add_misconception
    from .operations.mistakes import unnamed_mistakes
    from .operations.outcome import GradeReport
    from .operations.pull import pull
    from .operations.push import push
    from .operations.reading import class_results
    from .operations.report import report, write_report
    from .operations.results import (
        deliver_feedback,
        export,
        export_formats,
        final_results,
        merge,
        record,
        similar,
        write_feedback,
    )
    from .operations.second_looks import bring_requests, class_requests, graders_work
    from .records import SubmissionResult, Verdict

#: the public names of each module
_NAMES = {
    "course": "Course",
    "errors": "AutograderError ContentError GraderError UserError",
    "operations.changes": "class_changes write_changes",
    "operations.classes": "extend extend_all set_roster withdraw",
    "operations.collect": "collect undo_collect",
    "operations.course_content": "load_course new release validate",
    "operations.grade": "grade grade_stream",
    "operations.marking": "add_comment bank_uses mark",
    "operations.misconceptions": "add_misconception",
    "operations.mistakes": "unnamed_mistakes",
    "operations.outcome": "GradeReport",
    "operations.pull": "pull",
    "operations.push": "push",
    "operations.reading": "class_results",
    "operations.report": "report write_report",
    "operations.results": "deliver_feedback export export_formats final_results merge record "
    "similar write_feedback",
    "operations.second_looks": "bring_requests class_requests graders_work",
    "records": "SubmissionResult Verdict",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AutograderError",
    "ContentError",
    "Course",
    "GradeReport",
    "GraderError",
    "SubmissionResult",
    "UserError",
    "Verdict",
    "__version__",
    "add_comment",
    "add_misconception",
    "bank_uses",
    "bring_requests",
    "class_changes",
    "class_requests",
    "class_results",
    "collect",
    "deliver_feedback",
    "export",
    "export_formats",
    "extend",
    "extend_all",
    "final_results",
    "grade",
    "grade_stream",
    "graders_work",
    "load_course",
    "mark",
    "merge",
    "new",
    "pull",
    "push",
    "record",
    "release",
    "report",
    "set_roster",
    "similar",
    "undo_collect",
    "unnamed_mistakes",
    "validate",
    "withdraw",
    "write_changes",
    "write_feedback",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("attention-autograder")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
