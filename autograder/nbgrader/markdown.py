"""Markdown of students, as a page may show it: nothing acts, nothing is fetched.

What a page could not show at all, or would fetch from elsewhere, is shown as it was written.
"""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

from nbconvert.filters import clean_html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# where CommonMark may begin raw HTML: no space stands between `<` and what follows
_TAG = re.compile(r"<[A-Za-z/!?]")
_ELSEWHERE = re.compile(r"(?!data:)[a-z][a-z0-9+.-]*:|[/\\]{2}")
#: attributes of which a browser fetches what they name
_FETCHED = {"src", "srcset", "poster", "background", "data", "xlink:href"}
#: of CPU time for one cell; some milliseconds are usual
_MOST_SECONDS = 2.0


def safe_markdown(source: str, attachments: dict[str, Any]) -> str:
    """A cell's Markdown without markup that acts; where it can't be shown, its text as code."""
    # cleaning writes `<`, `>` and `&` as entities: text without a tag stays as the student wrote it
    cleaned = _cleaned(source) if _TAG.search(source) else source
    if _can_be_shown(cleaned, attachments):
        return cleaned
    return "\n".join(f"    {line}" for line in source.splitlines())


def _cleaned(source: str) -> str:
    return str(clean_html(source))  # type: ignore[no-untyped-call]  # it ships no types


def _can_be_shown(source: str, attachments: dict[str, Any]) -> bool:
    """Whether nbconvert makes a page of it, soon, that asks for nothing from elsewhere."""
    start = time.process_time()
    try:
        renderer = IPythonRenderer(escape=False, attachments=attachments)
        page = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # of its parser, too: nesting without an end, an attachment that is missing
        return False
    return time.process_time() - start < _MOST_SECONDS and not _fetches(page)


def _fetches(page: str) -> bool:
    finder = _Finder()
    finder.feed(page)
    finder.close()
    return finder.found


class _Finder(HTMLParser):
    """Looks for what a browser would ask another machine for."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        for name, value in attrs:
            text = "".join((value or "").split()).lower()
            if name in _FETCHED and _ELSEWHERE.match(text):
                self.found = True
            if name == "style" and "url(" in text:
                self.found = True
