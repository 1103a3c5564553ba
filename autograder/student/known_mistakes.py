"""The known mistake that answers to the public checks show, found by a digest of what came.

What is compared is what came in the checks that fail, all of them and no other: what a right answer
does otherwise in a check that passes is no part of the mistake.

What a mistake is called, and what is said of it, stands in the bundle only so that it can be read
with what that mistake answers: nobody finds there what others do wrong. There is no code either.
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

#: how what was raised begins in what is compared
RAISED = "raised "
#: rounding must not count: so many decimals, then so many digits
_DECIMALS, _DIGITS = 4, 3
#: what came in each failing check, by its name
Answers = Mapping[str, Sequence[str]]
#: of a tensor, and of what is none
_MOST_NUMBERS, _MOST_CHARACTERS = 4000, 200


def told(value: Any) -> str:
    """A value as it is compared: the same whatever rounding does to its last digits."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().flatten()[:_MOST_NUMBERS].tolist() if _is_plain(value) else []
        return f"{value.dtype} {tuple(value.shape)} {' '.join(map(_rounded, numbers))}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(told, value))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {told(item)}' for key, item in value.items())}}}"
    return _rounded(value) if isinstance(value, float) else repr(value)[:_MOST_CHARACTERS]


def sealed(sentence: str, answers: Answers) -> tuple[str, str]:
    """Where a sentence is found, and the sentence, which only equal answers can read."""
    said = _all(answers)
    place = hashlib.sha256(f"place {said}".encode()).hexdigest()[:16]
    return place, base64.b64encode(_mixed(sentence.encode(), said)).decode()


def sentence_of(checks: Path, question: str, answers: Answers, text: str = "") -> str:
    """What is said of the mistake that fails the same checks so; empty where none is known.

    A sentence that speaks of code is told only of an answer whose `text` has that code.
    """
    try:
        found = json.loads((checks / MISTAKES).read_text(encoding="utf-8"))
        sentence = found.get(question, {}).get(sealed("", answers)[0], "")
        told = _mixed(base64.b64decode(sentence), _all(answers)).decode()
    except (OSError, ValueError, AttributeError, TypeError):  # it helps, and is never needed
        return ""
    return told if _is_spoken_of(told, text) else ""


def _is_spoken_of(sentence: str, text: str) -> bool:
    """Whether a text has one of the words of code that the sentence says were written."""
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


def _mixed(data: bytes, said: str) -> bytes:
    """The exclusive or with a stream that depends on all that was said."""
    return bytes(one ^ other for one, other in zip(data, _stream(said), strict=False))


def _stream(said: str) -> Iterator[int]:
    key = hashlib.sha256(f"text {said}".encode()).digest()
    for number in count():
        yield from hashlib.sha256(key + number.to_bytes(4, "big")).digest()
