"""`check` refuses no answer that earns full credit in grading."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from autograder.course import load_course
from autograder.operations.course_content import refused_by_check
from autograder.records import Exercise
from autograder.suite.variants import Variant

ROOT = Path(__file__).resolve().parents[3]
COURSE = load_course(ROOT)
EXERCISES = [exercise for assignment in COURSE.assignments for exercise in assignment.exercises]
#: one in this many alternatives is checked, besides those that were once refused; `validate`
#: checks all of them
EVERY = 4
ONCE_REFUSED = frozenset(
    {"lazy_layers", "named_tuple_right", "compiled_from_its_source", "minus_a_hundred"}
)


def _is_drawn(variant: Variant) -> bool:
    return variant.name in ONCE_REFUSED or zlib.crc32(variant.name.encode()) % EVERY == 0


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_right_alternatives_pass_the_public_checks(exercise: Exercise) -> None:
    assert list(refused_by_check(COURSE, exercise, _is_drawn)) == []


def test_a_refused_alternative_is_named_with_its_check(tmp_path: Path) -> None:
    exercise = next(exercise for exercise in EXERCISES if exercise.name == "softmax")
    wrong = tmp_path / "softmax.py"
    wrong.write_text(
        "import torch\nfrom autograder.suite import alternative\n"
        '@alternative("naive_softmax")\ndef halved(scores):\n    return scores.softmax(-1) / 2\n'
    )

    class Course:
        def variants(self, kind: str, exercise: Exercise) -> Path:
            return wrong

    (text,) = refused_by_check(Course(), exercise)  # type: ignore[arg-type]
    assert text.startswith("alternative simplified_attention/softmax/naive_softmax/halved: ")
    assert "test_" in text
