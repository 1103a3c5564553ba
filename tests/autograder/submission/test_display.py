"""What only shows something is left out of a module; what an answer needs is not."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbconvert import PythonExporter

from autograder.authoring.parts import split_module
from autograder.course import Course
from autograder.records import SubmissionResult
from autograder.submission.display import without_display

from .conftest import Submitted

ROOT = Path(__file__).resolve().parents[3]

PLOTS = "import matplotlib.pyplot as plt\n"
PARTS = "from autograder.parts import CausalAttention\n"


def _shown(text: str) -> tuple[str, tuple[str, ...]]:
    return without_display(text, ast.parse(text).body, ["answer"])


def test_pictures_are_left_out_and_their_lines_told() -> None:
    text = f"{PLOTS}def answer(x):\n    return x\nplt.plot(answer([1]))\nfigure = plt.gcf()\n"
    shown, (note,) = _shown(text)
    assert shown.split("\n") == [*text.split("\n")[:3], "pass", "pass", ""]
    assert note.endswith("line 4, 5")


@pytest.mark.parametrize(
    "needed",
    [
        "MASK = build(3)",
        "MASK, OTHER = build(3), 4",
        "for MASK in build(3):\n    pass",
        "MASK = {}\nMASK['at'] = build(3)",
    ],
)
def test_what_an_answer_needs_is_executed_though_it_could_show_something(needed: str) -> None:
    helper = "def build(n, show=False):\n    if show:\n        plt.imshow(n)\n    return [n]\n"
    text = f"{PLOTS}{helper}{needed}\ndef answer(x):\n    return x, MASK\nplt.show()\n"
    shown, (note,) = _shown(text)
    assert needed in shown and "plt.show()" not in shown
    assert note.endswith(f"line {text.split('plt.show()')[0].count(chr(10)) + 1}")


@pytest.mark.parametrize(
    "line",
    [
        "answer = CausalAttention",
        "head = CausalAttention\nanswer = lambda *sizes: head(*sizes)",
        "heads = {'causal': CausalAttention}\ndef answer():\n    return heads",
        "def answer():\n    return CausalAttention\nCausalAttention.size = 3",
    ],
)
@pytest.mark.parametrize(
    "imported",
    [
        PARTS,
        "from autograder import parts\nCausalAttention = parts.CausalAttention\n",
        "import autograder.parts\nCausalAttention = autograder.parts.CausalAttention\n",
        "import autograder.parts as given\nCausalAttention = given.CausalAttention\n",
    ],
)
def test_a_part_shows_nothing(imported: str, line: str) -> None:
    text = f"{imported}{line}\nprint(answer)\n"
    assert _shown(text) == (text, ())


def test_what_else_the_package_has_stays_in_the_notebook() -> None:
    text = "from autograder import check, parts\ncheck('answer')\nanswer = parts.FeedForward\n"
    shown, _ = _shown(text)
    assert shown == text.replace("check('answer')", "pass")


@pytest.mark.parametrize(
    ("block", "is_left_out"),
    [
        ("try:\n    from autograder.student import check\nexcept ImportError:\n    pass", True),
        ("if True:\n    from autograder.student import check", True),
        ("try:\n    from tqdm import check\nexcept ImportError:\n    check = print", False),
    ],
)
def test_what_an_import_in_a_block_brings_is_not_there_either(
    block: str, is_left_out: bool
) -> None:
    shown, _ = _shown(f"{block}\ndef answer(x):\n    return x\ncheck('answer')\n")
    assert ("check('answer')" not in shown) is is_left_out


def test_a_released_notebook_that_was_saved_as_a_script_is_graded(
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
