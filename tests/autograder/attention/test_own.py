"""A notebook uses the supplied part until a student's answer is correct, and then the answer."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch

from autograder.attention.notebooks.own import own_or_part
from autograder.authoring.solution_parts import split_module
from autograder.course import load_course
from autograder.errors import UserError
from autograder.parts import DecoderBlock

ROOT = Path(__file__).parents[3]
SOLUTION = ROOT / "solutions" / "decoder_attention" / "decoder_block.py"
#: the number of training steps in the capstone, and the most processor time that training may take
STEPS, MOST_CPU_SECONDS = 1000, 90.0
_SOME_STEPS = 10
#: replacements with which training and generating text take seconds instead of a minute
SHORTER = {
    f"steps = {STEPS}": "steps = 6",
    ", 300,": ", 20,",
    ", 95)": ", 5)",
    "(one, held_out_text.splitlines())": "(one, held_out_text.splitlines()[:3])",
    "()[:40]": "()[:3]",
    "()[:20]": "()[:3]",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a copy of the released assignment, which becomes the working folder."""
    released = ROOT / "assignments" / "decoder_attention"
    copy = Path(shutil.copytree(released, tmp_path / "decoder_attention"))
    monkeypatch.chdir(copy)
    return copy


def answer_in_notebook(folder: Path) -> None:
    """Writes the solution into the notebook's answer cell."""
    exercises = load_course(ROOT).assignment("decoder_attention").exercises
    (exercise,) = [exercise for exercise in exercises if exercise.name == "decoder_block"]
    notebook = folder / "decoder_block.ipynb"
    document = json.loads(notebook.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in document["cells"] if cell["id"] == "DecoderBlock"]
    cell["source"] = split_module(exercise).definitions["DecoderBlock"]
    notebook.write_text(json.dumps(document), encoding="utf-8")


def test_the_part_replaces_a_stub(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert own_or_part("DecoderBlock") is DecoderBlock
    assert "a ready-made part is used instead of your own answer" in capsys.readouterr().out


def test_a_right_answer_is_taken_from_the_file_that_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_in_notebook(folder)
    assert own_or_part("DecoderBlock") is not DecoderBlock
    assert "your own answer is used, from decoder_block.ipynb" in capsys.readouterr().out
    shutil.copy(SOLUTION, folder / "decoder_block.py")
    assert own_or_part("DecoderBlock").__module__ == "_answer_decoder_block"
    assert "your own answer is used, from decoder_block.py" in capsys.readouterr().out


def test_a_wrong_answer_is_not_used(folder: Path) -> None:
    wrong = SOLUTION.read_text(encoding="utf-8").replace("h = x + attended", "h = attended")
    (folder / "decoder_block.py").write_text(wrong, encoding="utf-8")
    assert own_or_part("DecoderBlock") is DecoderBlock


def test_a_question_without_a_part_is_reported(folder: Path) -> None:
    with pytest.raises(UserError, match="no exercise or question is called 'Block'"):
        own_or_part("Block")


@pytest.mark.parametrize("solved", [False, True])
@pytest.mark.filterwarnings("error")
def test_the_capstone_runs_from_top_to_bottom(
    folder: Path, solved: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib.use("agg")
    if solved:
        answer_in_notebook(folder)
    monkeypatch.chdir(folder / "extras")
    document = json.loads(Path("capstone.ipynb").read_text(encoding="utf-8"))
    code = "\n".join(
        "".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"
    )
    for long, short in SHORTER.items():
        assert long in code
        code = code.replace(long, short)
    names: dict[str, Any] = {"__name__": "__main__"}
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        exec(compile(code, "capstone.ipynb", "exec"), names)
        names["model"] = names["mine"]
        begin = time.process_time()
        for _ in range(_SOME_STEPS):
            names["loss_on"](names["pieces"][:16]).backward()
        step = (time.process_time() - begin) / _SOME_STEPS
    torch.set_num_threads(threads)
    assert step * STEPS < MOST_CPU_SECONDS
    plt.close("all")
    printed = capsys.readouterr().out
    assert ("your own answer is used, from decoder_block.ipynb" in printed) == solved
    assert "the same text both times: True" in printed
