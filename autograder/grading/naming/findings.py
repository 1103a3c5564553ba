"""Findings of dropout statistics about an answer; each finding serves as a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: a pattern of a failure's text without numbers, the name, and a hint
_FINDINGS: Sequence[tuple[str, str, str]] = (
    (
        r"dropped together: along the calls\n|calls # and # treat # of # entries alike",
        "every call drops the same entries",
        "Call it twice in training: are the zeros in the same places? Look for a seed that is set, "
        "and for a pattern that is kept.",
    ),
    (
        r"dropped together: along the samples\n",
        "all samples of a batch lose the same entries",
        "Look at the shape of the random numbers: is there one for each entry of each sample?",
    ),
    (
        r"dropped together: along the heads\n",
        "all heads lose the same weights",
        "Look at the shape of the random numbers: is there one for each weight of each head?",
    ),
    (
        r"dropped together: along the queries\n",
        "a key is dropped for all queries together",
        "Look at the shape of the random numbers: is there one for each query and key?",
    ),
    (
        r"dropped together: along the keys\n",
        "all weights of a query are dropped together",
        "Look at the shape of the random numbers: is there one for each query and key?",
    ),
    (
        r": as many as should be kept\n",
        "as many entries are dropped as should be kept",
        "With p = 0.1, how many entries of 1000 are left?",
    ),
    (
        r"kept (?:entries )?are as they were",
        "what is kept is as it was before dropout",
        "What is the mean of many entries, before and after? The docstring says what a kept one "
        "is multiplied by.",
    ),
)


def found_by_statistics(failures: Iterable[str]) -> tuple[str, str]:
    """Returns the finding that all failures of an answer share, and a hint; otherwise empty.

    `failures` are texts of failed tests without their numbers. None is taken after one that fits no
    finding: each costs a test.
    """
    left, is_any = _FINDINGS, False
    for failure in failures:
        is_any = True
        left = [found for found in left if re.search(found[0], f"{failure}\n")]
        if not left:
            break
    return left[0][1:] if is_any and left else ("", "")
