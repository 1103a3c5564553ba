"""Writes pages from results: one for each student and assignment, and one for the class."""

from .attempts import AttemptCodes, attempt_codes
from .changes_page import QuestionChange, before_text, by_question, score_text, write_changes
from .delivery import DeliveryFormat, DeliveryReport, Recipients, deliver, page_of
from .drill_down import drill_down
from .pages import write_feedback
from .report import (
    AssignmentReport,
    ClassFacts,
    QuestionReport,
    Report,
    StudentReport,
    class_report,
)
from .report_page import write_report
from .similar import SimilarCode, SimilarPair, similar_pairs, write_similar
from .wrong_code import wrong_code

__all__ = [
    "AssignmentReport",
    "AttemptCodes",
    "ClassFacts",
    "DeliveryReport",
    "SimilarPair",
    "QuestionChange",
    "QuestionReport",
    "Recipients",
    "Report",
    "SimilarCode",
    "StudentReport",
    "DeliveryFormat",
    "attempt_codes",
    "before_text",
    "by_question",
    "class_report",
    "deliver",
    "drill_down",
    "page_of",
    "score_text",
    "similar_pairs",
    "write_changes",
    "write_feedback",
    "write_report",
    "write_similar",
    "wrong_code",
]
