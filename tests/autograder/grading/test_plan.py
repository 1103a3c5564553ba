"""All first attempts in a class get the same batch of inputs; later attempts get other inputs."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.course import Course
from autograder.errors import ContentError, UserError
from autograder.grading.judging import plan
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.probe import Probe
from autograder.grading.secret import class_secret
from autograder.records import QuestionResult, SubmissionResult

from .conftest import ROOT, ClassFolder

#: wrong answers whose values, errors, endings or times depend on the number of requests
FILES = {
    "scores": (
        "import torch\n"
        "def attention_scores(queries, keys):\n"
        "    return (queries @ keys.transpose(-2, -1)) * 1.5\n"
        "def attention_score(query, key):\n"
        "    raise ValueError('not today')\n"
    ),
    "softmax": (
        "import os, torch\n"
        "def naive_softmax(scores, dim=-1):\n"
        "    return torch.rand_like(scores)\n"
        "def normalize_by_sum(scores):\n"
        "    os._exit(3)\n"
        "def softmax(scores, dim=-1):\n"
        "    while True:\n"
        "        pass\n"
    ),
}


def _questions(result: SubmissionResult) -> list[QuestionResult]:
    return [question for exercise in result.exercises for question in exercise.questions]


@pytest.fixture(scope="module")
def runner(course: Course) -> Any:
    suites = [e.hidden_suite for e in course.assignment("multi_head_attention").exercises]
    return collect_suites(ROOT, suites)


def test_batched_questions_are_judged_as_if_asked_separately(
    impatient_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = impatient_class.grade_one(**FILES)
    monkeypatch.setattr(plan.PlannedImplementation, "_all_replies", lambda self: None)
    (one_by_one,) = impatient_class.grade().graded
    assert _questions(at_once) == _questions(one_by_one)
    verdicts = {question.verdict.value for question in _questions(at_once)}
    assert {"crashed", "timeout", "correct"} <= verdicts


def test_a_plan_depends_on_the_seed_alone(runner: Any, course: Course) -> None:
    suite = course.assignment("multi_head_attention").exercises[-1].hidden_suite
    before = torch.default_generator.get_state()
    one, same, other = (rehearse(runner, suite, seed).plan() for seed in (1, 1, 2))
    assert one.batch == same.batch
    assert one.batch.frame != other.batch.frame
    assert torch.equal(before, torch.default_generator.get_state())


@pytest.mark.parametrize("exercise", ["heads", "head_weights"])
def test_a_plan_holds_each_test_also_those_with_large_inputs(
    runner: Any, course: Course, exercise: str
) -> None:
    exercises = course.assignment("multi_head_attention").exercises
    (suite,) = [one.hidden_suite for one in exercises if one.name == exercise]
    tests = rehearse(runner, suite, 1).plan().tests
    assert set(tests) == {(q, t) for q in runner.points(suite) for t in runner.tests(suite, q)}


def test_tensors_that_a_test_changes_later_are_planned_unchanged(
    runner: Any, course: Course
) -> None:
    exercises = course.assignment("multi_head_attention").exercises
    (suite,) = [one.hidden_suite for one in exercises if one.name == "heads"]
    name = "causal_head_attention", "test_future_does_not_change_the_past"
    before, after = rehearse(runner, suite, 1).plan().tests[name].requests
    assert before != after


def test_a_probe_knows_the_solutions_results(runner: Any, course: Course) -> None:
    exercises = course.assignment("multi_head_attention").exercises
    (suite,) = [one.hidden_suite for one in exercises if one.name == "multi_head_wrapper"]
    probe = Probe(runner, suite, "MultiHeadAttentionWrapper", 1)
    names = runner.solution(suite).namespace
    assert len(probe.right) > 5
    for test, right in probe.right.items():
        assert right == probe.answered(test, probe.ask(names, test))


def test_allowed_operators_do_not_keep_answers_from_agreeing(runner: Any, course: Course) -> None:
    exercises = course.assignment("multi_head_attention").exercises
    (suite,) = [one.hidden_suite for one in exercises if one.name == "heads"]
    ruled = [test for test in rehearse(runner, suite, 1).plan().tests.values() if test.names]
    assert ruled
    for test in ruled:
        assert test.agreement is not None
        assert not any(b"aten::" in header for header in test.agreement.headers)


def test_equal_mistakes_get_equal_points_and_later_attempts_new_numbers(
    a_class: ClassFolder,
) -> None:
    mistake = {"scores": "def attention_scores(queries, keys):\n    return queries\n"}
    a_class.submit("ada", **mistake)
    a_class.submit("ben", scores=mistake["scores"] + "# in other words\n")
    ada, ben = a_class.grade().graded
    assert (ada.attempt, ben.attempt) == (1, 1)
    assert ada.seed == ben.seed
    assert _questions(ada) == _questions(ben)
    assert ada.submission_digest != ben.submission_digest

    shutil.rmtree(a_class.submitted / "ada")
    a_class.submit("ada")
    (again,) = a_class.grade(resume=True).graded
    assert (again.student, again.attempt) == ("ada", 2)
    assert again.seed != ada.seed
    shutil.rmtree(a_class.submitted / "ada")
    a_class.submit("ada", **mistake)
    first = next(line for line in a_class.grade().graded if line.student == "ada")
    assert (first.attempt, first.seed) == (1, ada.seed)


def test_shards_that_share_the_secret_use_equal_inputs(
    a_class: ClassFolder, tmp_path: Path
) -> None:
    for name in ("ada", "ben", "cem", "dai"):
        a_class.submit(name)
    secret = tmp_path / "elsewhere" / "secret.key"
    parts = [
        a_class.grade(shard=(n, 2), results=tmp_path / f"{n}.jsonl", secret=secret).graded
        for n in (1, 2)
    ]
    assert all(parts)
    assert len({line.seed for part in parts for line in part}) == 1
    assert not (tmp_path / "secret.key").exists()


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "class" / "secret.key"
    made = class_secret(path)
    assert class_secret(path) == made
    assert class_secret(tmp_path / "other.key") != made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret.key"]


def test_a_text_that_is_not_a_secret_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_text("short\n")
    with pytest.raises(UserError, match="5 bytes"):
        class_secret(path)


@pytest.mark.parametrize("kind", ["device", "pipe", "large"])
def test_an_invalid_secret_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"a" * 1_000_000)
    with pytest.raises(UserError, match="bytes, so it is not the secret of a class"):
        class_secret(path)


def test_a_test_that_always_fails_is_the_authors_fault(tmp_path: Path) -> None:
    (tmp_path / "solutions" / "basics").mkdir(parents=True)
    (tmp_path / "solutions" / "basics" / "sums.py").write_text(
        "def total(x):\n    return x.sum()\n"
    )
    suite = tmp_path / "tests" / "hidden" / "basics" / "test_sums.py"
    suite.parent.mkdir(parents=True)
    suite.write_text(
        "import pytest\n"
        '@pytest.mark.question("total", points=2)\n'
        "def test_total(expect, draw):\n"
        '    expect.same("total", draw.normal(3).no_such_method(), likely="add up")\n'
    )
    runner = collect_suites(tmp_path, [suite])
    with pytest.raises(ContentError, match="test_total fails even for the sol.*no_such") as error:
        rehearse(runner, suite, 1)
    assert (error.value.path, error.value.line) == (suite, 4)
