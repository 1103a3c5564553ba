"""Honest submissions get the same scores in the sandbox as from nbgrader's own autograde."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from nbgrader.apps import AutogradeApp

from . import assignments
from .conftest import IN_THE_SANDBOX, Scores, run, scores

NAMES = ("ps1", *assignments.ASSIGNMENTS)


def _autograde() -> None:
    """Does what `nbgrader autograde` does, for all assignments."""
    for name in sys.argv[1:]:
        AutogradeApp.launch_instance([name])
        AutogradeApp.clear_instance()


@pytest.fixture(scope="module")
def by_nbgrader(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    """Returns the scores of nbgrader's own autograde, which starts a kernel for each notebook."""
    course = tmp_path_factory.mktemp("kernel") / "cs101"
    shutil.copytree(released, course)
    run(course, "autograde", *NAMES, main=_autograde)
    return scores(course)


@pytest.fixture(scope="module")
def graded(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grades the same class with `autograder grade`; returns its folder."""
    course = tmp_path_factory.mktemp("grade") / "cs101"
    shutil.copytree(released, course)
    run(course, "autograder", "grade", "submitted", "--jobs", "2")
    return course


def test_autograder_grade_gives_nbgraders_scores(graded: Path, by_nbgrader: Scores) -> None:
    assert len(by_nbgrader) > 40  # so all eight students were graded
    assert scores(graded) == by_nbgrader


def test_nbgrader_autograde_gives_the_same_scores_in_the_sandbox(
    released: Path, tmp_path: Path, by_nbgrader: Scores
) -> None:
    course = tmp_path / "cs101"
    shutil.copytree(released, course)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(IN_THE_SANDBOX)
    output = run(course, "nbgrader", "autograde", "texts").stderr
    assert "IPKernelApp" not in output
    found = scores(course)
    assert found and found == {k: v for k, v in by_nbgrader.items() if k[1] == "texts"}


def test_results_add_up_to_nbgraders_scores(graded: Path, by_nbgrader: Scores) -> None:
    lines = (graded / "results.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    for result in results:
        own = [
            score or 0.0
            for (student, notebook, _), (score, _) in by_nbgrader.items()
            if student == result["student"]
            and notebook in {exercise["exercise"] for exercise in result["exercises"]}
        ]
        assert result["score"] == pytest.approx(sum(own))
    waits = next(r for r in results if (r["student"], r["assignment"]) == ("right", "numbers"))
    assert "numbers/essay" in waits["notes"][-1]


def test_resume_and_export_work_on_such_a_course(graded: Path) -> None:
    again = run(graded, "autograder", "grade", "submitted", "--resume", "--json")
    assert json.loads(again.stdout)["graded"] == 0
    run(graded, "autograder", "export", "csv", ".")
    header = (graded / "grades.csv").read_text().splitlines()[0]
    assert "texts/texts/words_right" in header


def test_outputs_are_kept_for_formgrader_and_feedback(graded: Path) -> None:
    path = graded / "autograded" / "right" / "numbers" / "numbers.ipynb"
    cells = json.loads(path.read_text())["cells"]
    kinds = {kind for c in cells for o in c.get("outputs", ()) for kind in o.get("data", ())}
    assert "image/png" in kinds  # cells below a test also run
    run(graded, "nbgrader", "generate_feedback", "numbers")
    assert (graded / "feedback" / "right" / "numbers" / "numbers.html").is_file()
