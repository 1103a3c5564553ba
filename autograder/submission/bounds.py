"""Limits on what a submitted file may contain, the same for every reader.

They are far beyond what people write (torch's largest module has 15,000 lines and 145,000 tokens),
yet small enough that a file within them is read in some seconds and in less than a gigabyte.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from ..errors import SubmissionError

#: the size of a module, and of all code cells of a notebook together, in bytes and characters
MAX_CODE = 2 << 20
#: the size of a notebook in bytes: outputs with pictures are large
MAX_NOTEBOOK_BYTES = 100 << 20
#: the number and size of all files in the folder of a submission, or in one uploaded archive
MAX_FILES, MAX_SUBMISSION_BYTES = 1_000, 200 << 20
#: the number of words, numbers, signs and line ends in all code of a file
MAX_TOKENS = 200_000
#: the number of functions, classes and lambdas in a file: Python's compiler compares them all
MAX_DEFINITIONS = 5_000
MAX_CELLS = 20_000
#: the memory that the JSON of a notebook may take, and what each of these signs costs at most
_MOST_MEMORY = 1_000 << 20
_MEMORY_OF = {"{": 250, "[": 100, ",": 90}

#: A comment or a string is one token, as in Python's own tokenizer.
_TOKEN = re.compile(
    r'''#[^\n]*|"""(?:[^"\\]++|\\.|"(?!""))*+"""|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}'''
    r"""|"(?:[^"\\\n]++|\\.)*+"?+|'(?:[^'\\\n]++|\\.)*+'?+|\w+|[^\w\s]|\n""",
    re.DOTALL,
)
_DEFINITION = re.compile(r"\b(?:def|class|lambda)\b")


def check_code(sources: Sequence[str]) -> None:
    """Raises `SubmissionError` if there is more code than people write in one file."""
    if sum(map(len, sources)) > MAX_CODE:
        raise _too_much(f"{MAX_CODE >> 20} MB of code")
    # an f-string is one token, but has code between its braces
    if sum(_count(_TOKEN, source) + source.count("{") for source in sources) > MAX_TOKENS:
        raise _too_much(f"{MAX_TOKENS:,} words and signs of code")
    if sum(_count(_DEFINITION, source) for source in sources) > MAX_DEFINITIONS:
        raise _too_much(f"{MAX_DEFINITIONS:,} functions and classes")


def check_cells(count: int) -> None:
    """Raises `SubmissionError` if there are more cells than people write in one notebook."""
    if count > MAX_CELLS:
        raise _too_much(f"{MAX_CELLS:,} cells")


def check_json(data: bytes, text: str) -> None:
    """Raises `SubmissionError` if reading a notebook would take too much memory.

    `text` is the decoded `data`. A single wide character makes every character of a string as wide,
    and a string of the document may be as long as the text.
    """
    values = sum(size * text.count(sign) for sign, size in _MEMORY_OF.items())
    if len(data) + 2 * sys.getsizeof(text) + values > _MOST_MEMORY:
        raise SubmissionError(
            "is not a notebook that a person wrote; clear all outputs and save it"
        )


def _too_much(what: str) -> SubmissionError:
    return SubmissionError(f"contains more than {what}; submit your own code only")


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
