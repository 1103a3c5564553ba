"""`trace` shows the shapes in each line of a student's function, for the call that fails."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from autograder.student import trace_folder
from autograder.student.last_call import RecordedCall
from autograder.student.quiet_output import LimitedOutput, quiet
from autograder.student.shapes import Letters, commented_shape, documented_result
from autograder.student.tracing import traced

CODE = '''
def project(x, weight):
    """Projects.

    Args:
        x: (B, T, d_in), the words.
        weight: (d_in, d_out).

    Returns:
        (B, T, d_out), the result.
    """
    print("never shown")
    wide = x.unsqueeze(0)
    result = wide @ weight  # (B, T, d_out)
    return result
'''


def text_of(code: str, *args: torch.Tensor) -> str:
    namespace: dict[str, object] = {}
    exec(compile(code, "project.py", "exec"), namespace)
    lines = code.splitlines()
    return traced(
        RecordedCall("project", args),
        namespace,
        lambda file, line: (f"project.py:{line}", lines[line - 1]),
    )


def test_each_line_shows_the_shapes_that_it_assigns() -> None:
    text = text_of(CODE, torch.ones(2, 3, 4), torch.ones(4, 5))
    assert "project, project.py:2:  x (2, 3, 4), weight (4, 5)" in text
    assert "wide (1, 2, 3, 4)" in text
    assert "result (1, 2, 3, 5)" in text


def test_the_first_line_that_contradicts_the_text_is_marked() -> None:
    text = text_of(CODE, torch.ones(2, 3, 4), torch.ones(4, 5))
    assert text.count("<-- ") == 1
    assert "your comment says (B, T, d_out), here (2, 3, 5)" in text


def test_a_result_whose_shape_contradicts_the_docstring_is_marked() -> None:
    code = CODE.replace("  # (B, T, d_out)", "")
    text = text_of(code, torch.ones(2, 3, 4), torch.ones(4, 5))
    assert "the docstring says (B, T, d_out), here (2, 3, 5)" in text


def test_a_line_that_raises_ends_the_trace() -> None:
    text = text_of(CODE, torch.ones(2, 3, 4), torch.ones(3, 5))
    assert "stops here: RuntimeError" in text
    assert "return result" not in text


def test_a_loop_is_shown_once() -> None:
    code = "def project(x):\n    for row in x:\n        y = row * 2\n    return y\n"
    assert "y = row * 2 (3 times)" in text_of(code, torch.ones(3, 2))


def test_the_command_traces_the_failing_call(folder: Path) -> None:
    (folder / "sums.py").write_text("def plus_one(x):\n    y = x[None]\n    return y\n")
    assert "y (1, 2)" in trace_folder(folder, "plus_one")


def test_letters_keep_their_first_size() -> None:
    letters = Letters({"H": 2})
    assert letters.fits("(..., T, d)", (7, 3, 4))
    assert letters.fits("(..., T, H * d)", (7, 3, 8))
    assert not letters.fits("(..., d, T)", (7, 3, 4))
    assert letters.numbers("(..., T, D)") == "(7, 3, D)"


def test_shapes_are_read_from_docstrings_and_comments() -> None:
    assert documented_result("Returns:\n    (B, T, d_out), as ever.") == "(B, T, d_out)"
    assert commented_shape("x @ y  # (T, d) @ (d, S) -> (T, S)") == "(T, S)"
    assert commented_shape("x = f(x)  # see (the notes) below") is None


def test_a_debugger_that_an_answer_starts_ends_with_the_answer() -> None:
    before = sys.gettrace()

    with quiet(LimitedOutput()):
        sys.settrace(lambda frame, event, arg: None)

    after = sys.gettrace()
    sys.settrace(before)
    assert after is before


def test_a_layer_is_traced_in_the_dtype_of_its_argument() -> None:
    code = (
        "import torch\n\nclass project(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layer = torch.nn.Linear(4, 5)\n\n"
        "    def forward(self, x):\n        y = self.layer(x)\n        return y\n"
    )
    namespace: dict[str, object] = {}
    exec(compile(code, "project.py", "exec"), namespace)
    step = RecordedCall("project", (torch.ones(2, 4, dtype=torch.float64),), built=())

    text = traced(step, namespace, lambda file, line: (f"project.py:{line}", ""))

    assert "y (2, 5)" in text
    assert "stops here" not in text


def test_output_of_several_prints_is_cut_after_ten_lines() -> None:
    output = LimitedOutput()
    with quiet(output):
        for start in range(0, 18, 6):
            print("\n".join(map(str, range(start, start + 6))))
    assert output.text.splitlines() == [*map(str, range(10)), "..."]
