"""Finds known mistakes that give the same results in public checks as a student's answer.

The results are compared by a digest. The digest covers only failing checks, because differences
from the solution in a check that passes are not part of the mistake.

In the bundle that students get, the sentence about a mistake is encrypted with the mistake's
results, so that students can read only sentences about their own mistakes. The bundle does not
contain the code of known mistakes. Several mistakes may have the same results.
"""

from __future__ import annotations

import base64
import dis
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, count
from pathlib import Path
from typing import Any

import torch

from ..course.manifest import MISTAKES
from ..errors import AnswerFault, AnswerRaised

#: the beginning of an error among the results
RAISED = "raised "
#: a number is rounded to so many decimals, and then to so many digits, so that rounding errors do
#: not matter
_DECIMALS, _DIGITS = 4, 3
_WORD = re.compile(r"[^\W_]+")
_COUNT = re.compile(r"(?<![\w.])\d+(?![\w.])")
#: the most mistakes with the same results to show
MOST_SENTENCES = 3
#: the text above the sentences if there are several
_SEVERAL = "{} known mistakes give these results. Which one is yours?"
#: the text after the sentence about a mistake that does not explain all failing checks
_ANOTHER = " There may be another mistake as well."
#: with more failing checks than this, a second mistake is not considered
_MOST_CHECKS = 10
#: the results in each failing check, by the check's name
Answers = Mapping[str, Sequence[str]]
#: how many numbers in a tensor, and how many characters of any other value, are compared
_MOST_NUMBERS, _MOST_CHARACTERS = 4000, 200


def comparable_text(value: Any) -> str:
    """Converts a value to text that can be compared, regardless of rounding errors."""
    if isinstance(value, torch.Tensor):
        numbers = value.detach().flatten()[:_MOST_NUMBERS].tolist() if _is_plain(value) else []
        return f"{value.dtype} {tuple(value.shape)} {' '.join(map(_rounded, numbers))}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(comparable_text, value))})"
    if isinstance(value, Mapping):  # the order in which a layer's weights were set does not matter
        items = sorted((str(key), comparable_text(item)) for key, item in value.items())
        return f"{{{', '.join(f'{key}: {text}' for key, text in items)}}}"
    return _rounded(value) if isinstance(value, float) else repr(value)[:_MOST_CHARACTERS]


def comparable_error(fault: AnswerFault) -> str:
    """Converts an error to text that can be compared.

    The words of torch's messages are sorted, because the messages for `a @ b` and `b @ a` have the
    same words in a different order, as do those for an operation and its in-place form. The message
    of a student's own `raise` is left out, because everybody writes a different one.
    """
    error = fault.__cause__
    if error is None or not isinstance(fault, AnswerRaised):
        return f"{RAISED}{type(fault).__name__}"
    words = [] if is_raised_by_student(error) else sorted(set(_WORD.findall(str(error))))
    return " ".join([f"{RAISED}{type(error).__name__}", *words])


def comparable_chance(message: str) -> str:
    """Removes the counts from a message about random results, because they differ in each run."""
    return _COUNT.sub("#", message)


def is_raised_by_student(error: BaseException) -> bool:
    """Returns whether an error comes from a `raise` or `assert` outside torch and this package."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    frame = traceback.tb_frame
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    operation = frame.f_code.co_code[traceback.tb_lasti]
    return operation == dis.opmap["RAISE_VARARGS"] and package not in ("torch", "autograder")


def sealed(sentences: Sequence[str], answers: Answers) -> tuple[str, str]:
    """Returns the key for storing the sentences, and the sentences encrypted with `answers`."""
    text = _all(answers)
    place = hashlib.sha256(f"place {text}".encode()).hexdigest()[:16]
    return place, base64.b64encode(_mixed("\n".join(sentences).encode(), text)).decode()


def sentence_of(checks: Path, question: str, answers: Answers, text: str = "") -> str:
    """Returns the sentences about known mistakes with the same results in failing checks, or "".

    If no known mistake has the same results, the answer may contain two mistakes. In that case, the
    sentence is about a mistake that has the same results in more than half of the failing checks,
    and fails no other check. A sentence that mentions code is returned only if the answer's `text`
    contains that code.
    """
    try:
        known = json.loads((checks / MISTAKES).read_text(encoding="utf-8")).get(question, {})
        found = _fitting(known, answers, text)
        of_most = {tuple(_fitting(known, part, text)) for part in _most_of(answers)} - {()}
    except (OSError, ValueError, AttributeError, TypeError):  # checks also work without the file
        return ""
    if not found:
        sentences = [*of_most.pop()] if len(of_most) == 1 else []
        return f"{sentences[0]}{_ANOTHER}" if len(sentences) == 1 else ""
    if len(found) == 1:
        return found[0]
    heading = _SEVERAL.format("Two" if len(found) == 2 else "Three")
    return "\n".join([heading, *(f"- {sentence}" for sentence in found)])


def _fitting(known: Mapping[str, str], answers: Answers, text: str) -> list[str]:
    """Returns the sentences that `answers` decrypt, except those about code not in `text`."""
    sentences = known.get(sealed([], answers)[0], "")
    found = _mixed(base64.b64decode(sentences), _all(answers)).decode().splitlines()
    return [sentence for sentence in found if _is_spoken_of(sentence, text)]


def _most_of(answers: Answers) -> Iterator[Answers]:
    """Yields each subset of more than half of the checks' results, unless all are errors."""
    for size in range(len(answers) // 2 + 1, len(answers)) if len(answers) <= _MOST_CHECKS else ():
        for names in combinations(answers, size):
            if not all(answers[name][-1].startswith(RAISED) for name in names if answers[name]):
                yield {name: answers[name] for name in names}


def _is_spoken_of(sentence: str, text: str) -> bool:
    """Returns whether a sentence mentions no code, or mentions code that `text` contains."""
    code = re.findall("`([^`]+)`", sentence.partition(". ")[0])
    words = {re.findall(r"\w+", part)[-1] for part in code if re.search(r"\w", part)}
    return not words or not text or bool(words & set(re.findall(r"\w+", text)))


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and tensor.device.type != "meta"


def _rounded(number: Any) -> str:
    if not isinstance(number, float):
        return str(number)
    return f"{round(number, _DECIMALS) + 0.0:.{_DIGITS}g}"  # avoids a minus before a zero


def _all(answers: Answers) -> str:
    lines = (f"check {name}\n" + "\n".join(answers[name]) for name in sorted(answers))
    return "\n".join(lines)


def _mixed(data: bytes, text: str) -> bytes:
    """Returns the data XORed with a stream of bytes that depends on `text`."""
    return bytes(one ^ other for one, other in zip(data, _stream(text), strict=False))


def _stream(text: str) -> Iterator[int]:
    key = hashlib.sha256(f"text {text}".encode()).digest()
    for number in count():
        yield from hashlib.sha256(key + number.to_bytes(4, "big")).digest()
