"""Only the first failure is expanded, each cause is shown once, and a failing call can be rerun."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import cli
from autograder.student import CheckedQuestion, CheckedTest, Standing, as_text
from autograder.student.display import as_html

ROOT = Path(__file__).resolve().parents[3]
TESTS = (
    CheckedTest("test_first", False, "got 1", "f(1)", cause="one"),
    CheckedTest("test_second", False, "got 2", "f(2)", cause="one"),
    CheckedTest("test_third", False, "got 3", "f(3)"),
    CheckedTest("test_fourth", True),
)
QUESTION = CheckedQuestion("f", Standing.FIX, TESTS)


def test_the_first_failure_is_shown_and_the_others_are_counted() -> None:
    text = as_text(QUESTION)
    assert "got 1" in text and "to try it: f(1)" in text
    assert "the same in 1 more check: second" in text
    assert "and 1 more to fix after this one: third" in text
    assert "got 2" not in text and "got 3" not in text


def test_all_failures_are_shown_on_request() -> None:
    text = as_text(QUESTION, everything=True)
    assert "got 1" in text and "got 3" in text and "✓ fourth" in text
    assert "got 2" not in text  # has the same cause as the first failure


def test_a_notebook_folds_what_comes_after_the_first_failure() -> None:
    page = as_html(QUESTION)
    opened, _, folded = page.partition("<details")
    assert "got 1" in opened and "got 3" not in opened
    assert "got 3" in folded and "and 1 more to fix after this one" in folded


def answer(folder: Path, body: str) -> None:
    path = folder / "sums.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("raise NotImplementedError", body, 1), encoding="utf-8")


def run(folder: Path, *words: str) -> tuple[int | None, str]:
    result = CliRunner().invoke(cli, [*words, "--folder", str(folder)], standalone_mode=False)
    return result.return_value, result.output + str(result.exception or "")


def test_the_commands_show_all_failures_and_repeat_the_call(folder: Path) -> None:
    answer(folder, 'print("here", x)\n    return x - 2.0')
    code, output = run(folder, "check", "plus_one", "--all")
    assert code == 1 and "your code printed:" in output
    code, output = run(folder, "retry", "plus_one")
    assert code == 0
    assert "plus_one(" in output and "here tensor" in output and "tensor(" in output


def test_an_error_in_the_repeated_call_shows_its_line(folder: Path) -> None:
    answer(folder, "return x.no_such_thing")
    code, output = run(folder, "retry", "plus_one")
    assert code == 1
    assert "AttributeError" in output and "return x.no_such_thing" in output


def test_an_explanation_and_a_star_follow_a_right_answer(
    folder: Path, solve: Callable[[str], None]
) -> None:
    texts = json.dumps({"plus_one": "The reference solution adds."})
    (folder / "checks" / "afterwards.json").write_text(texts, encoding="utf-8")
    answer(folder, "return x - 2.0")
    assert "The reference solution" not in run(folder, "check", "plus_one")[1]
    solve("sums")
    assert "The reference solution adds." in run(folder, "check", "plus_one")[1]
    assert "★ second star: no loop" in run(folder, "check", "plus_one", "--rule", "no loop")[1]
    code, output = run(folder, "check", "plus_one", "--rule", "no numbers")
    assert code is None and "no second star is called 'no numbers'" in output


#: an answer that fails one check with wrong numbers, and a later check, which is shown first, with
#: a known cause
TWO_MISTAKES = """import torch


def scaled_dot_product_attention(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1), dim=-2) @ values
"""
NO_RELU = """from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x))
"""


@pytest.mark.parametrize(
    ("place", "question", "text"),
    [
        ("self_attention/scaling", "scaled_dot_product_attention", TWO_MISTAKES),
        ("transformer_block/feed_forward", "FeedForward", NO_RELU),
    ],
)
def test_the_repeated_call_has_the_numbers_that_are_shown(
    tmp_path: Path, place: str, question: str, text: str
) -> None:
    assignment, exercise = place.split("/")
    folder = tmp_path / assignment
    notebooks = shutil.ignore_patterns("*.ipynb")
    shutil.copytree(ROOT / "assignments" / assignment, folder, ignore=notebooks)
    (folder / f"{exercise}.py").write_text(text, encoding="utf-8")
    shown, again = (run(folder, command, question)[1] for command in ("check", "retry"))
    (got,) = re.findall(r"^ +got +(\[.*\])", shown, re.MULTILINE)
    assert again.splitlines()[0] in shown  # this line shows the call and its shapes
    assert "".join(got.split()) in "".join(again.split())
