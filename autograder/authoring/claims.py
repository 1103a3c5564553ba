"""Reads claims: expressions that follow statements in a lesson and that a test evaluates.

A claim is a comment on lines of its own, `<!-- holds: rounds(0.5**2, "0.25") -->`. It is evaluated
at that point in the solved notebook, so it may use every name that the cells above define.
"""

from __future__ import annotations

import re

_CLAIM = re.compile(r"^[ \t]*<!-- holds: (.*?) -->[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)


def without_claims(text: str) -> str:
    """Returns the text without its claims, as students read it."""
    return _CLAIM.sub("", text).rstrip("\n")


def claims_in(text: str) -> list[str]:
    """Returns the expressions of a text's claims, each on one line."""
    return [" ".join(match.group(1).split()) for match in _CLAIM.finditer(text)]
