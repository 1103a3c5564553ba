"""Pages from results: one for each student and assignment, and one for the class."""

from .pages import write_feedback
from .report import QuestionReport, Report, StudentReport, class_report
from .report_page import write_report

__all__ = [
    "QuestionReport",
    "Report",
    "StudentReport",
    "class_report",
    "write_feedback",
    "write_report",
]
