"""Trains a student's own layer on short sentences, and shows which words the layer looks at."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from ...student.time_limit import CheckTimeout, limited
from .arrows import attention_arrows, no_arrows
from .attention_view import attention_view
from .pronouns import GAP
from .sentence_reader import SentenceReader, looks, trained

#: the time limit for training, which takes a second or two, or twenty seconds on a busy machine
_SECONDS = 60.0


def at_work(
    build: Callable[[], nn.Module], sentence: str, *, heads: int = 1, inside: str = ""
) -> None:
    """Train a layer on hundreds of short sentences, and show which words it looks at.

    The arrows start at the first gap in the sentence, `___`, which the layer fills; if there is no
    gap, they start at the last word, and the layer predicts the next one. An interactive view below
    the arrows shows which words each of the other words looks at. Training takes a second or two.
    If the layer can't be trained, no exception is raised; instead, the picture says why.

    Args:
        build: a function that makes the layer, which maps (B, T, 32) to (B, T, 32) for at most 8
            words.
        sentence: a text such as "Anna met Ben and gave ___ ___ book", or the beginning of one.
        heads: the number of attention heads.
        inside: the name of the attention module inside the layer, if the layer contains more than
            attention.
    """
    words = sentence.split()
    query = words.index(GAP) if GAP in words else len(words) - 1
    try:
        with limited(_SECONDS):
            reader = trained(build, looks_back=GAP not in words)
            attention = reader.layer.get_submodule(inside)
            weights = looks(reader, attention, words, heads)
        title = _title(reader, words, query)
    except NotImplementedError:
        no_arrows(words, "not implemented yet")
    except CheckTimeout as slow:
        no_arrows(words, f"{slow}: is there a loop that never ends?")
    except Exception as error:  # a student's layer may raise anything; its check explains it
        no_arrows(words, f"your layer fails: {type(error).__name__}: {error}".splitlines()[0])
    else:
        shown = ["gap" if word == GAP else word for word in words]
        attention_arrows(weights[:, query], shown, query, title)
        attention_view(weights, shown, "point at a word, or tap it, to see where it looks", query)


def _title(reader: SentenceReader, words: list[str], query: int) -> str:
    word, share = reader.guesses(words)[query]
    place = "in the gap" if words[query] == GAP else f'after "{words[query]}"'
    return f'{place} it predicts "{word}" ({share:.0%} sure)'
