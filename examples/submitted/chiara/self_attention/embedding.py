"""Embedding: from the words of a sentence to the vectors that attention works on.

A sentence becomes a list of words, each word an integer id, and each id one row of a table of
numbers that can be trained.
"""

import torch


def build_vocabulary(sentence):
    words = sorted(''.join(sentence.split(',')).split())
    return dict(zip(words, range(len(words)), strict=True))


def encode(sentence, vocabulary):
    words = sentence.replace(',', '').split()
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        raise KeyError(f"not in the vocabulary: {', '.join(unknown)}")
    return torch.as_tensor([vocabulary[word] for word in words])


def embed(token_ids, table):
    rows = table.new_empty(len(token_ids), table.shape[1])
    for t, i in enumerate(token_ids):
        rows[t] = table[i]
    return rows
