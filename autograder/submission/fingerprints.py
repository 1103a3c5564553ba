"""Computes fingerprints of code by winnowing its tokens, to find code that two programs share.

From each window of neighboring k-grams, winnowing (Schleimer, Wilkerson, Aiken, 2003) keeps the
k-gram with the smallest hash, so any common run of `_K + _WINDOW - 1` tokens is found, wherever it
occurs. All arguments and variables count as the same name, so renaming them changes nothing;
comments, layout and text in quotes are ignored.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_K = 8
_WINDOW = 4
_MOST_TOKENS = 20_000
_LEFT_OUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """The hashes chosen from some code, each with the line numbers (from 1) of its k-grams."""

    lines: Mapping[int, frozenset[int]]


def fingerprints(text: str) -> Fingerprints:
    """Returns the fingerprints of Python code, up to the first token that can't be read."""
    own = _own_names(text)
    tokens = list(_tokens(text, own))
    grams = [
        (_hash([word for word, _ in tokens[start : start + _K]]), start)
        for start in range(len(tokens) - _K + 1)
    ]
    found: dict[int, set[int]] = {}
    for value, start in _winnowed(grams):
        lines = {line for _, line in tokens[start : start + _K]}
        found.setdefault(value, set()).update(lines)
    return Fingerprints({value: frozenset(lines) for value, lines in found.items()})


def _winnowed(grams: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the smallest k-gram in each window (the last of equal ones), without repeats."""
    last = -1
    for start in range(max(1, len(grams) - _WINDOW + 1) if grams else 0):
        value, place = min(grams[start : start + _WINDOW], key=lambda gram: (gram[0], -gram[1]))
        if place != last:
            last = place
            yield value, place


def _tokens(text: str, own: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yields the tokens to fingerprint, each with its line number."""
    readable = text.partition("\0")[0]  # here, Python 3.13.0 raises SystemError
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for number, token in enumerate(tokenize.generate_tokens(io.StringIO(readable).readline)):
            if number > _MOST_TOKENS:
                return
            if token.type in _LEFT_OUT:
                continue
            yield _word(token, own), token.start[0]


def _word(token: tokenize.TokenInfo, own: frozenset[str]) -> str:
    if token.type == tokenize.STRING:
        return "text"
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return "name" if token.string in own else token.string
    return token.string


def _own_names(text: str) -> frozenset[str]:
    """Returns the names of arguments and assigned variables, which can be renamed freely."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return frozenset(given | stored)


def _hash(words: Sequence[str]) -> int:
    digest = hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
