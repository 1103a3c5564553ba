"""Embedding: from the words of a sentence to the vectors that attention works on.

A sentence becomes a list of words, each word becomes an integer id, and each id selects one row of
a trainable table.
"""

import torch


def build_vocabulary(sentence: str) -> dict[str, int]:
    """Gives each distinct word of a sentence an integer id.

    Commas are removed, then the sentence is split on white space; nothing else is changed (capital
    letters and periods remain, so `My` and `my` are two words). The words, including repeated
    ones, are sorted; the id of a word is the position of its last occurrence in that sorted list. A
    repeated word therefore leaves a gap in the numbers.

    Args:
        sentence: the text of one sentence.

    Returns:
        A dict from word to id, with one entry per distinct word.
    """
    raise NotImplementedError


def encode(sentence: str, vocabulary: dict[str, int]) -> torch.Tensor:
    """Translates a sentence into the ids of its words.

    Args:
        sentence: text whose words are separated as in `build_vocabulary`: commas removed, split on
            white space.
        vocabulary: a dict from word to id. Any ids are possible, and the dict may hold words that
            the sentence does not use.

    Returns:
        (T,) of dtype int64: the id of each of the T words, in the order of the sentence.

    Raises:
        KeyError: a word is not in the vocabulary; the message names that word.
    """
    raise NotImplementedError


def embed(token_ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Looks up one row of the table for each token id.

    Args:
        token_ids: (T,) of dtype int64, each in 0 .. V - 1. An id may occur more than once.
        table: (V, d), one row per id. It is trained: gradients flow back to the rows used, and add
            up if a row is used more than once.

    Returns:
        (T, d), in the dtype of the table: row t is row `token_ids[t]` of the table.
    """
    raise NotImplementedError
