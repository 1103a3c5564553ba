"""Finds the known mistake that fails the public checks in the same way, by a digest of its results.

The digest is of the results in all failing checks and in no others: how an answer differs from the
solution in a check that passes is not part of the mistake.

The bundle encrypts the name and the sentence of a mistake with that mistake's results: nobody can
read there what others do wrong. It contains no code either.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import torch

from ..course.manifest import MISTAKES

#: the beginning of an error's text among the results
RAISED = "raised "
#: the number of decimals, then of digits that are kept, so that rounding does not matter
_DECIMALS, _DIGITS = 4, 3
#: the results in each failing check, by its name
Answers = Mapping[str, Sequence[str]]
#: the most numbers of a tensor, and the most characters of anything else
_MOST_NUMBERS, _MOST_CHARACTERS = 4000, 200


def comparable_text(value: Any) -> str:
    """Write a value as it is compared, the same for any rounding of its last digits."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().flatten()[:_MOST_NUMBERS].tolist() if _is_plain(value) else []
        return f"{value.dtype} {tuple(value.shape)} {' '.join(map(_rounded, numbers))}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(comparable_text, value))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {comparable_text(item)}' for key, item in value.items())}}}"
    return _rounded(value) if isinstance(value, float) else repr(value)[:_MOST_CHARACTERS]


def sealed(sentence: str, answers: Answers) -> tuple[str, str]:
    """Return the place of a sentence, and the sentence, readable only with equal answers."""
    text = _all(answers)
    place = hashlib.sha256(f"place {text}".encode()).hexdigest()[:16]
    return place, base64.b64encode(_mixed(sentence.encode(), text)).decode()


def sentence_of(checks: Path, question: str, answers: Answers, text: str = "") -> str:
    """Return the sentence about the mistake that fails the same checks equally; empty if unknown.

    A sentence that mentions code is returned only for an answer whose `text` contains that code.
    """
    try:
        found = json.loads((checks / MISTAKES).read_text(encoding="utf-8"))
        sentence = found.get(question, {}).get(sealed("", answers)[0], "")
        known = _mixed(base64.b64decode(sentence), _all(answers)).decode()
    except (OSError, ValueError, AttributeError, TypeError):  # students can do without it
        return ""
    return known if _is_spoken_of(known, text) else ""


def _is_spoken_of(sentence: str, text: str) -> bool:
    """Return whether a text contains one of the code words that the sentence mentions."""
    code = re.findall("`([^`]+)`", sentence.partition(". ")[0])
    words = {re.findall(r"\w+", part)[-1] for part in code if re.search(r"\w", part)}
    return not words or not text or bool(words & set(re.findall(r"\w+", text)))


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.device.type != "meta"


def _rounded(number: Any) -> str:
    if not isinstance(number, float):
        return str(number)
    return f"{round(number, _DECIMALS) + 0.0:.{_DIGITS}g}"  # no minus before a zero


def _all(answers: Answers) -> str:
    lines = (f"check {name}\n" + "\n".join(answers[name]) for name in sorted(answers))
    return "\n".join(lines)


def _mixed(data: bytes, text: str) -> bytes:
    """Return the exclusive or with a stream of bytes that depends on `text`."""
    return bytes(one ^ other for one, other in zip(data, _stream(text), strict=False))


def _stream(text: str) -> Iterator[int]:
    key = hashlib.sha256(f"text {text}".encode()).digest()
    for number in count():
        yield from hashlib.sha256(key + number.to_bytes(4, "big")).digest()
