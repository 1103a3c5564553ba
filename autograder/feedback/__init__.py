"""Pages from results: one for each student and assignment, and one for the class."""

from .delivery import Delivered, Recipients, Way, deliver
from .pages import write_feedback
from .report import QuestionReport, Report, StudentReport, class_report
from .report_page import write_report

__all__ = [
    "Delivered",
    "QuestionReport",
    "Recipients",
    "Report",
    "StudentReport",
    "Way",
    "class_report",
    "deliver",
    "write_feedback",
    "write_report",
]
