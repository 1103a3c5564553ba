"""Lines that are no Python, and what to do about them."""

from __future__ import annotations

import re

NOT_TEXT = "this is a file of another kind (an archive, a document, a picture): save code as text"
#: lines that are no Python, by how they begin
NOT_PYTHON = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r">>>|\.\.\. ", "`>>>` and `...` belong to an example that was copied: leave them out"),
        (r"```", "this line belongs to Markdown: leave it out"),
        (r"<<<<<<<|=======|>>>>>>>", "git left both sides of a conflict here: keep one of them"),
        (r"PK\x03|%PDF|\{\\rtf", NOT_TEXT),
        (r"[%!]", "this line works in a notebook only: a module holds Python"),
        (
            r".*[\u00a0\u2018-\u201f\u2013\u2014\u200b\ufeff]",
            "a sign in this line was copied from a text (a quotation mark, a dash, a space): type "
            "it again",
        ),
    )
)
