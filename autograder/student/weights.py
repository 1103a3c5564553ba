"""Finds weights in a layer whose names differ from those given in the exercise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from os.path import commonprefix

from .last_call import RecordedCall

_MOST_NAMES = 4


def differing_names(step: RecordedCall) -> tuple[str, str, str] | None:
    """Returns (got, expected, advice) if a layer lacks weights that a check sets, or None."""
    missing = [name for name in step.weights if name not in step.found]
    if not missing:
        return None
    extra = [name for name in step.found if name not in step.weights]
    got = f"no weight {_some(missing)}" + f"; the layer has {_some(extra)}" * bool(extra)
    expected = f"{len(step.weights)} weights with the names in the docstring"
    return got, expected, _advice(missing, extra, step.found)


def superfluous_names(step: RecordedCall) -> tuple[str, str, str] | None:
    """Returns (got, expected, advice) if a layer has weights that it must not have, or None.

    If a check sets the weights of only some inner layers, the weights of other inner layers are
    allowed.
    """
    owners = {"", *(name.rpartition(".")[0] for name in step.weights)}
    own = [name for name in step.found if name.rpartition(".")[0] in owners]
    extra = [name for name in own if name not in step.weights]
    if not step.weights or not extra:
        return None
    got = f"{len(own)} trainable weights, with {_some(extra)}"
    expected = f"{len(own) - len(extra)}, without {'it' if len(extra) == 1 else 'them'}"
    return got, expected, _advice_to_remove(extra)


def _advice_to_remove(extra: Sequence[str]) -> str:
    owners = [name[: -len(".bias")] for name in extra if name.endswith(".bias")]
    if len(owners) == len(extra):
        return f"{_some(owners)} {'has' if len(owners) == 1 else 'have'} a bias, but should not"
    plain = next((name for name in extra if "." not in name), "")
    if not plain:
        return "these layers, or their biases, are not in the docstring"
    return (
        f"everything in `nn.Parameter` is trained. If `{plain}` is only computed, like a mask, "
        f'write `self.register_buffer("{plain}", ...)`'
    )


def _advice(missing: Sequence[str], extra: Sequence[str], found: Sequence[str]) -> str:
    if pairs := _renamed(missing, extra):
        advice = (f"you have `self.{other}`, expected `self.{name}`" for name, other in pairs)
        return "; ".join(advice)
    owners = {name.rpartition(".")[0] for name in found}
    without = [name for name in missing if name.endswith(".bias") and name[:-5] in owners]
    if len(without) == len(missing):
        verb = "has no bias" if len(without) == 1 else "have no bias"
        return f"{_some([name[:-5] for name in without])} {verb}, but should have one"
    if not found:
        return (
            "the layer has no weights: assign layers, or tensors in nn.Parameter, to `self` in "
            "`__init__` (a plain list hides them: use nn.ModuleList)"
        )
    attribute = missing[0].partition(".")[0]
    return (
        f"assign each to `self` with the name that the docstring gives (`self.{attribute} = ...`): "
        "a plain tensor is not found (use nn.Parameter), nor are layers in a plain list (use "
        "nn.ModuleList)"
    )


def _renamed(missing: Sequence[str], extra: Sequence[str]) -> list[tuple[str, str]]:
    """Returns a pair of names for each renamed attribute: the expected name and the student's name.

    If a name could be paired with several other names, the most similar one is used. A weight with
    the right name inside another layer, such as `attn.out_proj.weight`, does not count as renamed.
    """
    renamed = [other for other in extra if not any(other.endswith(f".{name}") for name in missing)]
    possible: list[tuple[str, str]] = []
    for name in missing:
        for other in renamed:
            one, two = _without_common_end(name, other)
            if len(name.split(".")) > len(one.split(".")) and one and two:
                possible.append((one, two))
    alike = _alike(dict.fromkeys(one for one, _ in possible), dict.fromkeys(b for _, b in possible))
    pairs: dict[str, str] = {}
    for one, two in sorted(possible, key=alike, reverse=True):
        if one not in pairs and two not in pairs.values():
            pairs[one] = two
    order = dict.fromkeys(one for one, _ in possible)
    return [(one, pairs[one]) for one in order if one in pairs][:_MOST_NAMES]


def _alike(
    names: Iterable[str], others: Iterable[str]
) -> Callable[[tuple[str, str]], tuple[float, float]]:
    """Returns a function that says how similar two names are, such as `q_proj` and `W_query`.

    Words that occur in several names in one list, such as `proj` and `W`, do not count.
    """
    own = {name: words for of in (names, others) for name, words in _own_words(of).items()}

    def alike(pair: tuple[str, str]) -> tuple[float, float]:
        begin = [
            len(commonprefix([a, b])) / max(len(a), len(b))
            for a in own[pair[0]]
            for b in own[pair[1]]
        ]
        return max(begin, default=0.0), SequenceMatcher(None, *pair).ratio()

    return alike


def _own_words(names: Iterable[str]) -> dict[str, set[str]]:
    words = {name: set(re.findall(r"[a-z]+", name.lower())) for name in names}
    count = Counter(word for found in words.values() for word in found)
    return {name: {word for word in found if count[word] == 1} for name, found in words.items()}


def _without_common_end(name: str, other: str) -> tuple[str, str]:
    one, two = name.split("."), other.split(".")
    while one and two and one[-1] == two[-1]:
        one.pop()
        two.pop()
    while len(one) > 1 and len(two) > 1 and one[0] == two[0]:
        one.pop(0)
        two.pop(0)
    return ".".join(one), ".".join(two)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    return shown + f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
