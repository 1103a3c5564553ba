"""Writes pages from results: one for each student and assignment, and pages about the class."""

from .attempts import AttemptCodes, attempt_codes
from .changes_page import before_text, by_question, score_text, write_changes
from .delivery import DeliveryFormat, DeliveryReport, Recipients, deliver, page_of
from .drill_down import drill_down
from .pages import write_feedback
from .report import (
    ClassFacts,
    Report,
    class_report,
)
from .report_page import write_report
from .similar import SimilarPair, similar_pairs, write_similar
from .wrong_code import wrong_code
