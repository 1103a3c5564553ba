"""A class gets the right verdicts, even if grading is resumed or sharded, or if jobs die."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autograder.errors import UserError
from autograder.grading import jobs as class_jobs
from autograder.grading import submissions
from autograder.grading.watch import Stage
from autograder.records import SubmissionResult, SubmissionStatus
from autograder.results import file as results_file
from autograder.results.file import read_results
from autograder.results.review import reasons_to_look

from ..grading_runs import executed_files
from .conftest import ClassFolder

SCHEMA = Path(results_file.__file__).with_name("result.schema.json")
#: how many of the grader's files grading a correct submission may execute outside the sandbox
MOST_FILES = 60
TWO = "def query_scores(inputs, query):\n    return inputs @ query\n"


def test_a_right_submission_has_full_marks(a_class: ClassFolder, tmp_path: Path) -> None:
    with executed_files(tmp_path / "executed") as files:
        result = a_class.grade_one()
    assert (result.score, result.max_score) == (100, 100)
    assert result.status is SubmissionStatus.GRADED
    # to understand how one submission is graded, a developer has to read these files
    assert len(files) <= MOST_FILES, f"between the folder and its line: {sorted(files)}"


def test_every_line_is_of_the_schema(a_class: ClassFolder) -> None:
    a_class.submit("right")
    a_class.submit("wrong", scores=TWO, softmax="def softmax(:\n")
    (a_class.submitted / "empty" / "simplified_attention").mkdir(parents=True)
    a_class.grade()
    schema = json.loads(SCHEMA.read_text())
    lines = a_class.results.read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        jsonschema.validate(json.loads(line), schema)


def test_a_wrong_answer_costs_its_own_question_only(
    a_class: ClassFolder, questions: Callable[[SubmissionResult], dict[str, str]]
) -> None:
    text = TWO + "def attention_scores(q, k):\n    return k @ q.transpose(-2, -1)\n"
    result = a_class.grade_one(scores=text)
    verdicts = questions(result)
    assert verdicts.pop("attention_scores") in ("wrong", "partial")
    assert set(verdicts.values()) == {"correct"}


def test_a_known_mistake_is_called_by_its_name(a_class: ClassFolder) -> None:
    text = TWO + "def attention_scores(q, k):\n    return k @ q.transpose(-2, -1)\n"
    result = a_class.grade_one(scores=text)
    question = result.exercises[0].questions[1]
    assert question.misconception is not None
    assert question.misconception.startswith("scores.")
    assert question.hint


def test_two_simultaneous_mistakes_are_not_named_as_one(a_class: ClassFolder) -> None:
    text = TWO + "def attention_scores(q, k):\n    return (k @ q.transpose(-2, -1)).detach() * 2\n"
    result = a_class.grade_one(scores=text)
    assert result.exercises[0].questions[1].misconception is None


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("import os; os._exit(0)", "crashed"),
        ("while True: pass", "timeout"),
        ("raise ValueError('no')", "error"),
        ("raise NotImplementedError", "not_implemented"),
        ("return [x for x in ()]", "wrong"),
        ("return object()", "protocol"),
    ],
)
def test_a_failing_function_costs_only_its_own_question(
    impatient_class: ClassFolder,
    questions: Callable[[SubmissionResult], dict[str, str]],
    body: str,
    verdict: str,
) -> None:
    text = TWO + f"def attention_scores(q, k):\n    {body}\n"
    verdicts = questions(impatient_class.grade_one(scores=text))
    assert verdicts.pop("attention_scores") == verdict
    assert set(verdicts.values()) == {"correct"}


def test_a_forbidden_call_names_what_to_use_instead(
    a_class: ClassFolder,
) -> None:
    text = (Path("solutions/simplified_attention/softmax.py")).read_text()
    text += "\n\ndef softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)\n"
    result = a_class.grade_one(softmax=text)
    question = result.exercises[1].questions[2]
    assert question.verdict.value == "forbidden"
    assert question.score == 0
    assert any("torch.softmax" in test.message for test in question.tests)
    assert result.score == 100 - question.max_score


def test_a_failing_import_costs_only_the_answers_that_need_it(
    a_class: ClassFolder, questions: Callable[[SubmissionResult], dict[str, str]]
) -> None:
    text = f"raise RuntimeError('at import')\nT = 1 / 0\n{TWO}attention_scores = T\n"
    verdicts = questions(a_class.grade_one(scores=text))
    assert verdicts.pop("attention_scores") == "error"
    assert set(verdicts.values()) == {"correct"}


def test_a_failing_cell_costs_only_questions_that_use_it(
    a_class: ClassFolder, questions: Callable[[SubmissionResult], dict[str, str]]
) -> None:
    place = a_class.submit("ada")
    (place / "scores.py").unlink()
    cells = (
        "import torch\ntable = torch.ones(2) @ torch.ones(3)",
        "def query_scores(inputs, query):\n    return inputs @ query + table",
        "def attention_scores(queries, keys):\n    return queries @ keys.mT",
    )
    notebook = [{"cell_type": "code", "source": cell, "outputs": []} for cell in cells]
    (place / "scores.ipynb").write_text(json.dumps({"cells": notebook, "nbformat": 4}))
    (result,) = a_class.grade().graded
    verdicts = questions(result)
    assert verdicts.pop("query_scores") == "error"
    assert set(verdicts.values()) == {"correct"}
    message = result.exercises[0].questions[0].tests[0].message
    assert (
        "table has no value: `table = torch.ones(2) @ torch.ones(3)` fails with Runtime" in message
    )


def test_missing_and_unreadable_files_keep_their_points_in_the_maximum(
    a_class: ClassFolder,
) -> None:
    place = a_class.submit("ada", softmax="def softmax(:\n")
    (place / "context.py").unlink()
    (result,) = a_class.grade().graded
    statuses = {exercise.exercise: exercise.status.value for exercise in result.exercises}
    assert statuses == {"scores": "graded", "softmax": "unreadable", "context": "missing"}
    assert result.max_score == 100
    assert "line 1" in result.exercises[1].notes[0]


def test_files_of_another_assignment_never_give_a_silent_zero(a_class: ClassFolder) -> None:
    place = a_class.submit("ada")
    for file in place.iterdir():
        file.unlink()
    (place / "masking.py").write_text("def causal_mask(num_tokens):\n    return None\n")
    a_class.submit("ben")
    ada, ben = a_class.grade().graded
    assert ada.score == 0
    (reason,) = reasons_to_look(ada)
    assert "masking.py" in reason
    assert "does it belong to a different assignment?" in reason
    assert not reasons_to_look(ben)


def test_resume_grades_again_what_went_back_to_an_earlier_state(a_class: ClassFolder) -> None:
    right, wrong = "return inputs @ query\n", "return query\n"
    head = "def query_scores(inputs, query):\n    "
    place, scores = a_class.submit("ada"), []
    for body in (right, wrong, right):
        (place / "scores.py").write_text(head + body)
        (graded,) = a_class.grade(resume=True).graded
        scores.append((graded.score, graded.attempt))
    assert scores[0] == scores[2] and scores[0][0] > scores[1][0]
    assert [attempt for _, attempt in scores] == [1, 2, 1]


def test_resume_grades_only_what_is_missing_or_changed(a_class: ClassFolder) -> None:
    a_class.submit("ada")
    place = a_class.submit("bob")
    assert len(a_class.grade(resume=True).graded) == 2
    assert a_class.grade(resume=True).graded == ()
    (place / "scores.py").write_text(TWO)
    again = a_class.grade(resume=True)
    assert [result.student for result in again.graded] == ["bob"]
    assert again.already_graded == 1
    costs = again.report.costs
    assert set(costs) == set(Stage) - {Stage.GRADEBOOK}
    assert all(costs[stage] > 0 for stage in (Stage.START, Stage.PLAN, Stage.READ, Stage.JUDGE))


def test_a_truncated_last_line_is_set_aside_and_graded_again(a_class: ClassFolder) -> None:
    a_class.submit("ada")
    a_class.submit("bob")
    a_class.grade()
    whole = a_class.results.read_bytes()
    a_class.results.write_bytes(whole[:-20])
    report = a_class.grade(resume=True)
    assert len(report.graded) == 1
    assert report.truncated is not None
    assert report.truncated.exists()
    assert {result.student for result in read_results(a_class.results)} == {"ada", "bob"}


def test_shards_grade_every_submission_once(a_class: ClassFolder) -> None:
    for number in range(5):
        a_class.submit(f"student{number}")
    for shard in ((1, 2), (2, 2)):
        a_class.grade(shard=shard)
    students = sorted(result.student for result in read_results(a_class.results))
    assert students == [f"student{number}" for number in range(5)]


def test_jobs_servers_and_order_do_not_change_a_result(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_class.submit("ada")
    a_class.submit("bob", scores=TWO)
    one = {r.student: r.exercises for r in a_class.grade(jobs=1).graded}
    with monkeypatch.context() as few:
        few.setattr(class_jobs, "JOBS_EACH", 1)
        two = {r.student: r.exercises for r in a_class.grade(jobs=2).graded}
    assert one == two
    a_class.submit("aa", scores=TWO)  # the same files in reverse order, by other students
    a_class.submit("zz")
    three = {r.student: r.exercises for r in a_class.grade(jobs=2).graded}
    assert (three["zz"], three["aa"]) == (one["ada"], one["bob"])


def test_a_job_that_is_killed_costs_nothing(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    marker = tmp_path / "killed-once"
    grade = submissions.SubmissionGrader.grade

    def dies_once(self: Any, submission: Any, assignment: Any, watch: Any) -> Any:
        if submission.student == "bob" and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return grade(self, submission, assignment, watch)

    monkeypatch.setattr(submissions.SubmissionGrader, "grade", dies_once)
    for student in ("ada", "bob", "cid"):
        a_class.submit(student)
    report = a_class.grade(jobs=2)
    assert sorted(r.student for r in report.graded) == ["ada", "bob", "cid"]
    assert all(r.score == 100 for r in report.graded)
    assert marker.exists()


def test_a_submission_that_kills_the_grader_repeatedly_is_failed(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade = submissions.SubmissionGrader.grade

    def dies(self: Any, submission: Any, assignment: Any, watch: Any) -> Any:
        if submission.student == "bob":
            os.kill(os.getpid(), signal.SIGKILL)
        return grade(self, submission, assignment, watch)

    monkeypatch.setattr(submissions.SubmissionGrader, "grade", dies)
    for student in ("ada", "bob"):
        a_class.submit(student)
    results = {r.student: r for r in a_class.grade().graded}
    assert results["bob"].status is SubmissionStatus.FAILED
    assert results["bob"].error
    assert results["ada"].score == 100
    monkeypatch.undo()
    assert [r.score for r in a_class.grade(resume=True).graded] == [100]


def test_two_graders_never_write_one_file(a_class: ClassFolder) -> None:
    from autograder.results.file import ResultsFile

    a_class.submit("ada")
    with ResultsFile(a_class.results), pytest.raises(UserError, match="another grader"):
        a_class.grade()


def test_a_folder_without_submissions_says_what_was_expected(
    a_class: ClassFolder, tmp_path: Path
) -> None:
    (tmp_path / "submitted" / "ada" / "unknown").mkdir(parents=True)
    with pytest.raises(UserError, match="unknown assignment"):
        a_class.grade()


def test_links_are_not_followed(a_class: ClassFolder) -> None:
    place = a_class.submit("ada")
    (place / "scores.py").unlink()
    (place / "scores.py").symlink_to(Path("solutions/simplified_attention/scores.py").resolve())
    (result,) = a_class.grade().graded
    assert result.exercises[0].status.value == "missing"
    assert "link" in result.exercises[0].notes[0]


BUILT_ON_EACH_OTHER = """
import torch

