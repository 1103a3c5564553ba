"""Writes JUnit XML for continuous integration, with a suite for each submission and exercise."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from ...escaping import for_xml
from ...files import replace_file
from ...records import ExerciseResult, QuestionResult, SubmissionResult, SubmissionStatus
from ...results.wording import VERDICT_WORDS, readable_test, why_not_judged, worth_text
from ..class_grades import Grades
from ..export_tables import Exported

DEFAULT = "grades.junit.xml"

_TOTALS = ("tests", "failures", "errors")


def write(grades: Grades, path: Path) -> Exported:
    """Writes the XML file; raises `UserError` if it can't be written."""
    root = ET.Element("testsuites", name="autograder")
    totals, seconds = Counter[str](), 0.0
    suites = io.StringIO()  # text needs much less memory than elements
    for result in grades.results:
        seconds += result.seconds
        for suite in map(_counted, _suites(result)):
            totals.update({kind: int(suite.get(kind, "0")) for kind in _TOTALS})
            ET.indent(suite, level=1)
            suites.write(f"\n  {ET.tostring(suite, encoding='unicode')}")
    for kind in _TOTALS:
        root.set(kind, str(totals[kind]))
    root.set("time", f"{seconds:.3f}")
    return Exported(replace_file(path, _document(root, suites.getvalue())))


def _document(root: ET.Element, suites: str) -> str:
    alone = ET.tostring(root, encoding="unicode")
    text = f"{alone.removesuffix(' />')}>{suites}\n</testsuites>" if suites else alone
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suites(result: SubmissionResult) -> Iterable[ET.Element]:
    place = f"{result.student}/{result.assignment}"
    if result.status is SubmissionStatus.FAILED:
        suite = _element("testsuite", name=place)
        case = ET.SubElement(suite, "testcase", _clean(classname=place, name="grading"))
        ET.SubElement(case, "error", _clean(message=result.error or "the grader failed"))
        yield suite
        return
    for exercise in result.exercises:
        yield _suite(f"{place}/{exercise.exercise}", exercise)


def _suite(place: str, exercise: ExerciseResult) -> ET.Element:
    suite = _element("testsuite", name=place)
    for question in exercise.questions:
        classname = f"{place}/{question.question}"
        for test in question.tests:
            case = _element("testcase", classname=classname, name=readable_test(test.name))
            suite.append(case)
            if not test.passed:
                _failure(case, question, test.message)
        if not question.tests:
            case = _element("testcase", classname=classname, name=question.question)
            suite.append(case)
            if question.score < question.max_score:
                _failure(case, question, why_not_judged(exercise))
    if not exercise.questions:
        case = _element("testcase", classname=place, name=exercise.exercise)
        suite.append(case)
        advice = why_not_judged(exercise)
        if advice:
            case.append(_element("failure", message=advice, type=exercise.status.value))
    return suite


def _failure(case: ET.Element, question: QuestionResult, text: str) -> None:
    points = worth_text(question.score, question.max_score)
    message = f"{VERDICT_WORDS[question.verdict]}: {points} for {question.question}"
    failure = _element("failure", message=message, type=question.verdict.value)
    failure.text = for_xml(text)
    case.append(failure)


def _counted(suite: ET.Element) -> ET.Element:
    suite.set("tests", str(len(suite)))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(sum(case.find(tag) is not None for case in suite)))
    return suite


def _element(tag: str, **attributes: str) -> ET.Element:
    return ET.Element(tag, _clean(**attributes))


def _clean(**attributes: str) -> dict[str, str]:
    return {key: for_xml(value) for key, value in attributes.items()}
