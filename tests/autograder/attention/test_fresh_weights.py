"""Sentences in lessons about fresh and trained weights are true for several seeds."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from autograder.attention.notebooks.stories import known, stories, tokens
from autograder.parts import CachedAttention, FeedForward, MultiHeadSelfAttention

SEEDS = range(5)


def heads_of(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Returns a linear layer's output, split into four heads: (B, H, T, d)."""
    result: torch.Tensor = layer(x)
    return result.unflatten(-1, (4, -1)).transpose(1, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_norms_numbers_grow_and_one_word_gets_all_weight(seed: int) -> None:
    """The lesson `encoder_block` describes these effects of deep stacks without normalization."""
    torch.manual_seed(seed)
    x, sizes, largest = torch.randn(1, 8, 64), [], []
    with torch.no_grad():
        for _ in range(60):
            attention, network = MultiHeadSelfAttention(64, 4), FeedForward(64, 256)
            queries, keys = (heads_of(attention.get_submodule(n), x) for n in ("W_query", "W_key"))
            weights = (queries @ keys.mT / 4).softmax(dim=-1)
            sizes.append(x.std().item())
            largest.append(weights.amax(dim=-1).mean().item())
            x = x + attention(x)
            x = x + network(x)
    assert sizes[0] < sizes[12] < sizes[24] < sizes[59]
    assert largest[0] < 0.3
    assert largest[59] > 0.95


@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_without_a_mask_learns_to_copy(seed: int) -> None:
    """The lesson `masking` says that without a mask, the error for random words is almost 0."""
    torch.manual_seed(seed)
    words, places = nn.Embedding(32, 64), nn.Embedding(16, 64)
    query, key, value, scores = (nn.Linear(64, size) for size in (64, 64, 64, 32))
    layers = nn.ModuleList([words, places, query, key, value, scores])
    optimizer = torch.optim.AdamW(layers.parameters(), lr=3e-3)
    losses = []
    for _ in range(150):
        text = torch.randint(0, 32, (32, 16))
        x = words(text) + places.weight
        x = x + (query(x) @ key(x).mT / 8).softmax(dim=-1) @ value(x)
        loss = nn.functional.cross_entropy(scores(x)[:, :-1].flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > math.log(32)
    assert losses[-1] < 0.02


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_trained_sublayers_add_larger_numbers_than_fresh_ones(seed: int, pre_norm: bool) -> None:
    """The lesson `decoder_block` says that sublayers usually add larger numbers after training."""
    story = tokens(stories(60, seed=1)[0])
    vocabulary = sorted(set(story))
    ids = torch.tensor([vocabulary.index(token) for token in known(story, vocabulary)])
    torch.manual_seed(seed)
    table, scores = nn.Embedding(len(vocabulary), 32), nn.Linear(32, len(vocabulary))
    sublayers = nn.ModuleList([CachedAttention(32, 4), FeedForward(32, 128)])
    norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))

    def run(text: torch.Tensor) -> tuple[torch.Tensor, list[float]]:
        x, added = table(text), []
        for sublayer, norm in zip(sublayers, norms, strict=False):
            y = sublayer(norm(x) if pre_norm else x)
            y = y[0] if isinstance(y, tuple) else y
            added.append(y.std().item())
            x = x + y if pre_norm else norm(x + y)
        return scores(norms[2](x) if pre_norm else x), added

    layers = nn.ModuleList([table, scores, sublayers, norms])
    optimizer = torch.optim.AdamW(layers.parameters(), lr=5e-3)
    fresh: list[float] = []
    for _ in range(80):
        starts = torch.randint(0, len(ids) - 65, (8,))
        text = torch.stack([ids[start : start + 65] for start in starts.tolist()])
        guessed, added = run(text[:, :-1])
        fresh = fresh or added
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(guessed.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    assert all(later > 1.5 * before for before, later in zip(fresh, added, strict=True))
