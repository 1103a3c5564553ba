"""The stories, and the model that was trained on them: weights, code and claims agree."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jupytext
import pytest
import torch

from autograder.attention.notebooks import own
from autograder.attention.notebooks.looking import block_looks
from autograder.attention.notebooks.stored_weights import load_weights, save_weights
from autograder.attention.notebooks.stories import KNOWN_CURVE, is_syllable, stories, story, tokens
from autograder.parts import DecoderBlock

ROOT = Path(__file__).parents[3]
EXTRAS = ROOT / "source" / "decoder_attention" / "extras"
CELLS = [
    cell.source
    for cell in jupytext.reads((EXTRAS / "capstone.md").read_text("utf-8"), fmt="md:myst").cells
    if cell.cell_type == "code"
]


@pytest.fixture(scope="module")
def capstone() -> dict[str, Any]:
    """The names of the capstone before its training, with the part as its block."""
    names: dict[str, Any] = {"__name__": "__main__"}
    threads = torch.get_num_threads()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()),
        torch.random.fork_rng(devices=[]),
    ):
        patch.setattr(own, "own_or_part", lambda question: DecoderBlock)
        for source in CELLS:
            before, training, _ = source.partition("generator = torch.Generator().manual_seed(0)")
            exec(compile(before, "capstone.md", "exec"), names)
            if training:
                break
    torch.set_num_threads(threads)
    return names


@pytest.fixture
def storyteller(capstone: dict[str, Any]) -> Any:
    """The trained model."""
    model: torch.nn.Module = capstone["model"]
    load_weights(model, EXTRAS / "storyteller.json")
    return model


def test_a_seed_always_gives_the_same_stories() -> None:
    assert stories(3, 5) == stories(3, 5) != stories(3, 6)
    assert stories(2, 1)[0].startswith(
        "At noon Pepenu the crow found an old ladder under a bridge."
    )


def test_tokens_are_the_text_and_names_fall_into_syllables() -> None:
    text, _ = stories(50, 3)
    assert "".join(tokens(text)) == text
    assert tokens("At Vobipo's, he") == ["At", " Vo", "bi", "po", "'", "s", ",", " he"]
    assert [token for token in (" Vo", "bi", " he", "So", " the") if is_syllable(token)] == [
        " Vo",
        "bi",
    ]


def test_no_model_can_be_surprised_less_than_the_grammar() -> None:
    text, least = stories(100, 4)
    total = sum(story(4 * 1_000_003 + number)[1] for number in range(100))
    assert least * len(tokens(text)) == pytest.approx(total)
    assert 0 < least < KNOWN_CURVE[-1]


def test_what_the_capstone_says_about_names_is_true() -> None:
    learned, _ = stories(1200, 1)
    held_out, _ = stories(200, 2)
    known = set(re.findall(r"[A-Z][a-z]+", learned))
    told = [set(re.findall(r"[A-Z][a-z]+", line)) for line in held_out.splitlines()[:40]]
    names = {n for line in told for n in line if all(map(is_syllable, tokens(n)))}
    assert len(names) > 70
    assert len(names & known) < len(names) / 10
    # two syllables of 70, and with half the names a third one
    assert (2 * math.log(70) + math.log(2 * 70) / 2) / 2.5 == pytest.approx(4.4, abs=0.05)


def test_weights_and_curve_are_of_the_same_model(
    capstone: dict[str, Any], storyteller: Any
) -> None:
    with torch.no_grad():
        loss = float(capstone["loss_on"](capstone["held_out_pieces"]))
    assert loss == pytest.approx(KNOWN_CURVE[-1], abs=0.01)


def test_names_that_come_again_are_looked_up_by_a_head(
    capstone: dict[str, Any], storyteller: Any
) -> None:
    lines = capstone["held_out_text"].splitlines()[:10]
    new: list[float] = []
    again: list[float] = []
    copied = torch.zeros(2, 4)
    for line in lines:
        ids, words = capstone["encode"](line), tokens(line)
        with torch.no_grad():
            losses = -storyteller(ids[None])[0][0].log_softmax(-1)
        looks = block_looks(storyteller.blocks, storyteller.embedding(ids), 4)
        places = [p for p in range(1, len(words)) if is_syllable(words[p])]
        for place in places:
            first = words.index(words[place])
            (again if first < place else new).append(float(losses[place - 1, ids[place]]))
            if first < place:
                copied += looks[:, :, place, first + 1]
    assert sum(again) / len(again) < 0.3 < 3 < sum(new) / len(new)
    copied /= len(again)
    assert copied[1].max() > 0.25
    assert copied[1].max() > 2 * copied[0].max()


def test_a_students_block_gives_the_same_numbers(
    capstone: dict[str, Any], storyteller: Any, solution: Callable[[], Any]
) -> None:
    theirs = capstone["LanguageModel"].__init__.__globals__
    ids = capstone["encode"](capstone["held_out_text"].splitlines()[0])[None]
    with torch.no_grad():
        expected, _ = storyteller(ids)
        theirs["DecoderBlock"] = solution()
        model = capstone["LanguageModel"](len(capstone["vocabulary"]))
        theirs["DecoderBlock"] = DecoderBlock
        load_weights(model, EXTRAS / "storyteller.json")
        assert torch.allclose(model(ids)[0], expected, atol=1e-4)


@pytest.fixture
def solution() -> Callable[[], Any]:
    """Makes the solution's class from its file."""

    def load() -> Any:
        path = ROOT / "solutions" / "decoder_attention" / "decoder_block.py"
        names: dict[str, Any] = {"__name__": "solution"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        return names["DecoderBlock"]

    return load


def test_stored_weights_come_back(tmp_path: Path) -> None:
    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    save_weights(first, tmp_path / "w.json")
    load_weights(second, tmp_path / "w.json")
    assert torch.allclose(first.weight, second.weight, atol=1e-3)
    with pytest.raises(KeyError, match="bias"):
        load_weights(torch.nn.Linear(3, 2, bias=False), tmp_path / "w.json")
