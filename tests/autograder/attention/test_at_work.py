"""A student's layer can be trained on examples, and pictures show its attention weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex
from torch import nn

from autograder.attention.notebooks.arrows import HEADS, attention_arrows
from autograder.attention.notebooks.at_work import at_work
from autograder.attention.notebooks.pronouns import GAP, sentences
from autograder.attention.notebooks.sentence_reader import SentenceReader, looks, trained
from autograder.parts import MultiHeadSelfAttention

GAPPED = "Anna met Ben and gave ___ ___ book"


class Mean(nn.Module):
    """Attention that weights all words equally."""

    def __init__(self) -> None:
        super().__init__()
        self.W_value = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.W_value(x)
        return values.mean(dim=1, keepdim=True).expand_as(values)


class Sum(Mean):
    """A layer that is not attention, because a word's weights sum to the number of words."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * x.shape[1]


def stub() -> nn.Module:
    raise NotImplementedError


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    """Selects a backend that needs no screen, and closes the figures afterwards."""
    matplotlib.use("agg")
    yield
    plt.close("all")


def written() -> str:
    """Returns all text in the current figure."""
    figure = plt.gcf()
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    return " ".join([figure.get_suptitle(), *texts]).replace("\n", " ")


def test_each_pronoun_fits_its_person() -> None:
    assert len(sentences()) == 810
    assert ["Anna", "met", "Ben", "and", "gave", "him", "her", "book"] in sentences()
    assert ["friends", "saw", "Ruth", "and", "sold", "her", "their", "coat"] in sentences()


def test_a_part_learns_pronouns_and_leaves_random_numbers_unchanged() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    reader = trained(lambda: MultiHeadSelfAttention(32, 2), looks_back=False)
    assert torch.equal(torch.rand(3), expected)
    found = {word: reader.guesses(f"{word} met Tom and gave {GAP} {GAP} book".split())[6][0]
             for word in ("Anna", "Ben", "friends")}  # fmt: skip
    assert found == {"Anna": "her", "Ben": "his", "friends": "their"}


def test_name_tags_show_the_weights_of_a_layer() -> None:
    reader = SentenceReader(Mean, looks_back=False)
    found = looks(reader, reader.layer, GAPPED.split(), 1)
    torch.testing.assert_close(found, torch.full((1, 8, 8), 1 / 8))


def test_each_head_has_its_own_weights() -> None:
    reader = SentenceReader(lambda: MultiHeadSelfAttention(32, 4), looks_back=False)
    found = looks(reader, reader.layer, GAPPED.split(), 4)
    assert found.shape == (4, 8, 8)
    assert not torch.allclose(found[0], found[1])


@pytest.mark.parametrize(
    ("build", "heads", "why"),
    [
        (stub, 1, "not implemented yet"),
        (lambda: nn.Linear(32, 31), 1, "RuntimeError: The size of tensor"),
    ],
)
def test_the_picture_names_a_layer_that_cannot_do_it(
    build: Callable[[], nn.Module], heads: int, why: str
) -> None:
    at_work(build, GAPPED, heads=heads)
    assert why in written()


def test_the_picture_suggests_that_a_loop_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> nn.Module:
        while True:
            pass

    monkeypatch.setattr("autograder.attention.notebooks.at_work._SECONDS", 0.05)
    at_work(endless, GAPPED)
    assert "took longer than 0.05 seconds: is there a loop that never ends?" in written()
    assert "CheckTimeout" not in written()


@pytest.mark.parametrize(
    ("build", "heads", "why"),
    [
        (Sum, 1, "do not sum to one"),
        (lambda: nn.Linear(32, 32), 1, "a layer named W_value or value"),
        (lambda: MultiHeadSelfAttention(32, 8), 8, "8 heads are too small to tell 8 words apart"),
    ],
)
def test_weights_that_cannot_be_read_are_refused(
    build: Callable[[], nn.Module], heads: int, why: str
) -> None:
    reader = SentenceReader(build, looks_back=False)
    with pytest.raises(ValueError, match=why):
        looks(reader, reader.layer, GAPPED.split(), heads)


def test_arrows_point_to_seen_words_above_an_interactive_view(
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_work(lambda: MultiHeadSelfAttention(32, 1), GAPPED)
    assert (
        "point at a word, or tap it, to see where it looks: 1 head over 8 tokens"
        in capsys.readouterr().out
    )
    axes = plt.gca()
    weights = [float(text.get_text()) for text in axes.texts if text.get_text()[:2] in ("0.", "1.")]
    assert len(weights) == 8
    assert 0 < len(axes.patches) == sum(weight > 0 for weight in weights) < 8
    assert "gap" in written() and GAP not in written()


def test_heads_have_a_colour_each() -> None:
    attention_arrows(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"], query=1)
    arrows = [to_hex(arrow.get_edgecolor()) for arrow in plt.gca().patches]
    assert arrows == [HEADS[0]] * 2 + [HEADS[1]] * 2
    assert {"head 0", "head 1"} <= {text.get_text() for text in plt.gca().texts}
