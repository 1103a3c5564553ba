"""Trains an attention layer, in about a second, to find the word that a pronoun refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from .pronouns import GAP, ids_of, sentences, vocabulary

_SIZE = 32
_STEPS, _BATCH, _RATE = 250, 48, 1e-2
#: the standard deviation of the initial embeddings, so small that each word first looks everywhere
_SPREAD = 0.2
#: the positions of the two pronouns in a sentence
_PRONOUNS = slice(5, 7)
#: the usual names of the layer that makes values, and of the optional layer after the heads
_VALUES, _AFTER = ("W_value", "value"), ("out_proj", "proj")


class SentenceReader(nn.Module):
    """A small model: word and position embeddings, a student's layer, and a score for each word.

    `build` makes the layer, which maps (B, T, 32) to (B, T, 32) for at most 8 words. With
    `looks_back`, the model guesses the word that follows each word; otherwise, it guesses the words
    in the gaps.
    """

    def __init__(self, build: Callable[[], nn.Module], *, looks_back: bool) -> None:
        super().__init__()
        words = len(vocabulary())
        self.looks_back = looks_back
        self.embedding = nn.Embedding(words, _SIZE)
        self.places = nn.Embedding(len(sentences()[0]), _SIZE)
        for table in (self.embedding, self.places):
            nn.init.normal_(table.weight, std=_SPREAD)
        self.layer = build()
        self.scores = nn.Linear(_SIZE, words)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Map (B, T) word ids to (B, T, V) scores."""
        x = self.embedding(ids) + self.places.weight[: ids.shape[1]]
        found: torch.Tensor = self.scores(x + self.layer(x))
        return found

    def guesses(self, sentence: list[str]) -> list[tuple[str, float]]:
        """Return the model's guess for each word of a sentence, and the guess's probability.

        With `looks_back`, the guess is about the next word. Raises `ValueError` for a word that is
        not in the training data.
        """
        with torch.no_grad():
            shares, best = self(ids_of(sentence)[None])[0].softmax(dim=-1).max(dim=-1)
        return [(vocabulary()[i], float(s)) for i, s in zip(best.tolist(), shares, strict=True)]


def trained(build: Callable[[], nn.Module], *, looks_back: bool) -> SentenceReader:
    """Return a model trained on all sentences, with the same random numbers each time.

    Passes on any exception that the layer raises.
    """
    everything = torch.stack([ids_of(sentence) for sentence in sentences()])
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        reader = SentenceReader(build, looks_back=looks_back)
        optimizer = torch.optim.AdamW(reader.parameters(), lr=_RATE)
        for _ in range(_STEPS):
            some = everything[torch.randint(0, len(everything), (_BATCH,))]
            optimizer.zero_grad()
            _surprise(reader, some).backward()  # type: ignore[no-untyped-call]  # torch's
            optimizer.step()
    return reader.eval()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread in a `with` block; with several, such a small layer is ten times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _surprise(reader: SentenceReader, whole: torch.Tensor) -> torch.Tensor:
    """Return the model's mean loss at the two pronouns of each sentence; ids have shape (B, 8)."""
    right = whole[:, _PRONOUNS]
    if reader.looks_back:
        before = slice(_PRONOUNS.start - 1, _PRONOUNS.stop - 1)
        found = reader(whole[:, : _PRONOUNS.stop])[:, before]
    else:
        asked = whole.clone()
        asked[:, _PRONOUNS] = ids_of([GAP])
        found = reader(asked)[:, _PRONOUNS]
    return nn.functional.cross_entropy(found.flatten(0, 1), right.flatten())


def looks(
    reader: SentenceReader, attention: nn.Module, sentence: list[str], heads: int
) -> torch.Tensor:
    """Return the attention weights of each head for a sentence, (H, T, T).

    The value of each word is replaced with a one-hot vector, so that the mixed values are the
    weights. Raises `ValueError` for a layer with which this method does not work.
    """
    mixed: list[torch.Tensor] = []
    with _tagged(attention, heads, mixed):
        reader.guesses(sentence)
    words = len(sentence)
    if mixed and mixed[-1].shape[-1] < heads * words:
        raise ValueError(f"{heads} heads are too small to tell {words} words apart")
    if not mixed:
        raise ValueError(f"the values do not come from a layer named {' or '.join(_VALUES)}")
    by_head = mixed[-1].reshape(words, heads, -1)[..., :words].transpose(0, 1)  # (H, T, T)
    if not torch.allclose(by_head.sum(dim=-1), torch.ones(heads, words), atol=1e-4):
        raise ValueError("the weights of a word do not sum to one")
    return by_head


@contextmanager
def _tagged(attention: nn.Module, heads: int, mixed: list[torch.Tensor]) -> Iterator[None]:
    """Replace a layer's values with one-hot vectors, and append each head's mixtures to `mixed`."""

    def tags(_: nn.Module, __: object, values: torch.Tensor) -> torch.Tensor:
        return torch.eye(values.shape[1], values.shape[2] // heads).repeat(1, heads)[None]

    def keep_input(_: nn.Module, given: tuple[torch.Tensor]) -> None:
        mixed.append(given[0])

    def keep_result(_: nn.Module, __: object, result: torch.Tensor) -> None:
        mixed.append(result)

    inner = dict(attention.named_children())
    values = next((inner[name] for name in _VALUES if name in inner), None)
    after = next((inner[name] for name in _AFTER if name in inner), None)
    hooks = []
    if values is not None:
        hooks.append(values.register_forward_hook(tags))
        hooks.append(
            attention.register_forward_hook(keep_result)
            if after is None
            else after.register_forward_pre_hook(keep_input)
        )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