def scale_scores(scores, d_k):
    return scores * d_k

def attention_weights(queries, keys):
    scores = scale_scores(queries @ keys.transpose(-2, -1), d_k=keys.shape[-1])
    return torch.softmax(scores, dim=-1)

def scaled_dot_product_attention(queries, keys, values):
    return attention_weights(queries, keys) @ values
"""


def test_a_wrong_answer_does_not_cost_those_that_call_it(
    a_class: ClassFolder, questions: Callable[[SubmissionResult], dict[str, str]]
) -> None:
    place = a_class.submitted / "ada" / "self_attention"
    place.mkdir(parents=True)
    (place / "scaling.py").write_text(BUILT_ON_EACH_OTHER)
    (result,) = a_class.grade().graded
    verdicts = questions(result)
    assert verdicts["scale_scores"] in ("wrong", "partial")
    assert verdicts["attention_weights"] == "correct"
    assert verdicts["scaled_dot_product_attention"] == "correct"
    scaling = next(e for e in result.exercises if e.exercise == "scaling")
    assert "judged with correct code" in scaling.notes[0]


def test_two_answers_cannot_rely_on_each_other(
    a_class: ClassFolder, questions: Callable[[SubmissionResult], dict[str, str]]
) -> None:
    text = (
        "def scale_scores(scores, d_k):\n    raise NotImplementedError\n"
        "def attention_weights(q, k):\n"
        "    import torch\n"
        "    return scaled_dot_product_attention(q, k, torch.eye(k.shape[-2]).expand(\n"
        "        *k.shape[:-2], k.shape[-2], k.shape[-2]))\n"
        "def scaled_dot_product_attention(q, k, v):\n    return attention_weights(q, k) @ v\n"
    )
    place = a_class.submitted / "ada" / "self_attention"
    place.mkdir(parents=True)
    (place / "scaling.py").write_text(text)
    (result,) = a_class.grade().graded
    assert questions(result)["attention_weights"] != "correct"
    assert questions(result)["scaled_dot_product_attention"] == "correct"
