"""Text of students goes out as data: one function for each target that it is written to.

Names, notes, messages and ids of students are written as they are nowhere: whoever writes a table,
a page, a terminal, Markdown, XML, JSON or a file name takes the function of that target. Each gives
text that its reader shows as that text, and never obeys.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

Value = str | float

#: the last two of each plane are not characters: https://www.unicode.org/faq/private_use.html
_NO_CHARACTERS = "".join(map(chr, (n + 0x10000 * p for p in range(17) for n in (0xFFFE, 0xFFFF))))
#: what nothing can be written with, or what changes how the text around it is read: control
#: characters, halves of characters, and marks that turn the direction of what follows
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    f"{_NO_CHARACTERS}]"
)
#: what steers a terminal that shows a file as it is; ends of lines and tabs are a table's own
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
#: what a spreadsheet takes for the beginning of a formula
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
#: what spreadsheets leave out in front of a formula
_BEFORE_A_FORMULA = " \xa0\u200b\ufeff"
#: how learning platforms write that there is no value
_NOTHING = "-"
#: all that may be markup in Markdown; a dot may make a link of what stands around it
_MARKUP = re.compile(r"[^\w .,;:?'()-]|_|[.:](?=\w)|^-|^\d(?=\d*[.)])", re.ASCII)
#: what `rich` takes for the beginning or end of a style; else one of these backslashes is left out
_STYLE = re.compile(r"(?<!\\)(?:(\\*+)(\[[a-z#/@][^][]*+])|\\++(?=\[))")
#: characters of one line on a terminal
_WIDEST = 2_000
_LONGEST_NAME, _LONGEST_BYTES = 120, 255
#: what one system or another takes for something else than a letter of a name
_NOT_IN_NAMES = frozenset('/\\<>:"|?*%')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?$")
#: what would end the element of a page that holds JSON, or its line
_UNSAFE_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def printable(text: str) -> str:
    """The text with a replacement for each character that can't be shown; lines and tabs stay."""
    return _UNPRINTABLE.sub(_REPLACEMENT, text)


def for_csv(rows: Iterable[Sequence[Value]], line_end: str = "\r\n") -> str:
    """A table as CSV, in which no cell is a formula; `from_csv` takes back what was put before.

    Control characters, which a terminal would obey, are replaced.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([_no_formula(value) for value in row] for row in rows)
    return text.getvalue()


def from_csv(cell: str) -> str:
    """The text of a cell that `for_csv` wrote."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _no_formula(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    text = _CONTROL.sub(_REPLACEMENT, value)
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether it is a formula, behind any apostrophes: so that writing and reading agree."""
    if text == _NOTHING:
        return False
    return text.lstrip("'").lstrip(_BEFORE_A_FORMULA).startswith(_FORMULA)


def for_html(text: str) -> str:
    """Text for a page, between tags and in the quotes of an attribute."""
    return html.escape(printable(text))


def for_terminal(text: str, widest: int = _WIDEST) -> str:
    """One line for `rich` to print: nothing steers the terminal, nothing is markup.

    What can't be seen is written as Python writes it; of more than `widest` characters the
    beginning is shown.
    """
    return _STYLE.sub(_unstyled, visible(text, widest))


def _unstyled(found: re.Match[str]) -> str:
    """Backslashes and what begins or ends a style; or backslashes alone, before a bracket."""
    return f"{found[1] * 2}\\{found[2]}" if found[2] else f"{found[0]}\\"


def visible(text: str, widest: int = _WIDEST) -> str:
    """The line of `for_terminal`, where it is printed without markup."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: widest + 1])
    return shown if len(shown) <= widest else f"{shown[: widest - 4]} ..."


def for_markdown(text: str) -> str:
    """Text in a line or a cell of Markdown: an entity never begins or ends anything."""
    line = " ".join(printable(text).split())
    return _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", line)


def for_xml(text: str) -> str:
    """Text that XML 1.0 can hold; who writes the element marks `<` and `&` up."""
    return printable(text)


def for_json(
    document: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """A document as JSON of ASCII alone: any text is written, and no number that JSON lacks."""
    return json.dumps(document, indent=indent, default=default, allow_nan=False)


def for_script(document: Any) -> str:
    """A document as JSON that may stand inside an element of a page, in as few bytes as may be."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(_UNSAFE_IN_SCRIPT)


def for_file_name(name: str, suffix: str = "") -> str:
    """A file name of its own for any text, on any system: the text itself where that is one.

    With `suffix` behind it; different texts have different names.
    """
    room = _LONGEST_BYTES - len(suffix)
    if _is_file_name(name) and len(name.encode()) <= room:
        return name + suffix
    encoded = quote(name, safe=" ", errors="surrogatepass").replace(".", "%2E") or "%_"
    encoded = "%20" * (len(encoded) - len(encoded.lstrip(" "))) + encoded.lstrip(" ")
    encoded = encoded.rstrip(" ") + "%20" * (len(encoded) - len(encoded.rstrip(" ")))
    if _DEVICES.fullmatch(encoded):
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    if len(encoded) > _LONGEST_NAME:  # nothing above ends in `%_` and a digest
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        encoded = f"{encoded[: _LONGEST_NAME - 18]}%_{digest}"
    return encoded + suffix


def _is_file_name(name: str) -> bool:
    return (
        path_problem(name) is None
        and not name.endswith(".")
        and not _NOT_IN_NAMES & set(name)
        and _DEVICES.fullmatch(name) is None
    )


def path_problem(name: str) -> str | None:
    """Why a name can't be that of a folder as it is, on the system where grading runs."""
    if name.strip() in {"", ".", ".."} or name != name.strip():
        return "is empty, all dots, or begins or ends with a space"
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in name):
        return "holds a control character or is not valid Unicode"
    if "/" in name or "\\" in name:
        return "holds a slash or backslash"
    return None
