"""Makes students' notebooks safe for formgrader, and finds names that are not safe.

Formgrader renders notebooks on the instructor's own Jupyter server, where a script would act with
the instructor's permissions. Active markup and huge output are therefore removed.
"""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Any

from nbconvert.filters import clean_html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from ..escaping import path_problem
from ..results.wording import shortened
from ..submission.code import source_of

# matches what may be the beginning of raw HTML in CommonMark, in which no space follows `<`
_TAG = re.compile(r"<[A-Za-z/!?]")
_ELSEWHERE = re.compile(r"(?!data:)[a-z][a-z0-9+.-]*:|[/\\]{2}")
#: attributes that contain addresses which a browser fetches
_FETCHED = {"src", "srcset", "poster", "background", "data", "xlink:href"}
#: the most CPU time in seconds for rendering one cell, which usually takes milliseconds
_MOST_SECONDS = 2.0


def safe_markdown(source: str, attachments: dict[str, Any]) -> str:
    """Returns a cell's Markdown without active markup, or as a code block if it can't be shown."""
    # don't clean text without tags, because cleaning turns `<`, `>` and `&` into entities
    cleaned = _cleaned(source) if _TAG.search(source) else source
    if _can_be_shown(cleaned, attachments):
        return cleaned
    return "\n".join(f"    {line}" for line in source.splitlines())


def _cleaned(source: str) -> str:
    return str(clean_html(source))  # type: ignore[no-untyped-call]  # nbconvert has no types


def _can_be_shown(source: str, attachments: dict[str, Any]) -> bool:
    """Returns whether nbconvert renders Markdown quickly, without content from other machines."""
    start = time.process_time()
    try:
        renderer = IPythonRenderer(escape=False, attachments=attachments)
        page = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # includes parser errors, such as endless nesting
        return False
    return time.process_time() - start < _MOST_SECONDS and not _fetches(page)


def _fetches(page: str) -> bool:
    finder = _Finder()
    finder.feed(page)
    finder.close()
    return finder.found


class _Finder(HTMLParser):
    """Finds out whether a page has addresses that a browser would fetch from another machine."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            text = "".join((value or "").split()).lower()
            if name in _FETCHED and _ELSEWHERE.match(text):
                self.found = True
            if name == "style" and "url(" in text:
                self.found = True


#: the length of the longest student or assignment name that nbgrader can store
_LONGEST_NAME = 128
_LONGEST_OUTPUT = 20_000
_LARGEST_IMAGE = 1 << 20
_MOST_OUTPUTS = 50
_IMAGES = ("image/png", "image/jpeg")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")

Cell = dict[str, Any]


def name_problem(name: str) -> str | None:
    """Returns why nbgrader can't use a student's name, or None if it can.

    Some names are rejected because formgrader writes names unchanged into its pages, even into
    attributes and scripts.
    """
    if problem := path_problem(name):
        return problem
    if len(name) > _LONGEST_NAME or len(name.encode()) > 255:
        return f"is longer than {_LONGEST_NAME} characters"
    if is_markup(name):
        return "would be markup in formgrader's pages"
    return None


def is_markup(name: str) -> bool:
    """Returns whether formgrader's pages would treat a name as markup or code instead of text."""
    return "<" in name or '"' in name


def safe_cell(cell: Cell, known_markdown: frozenset[str]) -> Cell:
    """Returns a harmless version of a cell: cleans Markdown, and leaves out unsafe outputs.

    Markdown that is also in the release is not changed. A raw cell becomes a code cell in which
    every line is a comment.
    """
    source = source_of(cell)
    kind = cell.get("cell_type")
    if kind == "code":
        outputs = cell.get("outputs")
        found = outputs[:_MOST_OUTPUTS] if isinstance(outputs, list) else []
        safe = [out for output in found if (out := _safe_output(output)) is not None]
        return _code(source, safe)
    if kind == "markdown":
        text = source if source in known_markdown else safe_markdown(source, {})
        return {"cell_type": "markdown", "metadata": {}, "source": text}
    # a raw cell would become part of the page unchanged
    return _code("\n".join(f"# {line}" for line in source.split("\n")), [])


def make_safe(notebook: Cell, known_markdown: frozenset[str]) -> None:
    """Makes an executed notebook safe in place; keeps all cells and their grade ids.

    The outputs need no cleaning, because the worker returned only text and pictures.
    """
    kept = ("kernelspec", "language_info")
    notebook["metadata"] = _some(notebook["metadata"], kept)
    for cell in notebook["cells"]:
        cell["metadata"] = _some(cell["metadata"], ("nbgrader",))
        if cell["cell_type"] == "code":
            continue
        cell["attachments"] = _pictures(cell.get("attachments"))
        if cell["source"] not in known_markdown:
            cell["source"] = safe_markdown(cell["source"], cell["attachments"])


def _some(metadata: Cell, names: tuple[str, ...]) -> Cell:
    return type(metadata)({name: metadata[name] for name in names if name in metadata})


def _pictures(attachments: Any) -> Cell:
    found = attachments.items() if isinstance(attachments, dict) else ()
    safe = {
        name: {kind: data[kind] for kind in _IMAGES if _is_image(data.get(kind))}
        for name, data in found
        if isinstance(data, dict)
    }
    return {name: data for name, data in safe.items() if data}


def _code(source: str, outputs: list[Cell]) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": source,
    }


def _safe_output(output: Any) -> Cell | None:
    if not isinstance(output, dict):
        return None
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": _text(output.get("text"))}
    if kind == "error":
        return _error(output)
    if kind in ("execute_result", "display_data") and isinstance(output.get("data"), dict):
        return _display(output["data"])
    return None


def _error(output: Cell) -> Cell:
    trace = output.get("traceback")
    lines = [_text(line) for line in trace[-30:]] if isinstance(trace, list) else []
    return {
        "output_type": "error",
        "ename": _text(output.get("ename")),
        "evalue": _text(output.get("evalue")),
        "traceback": lines,
    }


def _display(data: Cell) -> Cell | None:
    kept = {kind: data[kind] for kind in _IMAGES if _is_image(data.get(kind))}
    if "text/plain" in data:
        kept["text/plain"] = _text(data["text/plain"])
    return {"output_type": "display_data", "data": kept, "metadata": {}} if kept else None


def _is_image(value: Any) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= _LARGEST_IMAGE
        and _BASE64.fullmatch(value) is not None
    )


def _text(value: Any) -> str:
    return shortened(source_of({"source": value}), _LONGEST_OUTPUT)
