"""Embedding: from the words of a sentence to the vectors that attention works on.

A sentence becomes a list of words, each word an integer id, and each id one row of a table of
numbers that can be trained.
"""

import torch


def build_vocabulary(sentence: str) -> dict[str, int]:
    words = sorted(sentence.replace(',', '').split())
    return {word: position for position, word in enumerate(words)}


def encode(sentence: str, vocabulary: dict[str, int]) -> torch.Tensor:
    words = sentence.replace(',', '').split()
    return torch.tensor([vocabulary[word] for word in words], dtype=torch.int64)


def embed(token_ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return table[token_ids]
