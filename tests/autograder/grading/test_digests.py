"""Only the questions and a manually incremented version number affect inputs and regrading."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.course import load_course
from autograder.grading import secret
from autograder.grading.secret import Seeds, asked_digest, suite_digest
from autograder.records import Assignment

ROOT = Path(__file__).parents[3]

_EACH_MODULE = """
import json, pathlib, sys
from autograder.course import load_course
from autograder.grading.secret import asked_digest, suite_digest
course = load_course(pathlib.Path(sys.argv[1]))
found = lambda: [(asked_digest(a), suite_digest(a)) for a in course.assignments]
before, changed = found(), []
package = pathlib.Path(sys.argv[2])
for module in sorted(package.rglob("*.py")):
    text = module.read_bytes()
    module.write_bytes(text + b"# a comment\\n")
    if found() != before:
        changed.append(module.relative_to(package).as_posix())
    module.write_bytes(text)
print(json.dumps(changed))
"""


def test_a_comment_changes_digests_only_in_parts(tmp_path: Path) -> None:
    package = tmp_path / "autograder"
    shutil.copytree(
        ROOT / "autograder", package, ignore=shutil.ignore_patterns("__pycache__", "*.gz", "*.json")
    )
    command = [sys.executable, "-c", _EACH_MODULE, str(ROOT), str(package)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    parts = sorted(f"parts/{file.name}" for file in (ROOT / "autograder/parts").glob("*.py"))
    assert json.loads(done.stdout) == parts


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    """Returns an assignment whose solution and suite are copies that tests may change."""
    one = load_course(ROOT).assignment("simplified_attention")
    exercise = one.exercises[0]
    solution = shutil.copy(exercise.solution, tmp_path / "scores.py")
    suite = shutil.copy(exercise.hidden_suite, tmp_path / "test_scores.py")
    moved = replace(exercise, solution=Path(solution), hidden_suite=Path(suite))
    return replace(one, exercises=(moved,))


@pytest.mark.parametrize("place", ["solution", "hidden_suite"])
def test_changed_content_gets_other_inputs(assignment: Assignment, place: str) -> None:
    before = asked_digest(assignment), suite_digest(assignment)
    with getattr(assignment.exercises[0], place).open("a") as file:
        file.write("# a comment\n")
    after = asked_digest(assignment), suite_digest(assignment)
    assert before[0] != after[0] and before[1] != after[1]


def test_a_new_version_of_judging_grades_again_with_equal_inputs(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, judged = asked_digest(assignment), suite_digest(assignment)
    monkeypatch.setattr(secret, "JUDGING", secret.JUDGING + 1)
    assert asked_digest(assignment) == asked
    assert suite_digest(assignment) != judged


def test_seeds_differ_by_secret_and_attempt() -> None:
    asked = {"masks": "sha256:1"}
    one, other = Seeds(asked, b"one"), Seeds(asked, b"other")
    assert one.of("masks", 1) == Seeds(asked, b"one").of("masks", 1)
    assert len({one.of("masks", 1), one.of("masks", 2), other.of("masks", 1)}) == 3
    assert Seeds(asked, b"one", fixed=7).of("masks", 2) == 7
