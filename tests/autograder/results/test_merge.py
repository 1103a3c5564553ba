"""`autograder merge` joins shards into one file, and rejects shards that contradict each other."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import autograder
from autograder.errors import UserError
from autograder.records import SubmissionResult, SubmissionStatus
from autograder.results.file import ResultsFile, read_results

MakeResult = Callable[..., SubmissionResult]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Returns a function that writes results into a file with this name."""

    def writing(name: str, *results: SubmissionResult) -> Path:
        with ResultsFile(tmp_path / name) as file:
            for result in results:
                file.append(result)
        return tmp_path / name

    return writing


def test_shards_become_one_file_whatever_their_order(
    write: Write, make_result: MakeResult, tmp_path: Path
) -> None:
    ada, ben, cid = (make_result(name) for name in ("ada", "ben", "cid"))
    again = replace(ben, attempt=2, submission_digest="sha256:" + "2" * 64)
    shards = [write("0.jsonl", cid, ben), write("1.jsonl", ada), write("2.jsonl", again)]
    shards.append(write("3.jsonl"))
    report = autograder.merge(shards, tmp_path / "all.jsonl")
    assert report.lines == 4
    assert read_results(report.to) == [ada, ben, again, cid]
    backwards = autograder.merge(reversed(shards), tmp_path / "backwards.jsonl")
    assert backwards.to.read_bytes() == report.to.read_bytes()


def test_equal_lines_are_kept_once_and_failed_ones_replaced(
    write: Write, make_result: MakeResult, tmp_path: Path
) -> None:
    ada, ben = make_result("ada"), make_result("ben")
    slower = replace(ada, seconds=9.0)
    failed = replace(ben, status=SubmissionStatus.FAILED, error="lost", exercises=())
    one, two = write("1.jsonl", ada, failed), write("2.jsonl", slower, ben)
    report = autograder.merge([one, two], one)
    assert (report.lines, report.equal, report.failed_before) == (2, 1, 1)
    assert read_results(one) == [ada, ben]


def test_two_scores_of_one_submission_are_an_error_naming_both(
    write: Write, make_result: MakeResult, tmp_path: Path
) -> None:
    ada = make_result("ada")
    exercise, *others = ada.exercises
    question, *rest = exercise.questions
    worse = replace(exercise, questions=(replace(question, score=question.score - 1), *rest))
    other = replace(ada, score=ada.score - 1, exercises=(worse, *others))
    one, two = write("1.jsonl", make_result("ben"), ada), write("2.jsonl", other)
    with pytest.raises(UserError, match=r"ada.*1\.jsonl:2, .* in .*2\.jsonl:1\. Check.*secret"):
        autograder.merge([one, two], tmp_path / "all.jsonl")
    changed = replace(ada, submission_digest="sha256:" + "2" * 64)
    with pytest.raises(UserError, match="whether the files submitted were"):
        autograder.merge([one, write("3.jsonl", changed)], tmp_path / "all.jsonl")
    newer = write("5.jsonl", replace(ada, suite_digest="sha256:" + "2" * 64))
    with pytest.raises(UserError, match="whether the course and the grader were"):
        autograder.merge([one, newer], tmp_path / "all.jsonl")
    total_alone = write("4.jsonl", replace(ada, score=ada.score + 1))
    with pytest.raises(UserError, match=r"4\.jsonl:1"):
        autograder.merge([one, total_alone], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()


def test_a_truncated_shard_is_refused_with_the_repairing_command(
    write: Write, make_result: MakeResult, tmp_path: Path
) -> None:
    one, two = write("1.jsonl", make_result("ada")), write("2.jsonl", make_result("ben"))
    two.write_bytes(two.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"2\.jsonl:1 .*autograder grade .* --results .*2\.jsonl"):
        autograder.merge([one, two], tmp_path / "all.jsonl")


def test_an_existing_file_or_one_being_written_is_left_alone(
    write: Write, make_result: MakeResult, tmp_path: Path
) -> None:
    one, two = write("1.jsonl", make_result("ada")), write("2.jsonl", make_result("ben"))
    with pytest.raises(UserError, match=r"2\.jsonl exists"):
        autograder.merge([one], two)
    with pytest.raises(UserError, match="does not exist"):
        autograder.merge([one, tmp_path / "3.jsonl"], tmp_path / "all.jsonl")
    with open(two, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="a grader is writing"):
            autograder.merge([one, two], tmp_path / "all.jsonl")
    assert len(read_results(two)) == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"score": 1e9}, "score: 1000000000.0 of"),
        ({"max_score": -1}, r"\$.max_score"),
        ({"score": float("nan")}, "NaN is not a valid number"),
        ({"max_score": float("inf")}, "Infinity is not a valid number"),
        ({"student": "../../../../x"}, "not the name of a student"),
        ({"student": "a\0b"}, "not the name of a student"),
        ({"student": "\ud800"}, "not the name of a student"),
        ({"student": "x" * 256}, "not the name of a student"),
        ({"assignment": ".."}, "not the name of a student or an assignment"),
        ({"attempt": 10**30}, "attempt: more than"),
        ({"attempt": 0}, r"\$.attempt"),
        ({"score": "3"}, r"\$.score"),
        ({"exercises": [{}]}, r"\$.exercises\[0\]"),
        ({"isolation": "none"}, r"\$.isolation"),
        ({"more": 1}, "more"),
    ],
)
def test_a_line_of_another_form_is_not_merged(
    tmp_path: Path,
    make_result: Callable[..., SubmissionResult],
    changes: dict[str, object],
    why: str,
) -> None:
    path = tmp_path / "shard.jsonl"
    path.write_text(json.dumps({**make_result("ada").to_json(), **changes}) + "\n")
    with pytest.raises(UserError, match=f"shard.jsonl:1 is not a line of results .*{why}"):
        autograder.merge([path], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()
