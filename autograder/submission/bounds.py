"""What a submitted file may hold: one set of bounds, whoever reads it.

They are far beyond what people write (torch's largest module has 15,000 lines and 145,000 tokens),
and small enough that a file within them is read in some seconds and in less than a gigabyte.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from ..errors import SubmissionError

#: of a module, and of all code cells of a notebook together, in bytes and characters
MAX_CODE = 2 << 20
#: of a notebook, in bytes: outputs with pictures are large
MAX_NOTEBOOK_BYTES = 100 << 20
#: of everything in the folder of a submission, or in what was submitted as one
MAX_FILES, MAX_SUBMISSION_BYTES = 1_000, 200 << 20
#: words, numbers, signs and line ends of all code of a file
MAX_TOKENS = 200_000
#: functions, classes and lambdas of all code of a file: Python's compiler compares them all
MAX_DEFINITIONS = 5_000
MAX_CELLS = 20_000
#: of memory that the JSON of a notebook may take, and what each of these signs stands for at most
_MOST_MEMORY = 1_000 << 20
_MEMORY_OF = {"{": 250, "[": 100, ",": 90}

#: a comment or a string is one token, as it is for Python
_TOKEN = re.compile(
    r'''#[^\n]*|"""(?:[^"\\]++|\\.|"(?!""))*+"""|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}'''
    r"""|"(?:[^"\\\n]++|\\.)*+"?+|'(?:[^'\\\n]++|\\.)*+'?+|\w+|[^\w\s]|\n""",
    re.DOTALL,
)
_DEFINITION = re.compile(r"\b(?:def|class|lambda)\b")


def check_code(sources: Sequence[str]) -> None:
    """Raises `SubmissionError` for more code than people write in one file."""
    if sum(map(len, sources)) > MAX_CODE:
        raise _too_much(f"{MAX_CODE >> 20} MB of code")
    # an f-string is one token, but has code between its braces
    if sum(_count(_TOKEN, source) + source.count("{") for source in sources) > MAX_TOKENS:
        raise _too_much(f"{MAX_TOKENS:,} words and signs of code")
    if sum(_count(_DEFINITION, source) for source in sources) > MAX_DEFINITIONS:
        raise _too_much(f"{MAX_DEFINITIONS:,} functions and classes")


def check_cells(count: int) -> None:
    """Raises `SubmissionError` for more cells than people write in one notebook."""
    if count > MAX_CELLS:
        raise _too_much(f"{MAX_CELLS:,} cells")


def check_json(data: bytes, text: str) -> None:
    """Raises `SubmissionError` for a notebook that would take too much memory to be read.

    `text` is that of `data`. One wide character makes each character of a text as wide, and a
    string of the document may be as long as the text.
    """
    values = sum(size * text.count(sign) for sign, size in _MEMORY_OF.items())
    if len(data) + 2 * sys.getsizeof(text) + values > _MOST_MEMORY:
        raise SubmissionError(
            "is not a notebook that a person wrote; clear all outputs and save it"
        )


def _too_much(what: str) -> SubmissionError:
    return SubmissionError(f"holds more than {what}; submit your own code only")


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
