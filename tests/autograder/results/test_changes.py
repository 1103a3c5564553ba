"""Scores that regrading changed are reported with the cause, until somebody has seen them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import autograder
from autograder.classroom import read_review_marks
from autograder.cli import cli
from autograder.errors import UserError
from autograder.results.changes import Cause, Score, attempts, changes, doubts, manual_changes
from autograder.results.manual import HumanGrade, HumanWork

MakeResult = Callable[..., autograder.SubmissionResult]
FIRST = (2.0, 0.0, 2.0)


def write(folder: Path, *lines: autograder.SubmissionResult) -> None:
    with (folder / "results.jsonl").open("a") as file:
        file.writelines(json.dumps(line.to_json()) + "\n" for line in lines)


def call(*arguments: object) -> str:
    done = CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)
    if done.exception:
        raise done.exception
    assert done.return_value == 0
    return done.output


def test_a_change_says_from_to_and_because_of_what(make_result: MakeResult) -> None:
    old = make_result("ada", FIRST)
    suite = replace(make_result("ada", (2.0, 1.0, 2.0)), suite_digest="sha256:2")
    (change,) = changes(attempts([old, suite]))
    assert (change.exercise, change.question) == ("masking", "mask_scores")
    assert (change.before, change.after) == (Score(0.0, 2.0), Score(1.0, 2.0))
    assert (change.causes, change.difference) == ((Cause.SUITE,), 1.0)


def test_a_score_that_went_up_and_down_again_is_reported(make_result: MakeResult) -> None:
    low = make_result("ada", FIRST)
    high = replace(make_result("ada", (2.0, 2.0, 2.0)), submission_digest="sha256:2")
    (change,) = changes(attempts([low, high, high, low]))
    assert (change.before, change.between, change.after) == (
        Score(0.0, 2.0),
        (Score(2.0, 2.0),),
        Score(0.0, 2.0),
    )
    assert change.causes == (Cause.SUBMISSION,)
    # somebody has already seen the three results
    assert changes(attempts([low, high, low], {"masks": 3})) == []
    (up,) = changes(attempts([low, replace(low, suite_digest="sha256:2"), high]))
    assert up.between == ()


@pytest.mark.parametrize(
    ("now", "causes"),
    [
        ({"submission_digest": "sha256:9"}, (Cause.SUBMISSION,)),
        ({"suite_digest": "sha256:9"}, (Cause.SUITE,)),
        ({"suite_digest": "9", "submission_digest": "9"}, (Cause.SUBMISSION, Cause.SUITE)),
        ({}, (Cause.AGAIN,)),
    ],
)
def test_the_digests_show_the_cause(
    make_result: MakeResult, now: dict[str, Any], causes: tuple[Cause, ...]
) -> None:
    after = replace(make_result("ada", (0.0, 0.0, 2.0)), **now)
    (change,) = changes(attempts([make_result("ada", FIRST), after]))
    assert change.causes == causes


def test_a_changed_maximum_is_reported_without_gained_points(make_result: MakeResult) -> None:
    old = make_result("ada", FIRST)
    dropout = old.exercises[1]
    worth = replace(dropout.questions[0], max_score=5.0)
    now = replace(old, exercises=(old.exercises[0], replace(dropout, questions=(worth,))))
    (change,) = changes(attempts([old, replace(now, suite_digest="sha256:2")]))
    assert (change.question, change.difference) == ("dropout", 0.0)
    assert change.causes == (Cause.SUITE, Cause.POINTS)


def test_a_line_that_the_grader_failed_on_changes_nothing(make_result: MakeResult) -> None:
    failed = make_result("ada", status=autograder.records.SubmissionStatus.FAILED)
    assert changes(attempts([make_result("ada"), failed])) == []


def test_changes_are_relative_to_the_last_line_looked_at(make_result: MakeResult) -> None:
    lines = [make_result("ada", (score, 0.0, 0.0)) for score in (0.0, 1.0, 2.0)]
    (since_first,), (since_look,) = changes(attempts(lines)), changes(attempts(lines, {"masks": 2}))
    assert (since_first.difference, since_look.difference) == (2.0, 1.0)


def test_a_manual_score_is_doubtful_if_answer_or_score_changed(
    make_result: MakeResult,
) -> None:
    key = ("ada", "masks", "masking", "mask_scores")
    work = HumanWork({key: HumanGrade(score=1.5)})
    same = attempts([make_result("ada", FIRST), make_result("ada", FIRST)])
    assert doubts(same, work) == []
    other = replace(make_result("ada", FIRST), submission_digest="sha256:9")
    (doubt,) = doubts(attempts([make_result("ada", FIRST), other]), work)
    assert (doubt.question, doubt.entered, doubt.causes) == (
        "mask_scores", 1.5, (Cause.SUBMISSION,),
    )  # fmt: skip
    (by_hand,) = manual_changes(same, work)
    assert (by_hand.before, by_hand.after) == (Score(0.0, 2.0), Score(1.5, 2.0))


def test_the_command_repeats_itself_and_export_is_silent_after_it(
    class_folder: Path, make_result: MakeResult
) -> None:
    write(class_folder, make_result("ada", FIRST), make_result("ben", FIRST))
    assert "note" not in call("export", "csv", class_folder)
    fixed = replace(make_result("ada", (2.0, 2.0, 2.0)), suite_digest="sha256:2")
    write(class_folder, fixed)
    said = "changed scores that nobody has looked at yet (1 in all, of 1 student)"
    assert said in call("export", "csv", class_folder)
    for _ in range(2):
        output = call("changes", class_folder)
        assert "masks/masking/mask_scores: 1 up; because of suite" in output
    assert "note" not in call("export", "csv", class_folder)
    assert read_review_marks(class_folder).numbers("masks") == {3}
    write(class_folder, replace(fixed, suite_digest="sha256:3"))
    assert "no score has changed" in call("changes", class_folder)
    assert "1 up" in call("changes", class_folder, "--all")


def test_a_resubmission_is_shown_without_a_note(
    class_folder: Path, make_result: MakeResult
) -> None:
    again = replace(make_result("ada", (2.0, 2.0, 2.0)), submission_digest="9", attempt=2)
    write(class_folder, make_result("ada", FIRST), again)
    assert "note" not in call("export", "csv", class_folder)
    assert "because of submission" in call("changes", class_folder)
    page = (class_folder / "changes.html").read_text()
    assert "Attempt 1" in page and "Attempt 2" in page


def test_looking_at_one_student_does_not_count_for_the_class(
    class_folder: Path, make_result: MakeResult
) -> None:
    write(class_folder, make_result("ada", FIRST), make_result("ada", (0.0, 0.0, 0.0)))
    call("changes", class_folder, "--student", "ada")
    assert not read_review_marks(class_folder).numbers("masks")


def test_json_and_page_agree_and_hide_names_on_request(
    class_folder: Path, make_result: MakeResult
) -> None:
    name = "<b>ada"
    write(class_folder, make_result(name, FIRST), make_result(name, (0.0, 0.0, 2.0)))
    (change,) = json.loads(call("changes", class_folder, "--json"))["changes"]
    assert (change["student"], change["difference"]) == (name, -2.0)
    call("changes", class_folder)
    page = (class_folder / "changes.html").read_text()
    assert "&lt;b&gt;ada" in page and name not in page
    call("changes", class_folder, "--anonymous")
    page = (class_folder / "changes.html").read_text()
    assert "ada" not in page and "Student 1" in page


def test_a_table_of_looks_that_cannot_be_read_is_refused(
    class_folder: Path, make_result: MakeResult
) -> None:
    write(class_folder, make_result("ada"))
    with (class_folder / "looked.csv").open("w") as file:
        csv.writer(file).writerows([["assignment", "lines", "looked_at"], ["masks", "many", ""]])
    with pytest.raises(UserError, match=r"looked\.csv: 'many' is not a number of lines"):
        call("changes", class_folder)


def test_changes_looked_at_before_are_not_shown_with_new_ones(
    class_folder: Path, make_result: MakeResult
) -> None:
    masks = make_result("ada", FIRST)
    other = replace(masks, assignment="heads")
    write(class_folder, masks, other)
    call("changes", class_folder)
    write(class_folder, replace(make_result("ada", (2.0, 2.0, 2.0)), suite_digest="sha256:2"))
    assert "masks/masking" in call("changes", class_folder)
    fixed = replace(make_result("ada", (2.0, 2.0, 2.0)), suite_digest="sha256:2")
    write(class_folder, replace(fixed, assignment="heads"))
    for _ in range(2):
        output = call("changes", class_folder)
        assert "heads/masking" in output and "masks/masking" not in output
    assert "masks/masking" in call("changes", class_folder, "--all")
