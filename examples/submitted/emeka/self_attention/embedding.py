"""Embedding: from the words of a sentence to the vectors that attention works on.

A sentence becomes a list of words, each word an integer id, and each id one row of a table of
numbers that can be trained.
"""

import torch


def build_vocabulary(sentence):
    words = sorted(sentence.replace(',', ' ').split())
    return {word: place for place, word in enumerate(words)}


def encode(sentence, vocabulary):
    return torch.tensor([vocabulary[letter] for letter in sentence if letter not in ', '])


def embed(token_ids, table):
    return table[token_ids.sort().values]
