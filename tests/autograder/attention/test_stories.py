"""The storyteller's stored weights fit its code, and the lesson's claims about it are true."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jupytext
import pytest
import torch

from autograder.attention.notebooks import own
from autograder.attention.notebooks import stories as module
from autograder.attention.notebooks.stored_weights import load_weights, save_weights
from autograder.attention.notebooks.stories import (
    KNOWN_CURVE,
    is_syllable,
    show,
    stories,
    story,
    tokens,
)
from autograder.parts import DecoderBlock, cached_attention, rotary_angles
from tools.storyteller import BATCH, BLOCKS, D_MODEL, STEPS

ROOT = Path(__file__).parents[3]
EXTRAS = ROOT / "source" / "decoder_attention" / "extras"
CELLS = [
    cell
    for cell in jupytext.reads((EXTRAS / "capstone.md").read_text("utf-8"), fmt="md:myst").cells
    if cell.cell_type == "code"
]


@pytest.fixture(scope="module")
def capstone() -> dict[str, Any]:
    """Returns the capstone's variables from before training, with our part as the block."""
    names: dict[str, Any] = {"__name__": "__main__"}
    threads = torch.get_num_threads()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()),
        torch.random.fork_rng(devices=[]),
    ):
        patch.setattr(own, "own_or_part", lambda question: DecoderBlock)
        for cell in takewhile(lambda cell: "tags" not in cell.metadata, CELLS):
            exec(compile(cell.source, "capstone.md", "exec"), names)
    torch.set_num_threads(threads)
    return names


@pytest.fixture
def storyteller(capstone: dict[str, Any]) -> Any:
    return larger(capstone)


def larger(capstone: dict[str, Any]) -> torch.nn.Module:
    """Returns the larger model, built from the current block, with the stored weights."""
    model: torch.nn.Module = capstone["LanguageModel"](len(capstone["vocabulary"]), D_MODEL, BLOCKS)
    load_weights(model, EXTRAS / "storyteller.json")
    return model


def test_a_text_is_shown_as_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(module, "display", shown.append)
    show("One <mouse>. " * 9, "Two.")
    assert max(map(len, repr(shown[0]).splitlines())) <= 70
    html = shown[0]._repr_html_()
    assert html.count("<p ") == 2
    assert "One &lt;mouse&gt;." in html


def test_a_seed_always_gives_the_same_stories() -> None:
    assert stories(3, 5) == stories(3, 5) != stories(3, 6)
    assert stories(2, 1)[0].startswith(
        "At noon Pepenu the crow found an old ladder under a bridge."
    )


def test_tokens_make_up_the_text_and_names_become_syllables() -> None:
    text, _ = stories(50, 3)
    assert "".join(tokens(text)) == text
    assert tokens("At Vobipo's, he") == ["At", " Vo", "bi", "po", "'", "s", ",", " he"]
    words = (" to", " So", "So", "No", " he", " the")
    assert not any(map(is_syllable, words))
    assert all(map(is_syllable, (" Vo", "bi", "to")))


def test_no_model_can_be_surprised_less_than_the_grammar() -> None:
    text, least = stories(100, 4)
    total = sum(story(4 * 1_000_003 + number)[1] for number in range(100))
    assert least * len(tokens(text)) == pytest.approx(total)
    assert 0 < least < KNOWN_CURVE[-1]


def test_the_surprise_depends_on_the_text_not_on_hidden_choices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The probabilities of all distinct texts, computed from their surprises, sum to one."""
    for name in ("_CONSONANTS", "_ANIMALS", "_LOOKS", "_THINGS", "_TIMES", "_SAW", "_MOODS"):
        monkeypatch.setattr(module, name, getattr(module, name)[:1])
    for name in ("_VOWELS", "_PLACES", "_DID"):
        monkeypatch.setattr(module, name, getattr(module, name)[:2])
    to_do: list[list[int]] = [[]]
    surprises: dict[str, float] = {}
    while to_do:
        chosen = to_do.pop()
        left = iter([*chosen])

        def choose(count: int, chosen: list[int] = chosen, left: Iterator[int] = left) -> int:
            if (choice := next(left, None)) is None:
                to_do.extend([*chosen, other] for other in range(1, count))
                chosen.append(choice := 0)
            return choice

        numbers = SimpleNamespace(
            Random=lambda seed, choose=choose: SimpleNamespace(randrange=choose)
        )
        monkeypatch.setattr(module, "random", numbers)
        text, surprise = story(0)
        surprises.setdefault(text, surprise)
    assert len(surprises) > 1000
    assert sum(math.exp(-surprise) for surprise in surprises.values()) == pytest.approx(1)


def test_a_students_block_gives_the_same_numbers(
    capstone: dict[str, Any], storyteller: Any, solution: Callable[[], Any]
) -> None:
    theirs = capstone["LanguageModel"].__init__.__globals__
    ids = capstone["encode"](capstone["held_out_text"].splitlines()[0])[None]
    with torch.no_grad():
        expected, _ = storyteller(ids)
        theirs["DecoderBlock"] = solution()
        model = larger(capstone)
        theirs["DecoderBlock"] = DecoderBlock
        assert torch.allclose(model(ids)[0], expected, atol=1e-4)


def surprise(capstone: dict[str, Any], model: Any, keep: Callable[[Any], Any]) -> float:
    """Returns the mean loss on held-out stories, read one token at a time.

    Args:
        capstone: the variables that the capstone defines.
        model: the model.
        keep: selects the part of a block's present that the next step gets as its past.
    """
    losses = []
    for line in capstone["held_out_text"].splitlines()[:4]:
        story = capstone["encode"](line)
        pasts, scores = None, []
        with torch.no_grad():
            for token in story[:-1]:
                found, presents = model(token[None, None], pasts)
                pasts = [keep(present) for present in presents]
                scores.append(found[0, -1])
        losses.append(torch.nn.functional.cross_entropy(torch.stack(scores), story[1:]).item())
    return sum(losses) / len(losses)


def test_mistakes_with_the_cache_or_positions_make_text_much_worse(
    capstone: dict[str, Any], storyteller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model predicts text much worse if the cache has no past or positions restart at 0."""
    right = surprise(capstone, storyteller, lambda present: present)
    assert right < 0.6
    assert surprise(capstone, storyteller, lambda present: None) > right + 2
    new = surprise(capstone, storyteller, lambda present: [part[:, :, -1:] for part in present])
    assert new > right + 2

    def from_zero(places: torch.Tensor, size: int) -> torch.Tensor:
        return rotary_angles(places - places[0], size)

    monkeypatch.setattr(cached_attention, "rotary_angles", from_zero)
    assert surprise(capstone, storyteller, lambda present: present) > right + 2


