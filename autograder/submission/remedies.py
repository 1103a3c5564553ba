"""Explains text that is not valid Python and what to do about it, for checks and for grading."""

from __future__ import annotations

import re

from .text import in_words

NOT_TEXT = "this is a file of another kind (an archive, a document, a picture): save code as text"
#: advice by the beginning of the line at which Python stops
_LINES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r">>>|\.\.\. ", "`>>>` and `...` belong to an example that was copied: leave them out"),
        (r"```", "this line belongs to Markdown: leave it out"),
        (r"<<<<<<<|=======|>>>>>>>", "git left both sides of a conflict here: keep one of them"),
        (r"PK\x03|%PDF|\{\\rtf", NOT_TEXT),
        (r"[%!]", "this line works in a notebook only: leave it out of a module"),
        (
            r".*[\u00a0\u2018-\u201f\u2013\u2014\u200b\ufeff]",
            "a sign in this line was copied from a text (a quotation mark, a dash, a space): type "
            "it again",
        ),
    )
)
#: advice by Python's message, where that alone does not help beginners
_MESSAGES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"use of tabs",
            "some lines begin with a tab and others with spaces, which look alike: use four "
            "spaces for each step",
        ),
        (
            r"unindent does not match|unexpected indent",
            "the lines of one block begin at the same column: count the spaces in front of this "
            "line, and of the one above",
        ),
        (
            r"expected an indented block",
            "what belongs to a line that ends with `:` begins four spaces further to the right",
        ),
        (
            r"'(return|yield|await)' outside",
            "a line of a function begins four spaces further to the right than its `def`",
        ),
        (
            r"unterminated triple-quoted",
            'a docstring begins and ends with `"""`: one of them is missing, here or further up',
        ),
    )
)


def explained(error: Exception) -> str:
    """Returns what is wrong with a text and what to do about it, for its author."""
    advice = remedy(error)
    return f"{in_words(error)}; {advice}" if advice else in_words(error)


def remedy(error: Exception) -> str:
    """Returns what to do about a compiler error; empty if its message says enough."""
    if not isinstance(error, SyntaxError):
        return ""
    line = (error.text or "").strip()
    found = next((text for pattern, text in _LINES if pattern.match(line)), "")
    return found or next((text for says, text in _MESSAGES if says.search(error.msg or "")), "")
