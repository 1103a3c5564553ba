"""Makes the Markdown of students safe for a page: nothing in it runs or is fetched.

Text that a page can't show, or that would fetch something from elsewhere, is shown as source.
"""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

from nbconvert.filters import clean_html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

# the possible beginning of raw HTML in CommonMark: no space follows `<`
_TAG = re.compile(r"<[A-Za-z/!?]")
_ELSEWHERE = re.compile(r"(?!data:)[a-z][a-z0-9+.-]*:|[/\\]{2}")
#: attributes whose addresses a browser fetches
_FETCHED = {"src", "srcset", "poster", "background", "data", "xlink:href"}
#: the most CPU time for rendering one cell; some milliseconds are usual
_MOST_SECONDS = 2.0


def safe_markdown(source: str, attachments: dict[str, Any]) -> str:
    """Returns a cell's Markdown without active markup, or its text as code if it can't be shown."""
    # cleaning turns `<`, `>` and `&` into entities, so text without a tag is not cleaned
    cleaned = _cleaned(source) if _TAG.search(source) else source
    if _can_be_shown(cleaned, attachments):
        return cleaned
    return "\n".join(f"    {line}" for line in source.splitlines())


def _cleaned(source: str) -> str:
    return str(clean_html(source))  # type: ignore[no-untyped-call]  # it ships no types


def _can_be_shown(source: str, attachments: dict[str, Any]) -> bool:
    """Return whether nbconvert renders it fast, to a page that fetches nothing from elsewhere."""
    start = time.process_time()
    try:
        renderer = IPythonRenderer(escape=False, attachments=attachments)
        page = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # includes the parser's errors: endless nesting, a missing attachment
        return False
    return time.process_time() - start < _MOST_SECONDS and not _fetches(page)


def _fetches(page: str) -> bool:
    finder = _Finder()
    finder.feed(page)
    finder.close()
    return finder.found


class _Finder(HTMLParser):
    """Finds addresses that a browser would fetch from another machine."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Looks at the attributes of a tag; see `HTMLParser`."""
        for name, value in attrs:
            text = "".join((value or "").split()).lower()
            if name in _FETCHED and _ELSEWHERE.match(text):
                self.found = True
            if name == "style" and "url(" in text:
                self.found = True