def test_the_bundle_has_weights_of_one_to_two_megabytes() -> None:
    assert 1_000_000 < (EXTRAS / "storyteller.json").stat().st_size < 2_000_000


def test_the_larger_model_read_as_many_stories_as_stated(
    capstone: dict[str, Any],
) -> None:
    text = (EXTRAS / "capstone.md").read_text(encoding="utf-8")
    (times,) = re.findall(r"(\d+) times as many stories", text)
    assert int(times) * len(capstone["text"].splitlines()) == STEPS * BATCH


def train(capstone: dict[str, Any], steps: int, **changed: Any) -> list[float]:
    """Returns the held-out losses of the first steps, after replacing some of the variables."""
    (training,) = [cell.source for cell in CELLS if "tags" in cell.metadata]
    assert "range(1, steps + 1)" in training
    beginning = training.partition("curves(")[0].replace(
        "range(1, steps + 1)", f"range(1, {steps + 1})"
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        capstone["model"] = capstone["LanguageModel"](len(capstone["vocabulary"]))
        names = capstone | changed
        exec(compile(beginning, "capstone.md", "exec"), names)
    torch.set_num_threads(threads)
    curve: list[float] = names["held_out_curve"]
    return curve


def test_training_begins_as_the_known_curve_does(capstone: dict[str, Any]) -> None:
    assert train(capstone, 50) == pytest.approx(KNOWN_CURVE[:1], abs=0.01)


def test_a_model_trained_on_few_stories_becomes_too_confident(capstone: dict[str, Any]) -> None:
    right, sure = [], []

    def loss_on(batch: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():
            shares, best = capstone["model"](batch[:, :-1])[0].softmax(dim=-1).max(dim=-1)
            wrong = best != batch[:, 1:]
            right.append(1 - wrong.float().mean().item())
            sure.append(shares[wrong].mean().item())
        loss: torch.Tensor = capstone["loss_on"](batch)
        return loss

    few = "".join(capstone["text"].splitlines(keepends=True)[:30])
    pieces = capstone["pieces_of"](capstone["encode"](few))
    curve = train(capstone, 300, loss_on=loss_on, pieces=pieces)
    assert curve[2] + 0.5 < curve[5]  # from step 150, where the picture begins, to step 300
    assert right[2:] == pytest.approx([0.5] * 4, abs=0.05)
    assert sure[2] + 0.1 < sure[5]


@pytest.fixture
def solution() -> Callable[[], Any]:
    """Returns a function that loads the solution's class from its file."""

    def load() -> Any:
        path = ROOT / "solutions" / "decoder_attention" / "decoder_block.py"
        names: dict[str, Any] = {"__name__": "solution"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        return names["DecoderBlock"]

    return load


def test_stored_weights_are_read_back(tmp_path: Path) -> None:
    first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    save_weights(first, tmp_path / "w.json")
    load_weights(second, tmp_path / "w.json")
    assert torch.allclose(first.weight, second.weight, atol=1e-3)
    with pytest.raises(KeyError, match="bias"):
        load_weights(torch.nn.Linear(3, 2, bias=False), tmp_path / "w.json")
    with pytest.raises(ValueError, match=r"has shape \(2, 3\) there, and \(2, 4\) in this model"):
        load_weights(torch.nn.Linear(4, 2), tmp_path / "w.json")
    with pytest.raises(
        FileNotFoundError, match=r"v\.json does not exist; its folder contains w\.json"
    ):
        load_weights(second, tmp_path / "v.json")


def test_an_unknown_word_is_named_in_one_line(capstone: dict[str, Any]) -> None:
    with pytest.raises(module.UnknownTokenError) as caught:
        capstone["write"]("Hello world", 1)
    (line,) = caught.value._render_traceback_()
    assert "no story contains 'Hello'" in line
    assert capstone["write"]("One morning", 2, temperature=0)[0].startswith("One morning")
