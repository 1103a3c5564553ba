"""Equal answers are executed only twice if both results agree; all students get this result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.exercises import ExerciseGrader

from .conftest import ASSIGNMENT, ROOT, ClassFolder

#: answers to `context`, and whether each answer gives the same results every time
TEXTS = {
    "no answer": (
        "def context_vector(weights, values):\n    raise NotImplementedError\n"
        "def context_vectors(weights, values):\n    raise NotImplementedError\n",
        True,
    ),
    "one answer calls a wrong one": (
        "def context_vector(weights, values):\n    return weights @ values * 1.5\n"
        "def context_vectors(weights, values):\n"
        "    import torch\n"
        "    return torch.stack([context_vector(row, values) for row in weights])\n",
        True,
    ),
    "answers by chance": (
        "import time\n"
        "def context_vector(weights, values):\n"
        "    return weights @ values + 0.001 * time.perf_counter_ns()\n"
        "def context_vectors(weights, values):\n    return weights @ values\n",
        False,
    ),
    "an answer ends its worker": (
        "import os\n"
        "def context_vector(weights, values):\n    os._exit(1)\n"
        "def context_vectors(weights, values):\n    return weights @ values\n",
        False,
    ),
}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Counter[str]]:
    """Returns a function that counts how many times each exercise was judged."""
    log, original = tmp_path / "judged", ExerciseGrader._results

    def counting(self: ExerciseGrader, task: Any) -> Any:
        with log.open("a", encoding="utf-8") as file:  # a file, because each job is a process
            file.write(f"{task.exercise.name}\n")
        return original(self, task)

    monkeypatch.setattr(ExerciseGrader, "_results", counting)
    return lambda: Counter(log.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_with_the_same_answers_twice_is_judged_twice(
    a_class: ClassFolder, judged: Callable[[], Counter[str]], name: str
) -> None:
    text, is_kept = TEXTS[name]
    for number in range(4):
        a_class.submit(f"s{number}", context=text)
    exercises = [result.exercises for result in a_class.grade().graded]
    assert judged() == {"scores": 2, "softmax": 2, "context": 2 if is_kept else 4}
    assert all(each == exercises[0] for each in exercises) or not is_kept


def test_calls_with_results_of_earlier_calls_are_repeated_once(
    a_class: ClassFolder, judged: Callable[[], Counter[str]]
) -> None:
    text = (ROOT / "solutions/multi_head_attention/multi_head_wrapper.py").read_text("utf-8")
    for number in range(4):
        folder = a_class.submitted / f"s{number}/multi_head_attention"
        folder.mkdir(parents=True)
        (folder / "multi_head_wrapper.py").write_text(text, "utf-8")
    assert len({result.score for result in a_class.grade().graded}) == 1
    assert judged()["multi_head_wrapper"] == 2


def test_a_repeated_text_keeps_its_own_missing_exercise(a_class: ClassFolder) -> None:
    wrong = "def attention_score(query, key):\n    return 0 / 0\n"
    for number in range(4):
        a_class.submit(f"s{number}", scores=wrong)
    folder = a_class.submitted / "s3" / ASSIGNMENT
    (folder / "context.py").unlink()
    *three, last = (result.exercises for result in a_class.grade().graded)
    assert three[0] == three[1] == three[2]
    assert last[0] == three[0][0] and last[2].score == 0
