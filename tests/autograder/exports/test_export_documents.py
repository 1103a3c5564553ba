"""Exports for Gradescope, JUnit and Markdown follow the formats' rules and escape all text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import mistune
import pytest

from autograder.errors import UserError
from autograder.exports import export, export_formats
from autograder.records import (
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)

#: names and messages that contain markup or commands
HOSTILE = [
    "a|b",
    "<script>x</script>",
    "`x` *y* [z](http://e)",
    "]]>&amp;\x00\x1b[2J\ud800",
    "@a #1",
]

_FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_VISIBLE = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
#: the schema of results.json, from Gradescope's documentation
GRADESCOPE = {
    "type": "object",
    "required": ["score", "tests"],
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "integer"},
        "output": {"type": "string"},
        "output_format": _FORMATS,
        "test_output_format": _FORMATS,
        "test_name_format": _FORMATS,
        "visibility": _VISIBLE,
        "stdout_visibility": _VISIBLE,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": _FORMATS,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": _FORMATS,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": _VISIBLE,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


def gradescope(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(document, GRADESCOPE)
    return document


def test_gradescope_gets_a_file_for_each_submission(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [make_result("ada"), make_result("../ben", (2.0, 2.0, 2.0))]
    written = export("gradescope", results, tmp_path / "out")
    files = sorted(path.relative_to(written.path) for path in written.path.rglob("results.json"))
    assert files == [Path("%2E%2E%2Fben/masks/results.json"), Path("ada/masks/results.json")]
    ada = gradescope(written.path / "ada/masks/results.json")
    assert (ada["score"], ada["output"]) == (4.0, "4 of 6 points")
    assert [test["number"] for test in ada["tests"]] == [
        *("1.1.1", "1.1.2", "1.2.1", "1.2.2"),
        *("2.1.1", "2.1.2"),
    ]
    assert ada["tests"][2] == {
        "name": "Masking: mask_scores: Diagonal is allowed",
        "number": "1.2.1",
        "score": 0.0,
        "max_score": 1.0,
        "status": "failed",
        "output": "rows and columns\nMay a token see itself?",
        "visibility": "visible",
    }


def test_gradescope_takes_one_submission_as_one_file(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    written = export("gradescope", [make_result()], tmp_path / "results" / "results.json")
    assert gradescope(written.path)["score"] == 4.0
    with pytest.raises(UserError, match="but there are 2: choose one with --student"):
        export("gradescope", [make_result(), make_result("b")], tmp_path / "results.json")


def test_a_grader_that_failed_leaves_no_score_for_gradescope(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    export("gradescope", [make_result()], tmp_path / "results.json")
    failed = make_result(status=SubmissionStatus.FAILED)
    written = export("gradescope", [failed], tmp_path / "results.json")
    assert not written.path.exists()
    note = "'ada', masks: the grader failed, so there is no results.json; grade it again"
    assert written.notes == (note,)


def test_a_missing_file_is_named(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    statuses = (ExerciseStatus.MISSING, ExerciseStatus.GRADED)
    result = make_result(scores=(0.0, 0.0, 2.0), statuses=statuses, files=(None, "dropout.py"))
    gone = replace(result.exercises[0], questions=(), notes=("look at masks.py: is it misnamed?",))
    result = replace(result, exercises=(gone, result.exercises[1]))
    document = gradescope(export("gradescope", [result], tmp_path / "results.json").path)
    assert document["tests"][0]["max_score"] == 4.0
    beginning = "look at masks.py: is it misnamed? No file for this exercise could be graded."
    assert beginning in document["tests"][0]["output"] and beginning in document["output"]
    suite = ET.parse(export("junit", [result], tmp_path / "junit.xml").path).getroot()[0]
    assert suite[0][0].get("type") == "missing"
    assert (suite[0][0].get("message") or "").startswith(beginning)


def test_junit_has_a_suite_for_each_submission_and_exercise(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    written = export("junit", [make_result("ada"), make_result("ben")], tmp_path / "junit.xml")
    root = ET.parse(written.path).getroot()
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root] == [
        *("ada/masks/masking", "ada/masks/dropout"),
        *("ben/masks/masking", "ben/masks/dropout"),
    ]
    failure = root[0][2][0]
    assert failure.attrib == {
        "message": "Not right yet: 0 of 2 points for mask_scores",
        "type": "wrong",
    }
    assert failure.text == "rows and columns"


def test_junit_counts_what_it_holds(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [make_result("ada"), make_result("ben", status=SubmissionStatus.FAILED)]
    root = ET.parse(export("junit", results, tmp_path / "junit.xml").path).getroot()
    for suite in root:
        cases = suite.findall("testcase")
        assert {case.tag for case in suite} == {"testcase"}
        assert all(case.get("name") and case.get("classname") for case in cases)
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "2", "1")


def test_markdown_of_a_class_has_a_row_for_each_student(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [
        make_result("ada"),
        make_result("ada", assignment="other", status=SubmissionStatus.FAILED),
        make_result("ben", statuses=(ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)),
    ]
    text = export("markdown", results, tmp_path / "s.md").path.read_text(encoding="utf-8")
    assert "2 students, 3 submissions." in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[0] == "| Student | Masks | Other | To look at |"
    assert table[2].startswith("| <code>ada</code> | 4 of 6 | not graded | the grader failed")
    assert table[3].startswith("| <code>ben</code> | 4 of 6 |  | dropout")


def test_markdown_of_one_submission_has_a_row_for_each_question(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    text = export("markdown", [make_result()], tmp_path / "s.md").path.read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 5
    assert table[3] == (
        "| <code>masking</code> | <code>mask&#95;scores</code> | 0 of 2 | Not right yet "
        "| May a token see itself? |"
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_is_one_table_whatever_a_student_is_called(
    make_result: Callable[..., SubmissionResult], tmp_path: Path, name: str
) -> None:
    results = [make_result(name), make_result("ben")]
    text = export("markdown", results, tmp_path / "s.md").path.read_text(encoding="utf-8")
    markdown = mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])
    html = str(markdown(text))
    assert html.count("<tr>") == 3
    assert html.count("<td") == 6
    assert not [tag for tag in ("<script", "<a ", "<em", "<img") if tag in html]
    assert html.count("<code>") == 2


#: bytes that would control the terminal that shows the file
_CONTROLS = {*range(32), 127} - {*b"\t\n\r"}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", export_formats())
def test_any_name_and_message_is_written_without_control_characters(
    make_result: Callable[..., SubmissionResult], tmp_path: Path, kind: str, name: str
) -> None:
    results = [make_result(name, message=name), make_result("b", message=name)]
    written = export(kind, results, tmp_path / "out")
    files = [path for path in (written.path, *written.path.rglob("*")) if path.is_file()]
    assert files
    assert not [path for path in files if set(path.read_bytes()) & _CONTROLS]
    if kind == "junit":
        root = ET.parse(written.path).getroot()
        assert len(root) == 4
        assert len(root.findall(".//failure")) == 4


def test_every_export_explains_why_an_answer_could_not_be_judged(
    make_result: Callable[..., SubmissionResult],
    make_question: Callable[..., QuestionResult],
    tmp_path: Path,
) -> None:
    result = make_result()
    bare = replace(make_question("dropout", 0.0, Verdict.TIMEOUT), tests=(), hint=None)
    exercise = replace(result.exercises[1], questions=(bare,), score=0.0)
    result = replace(result, exercises=(result.exercises[0], exercise))
    document = gradescope(export("gradescope", [result], tmp_path / "results.json").path)
    assert document["tests"][-1]["output"] == "Took too long"
    junit = export("junit", [result], tmp_path / "j.xml").path.read_text(encoding="utf-8")
    assert "Took too long: 0 of 2 points for dropout" in junit
