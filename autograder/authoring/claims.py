"""Reads claims: expressions with which a test checks statements in a lesson.

A claim is a comment below the statement, such as `<!-- holds: rounds(0.5**2, "0.25") -->`. The
expression is evaluated at that point in the solved notebook, so it may use every name that the
cells above that point define.
"""

from __future__ import annotations

import re

_CLAIM = re.compile(r"^[ \t]*<!-- holds: (.*?) -->[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)


def without_claims(text: str) -> str:
    """Returns the text as students read it, without claims."""
    return _CLAIM.sub("", text).rstrip("\n")


def claims_in(text: str) -> list[str]:
    """Returns the expressions in the claims that `text` contains, each joined into one line."""
    return [" ".join(match.group(1).split()) for match in _CLAIM.finditer(text)]
