"""Modules that were exported from notebooks, with pictures and parts, are graded correctly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
from nbconvert import PythonExporter

from autograder.authoring.solution_parts import split_module
from autograder.course import Course
from autograder.records import SubmissionResult

from .conftest import Submitted

ROOT = Path(__file__).resolve().parents[3]


def test_a_notebook_saved_as_a_script_is_graded(
    course: Course, graded: Callable[[Submitted], dict[str, SubmissionResult]]
) -> None:
    exercises = [
        course.assignment(assignment).exercise(name)
        for assignment, name in [
            ("transformer_block", "encoder_block"),
            ("simplified_attention", "softmax"),
        ]
    ]
    scripts = {}
    for exercise in exercises:
        notebook = nbformat.read(exercise.stub.with_suffix(".ipynb"), as_version=4)
        for question, definition in split_module(exercise).definitions.items():
            (cell,) = [cell for cell in notebook.cells if cell.id == question]
            cell.source = f"%time\n{definition}"
        notebook.cells.insert(
            0, nbformat.v4.new_code_cell("%matplotlib inline\n!pip install torch")
        )
        script, _ = PythonExporter().from_notebook_node(notebook)
        path = f"{exercise.assignment}/{exercise.name}.py"
        scripts[exercise.name] = {path: script.encode()}
    for result in graded(scripts).values():
        (exercise_result,) = [one for one in result.exercises if one.file]
        assert exercise_result.score == exercise_result.max_score, exercise_result


def test_parts_and_pictures_are_graded_as_they_are_meant(
    graded: Callable[[Submitted], dict[str, SubmissionResult]],
) -> None:
    encoder = (ROOT / "solutions/transformer_block/encoder_block.py").read_text(encoding="utf-8")
    masking = (ROOT / "solutions/causal_attention/masking.py").read_text(encoding="utf-8")
    given = "from autograder.parts import FeedForward, MultiHeadSelfAttention\n"
    through = {
        "package": "from autograder import parts\nFeedForward = parts.FeedForward\n"
        "MultiHeadSelfAttention = lambda *sizes: parts.MultiHeadSelfAttention(*sizes)\n",
        "name": "import autograder.parts as own\n"
        "FeedForward, MultiHeadSelfAttention = own.FeedForward, own.MultiHeadSelfAttention\n",
    }
    pictures = (
        f"import matplotlib.pyplot as plt\n{masking}\n"
        "def build(n, show=False):\n    if show:\n        plt.imshow(n)\n    return n\n"
        "SIZES = build({})\nright = causal_mask\n"
        "def causal_mask(num_tokens):\n"
        "    return SIZES.setdefault(num_tokens, right(num_tokens)).clone()\n"
        "plt.imshow(causal_mask(3))\n"
    )
    found = graded(
        {
            "package": {
                "transformer_block/encoder_block.py": encoder.replace(
                    given, through["package"]
                ).encode()
            },
            "name": {
                "transformer_block/encoder_block.py": encoder.replace(
                    given, through["name"]
                ).encode()
            },
            "pictures": {"causal_attention/masking.py": pictures.encode()},
        }
    )
    for student, result in found.items():
        exercise = next(one for one in result.exercises if one.file)
        assert exercise.score == exercise.max_score, (student, exercise)
