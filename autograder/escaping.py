"""Escapes text from students, with one function for each kind of output.

Students' names, notes, messages and ids are never written unescaped: code that writes them to a
table, page, terminal, Markdown, XML, JSON or file name calls the function for that kind of output.
The program that reads the output then displays the text literally and never interprets it.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

Value = str | float

#: the last two code points of each Unicode plane, which are not characters:
#: https://www.unicode.org/faq/private_use.html
_NO_CHARACTERS = "".join(map(chr, (n + 0x10000 * p for p in range(17) for n in (0xFFFE, 0xFFFF))))
#: characters that can't be written, or that change how the text around them is displayed: control
#: characters, lone surrogates, and marks that change the direction of the text
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    f"{_NO_CHARACTERS}]"
)
#: characters that would control a terminal, except line endings and tabs, which tables need
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
#: characters with which a spreadsheet's formulas begin
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
#: characters that spreadsheets ignore in front of a formula
_BEFORE_A_FORMULA = " \xa0\u200b\ufeff"
#: the text that learning platforms write for a missing value
_NOTHING = "-"
#: everything that may be markup in Markdown; a period may turn the text around it into a link
_MARKUP = re.compile(r"[^\w .,;:?'()-]|_|[.:](?=\w)|^-|^\d(?=\d*[.)])", re.ASCII)
#: text that `rich` would treat as a style, or backslashes before a bracket, one of which `rich`
#: would drop
_STYLE = re.compile(r"(?<!\\)(?:(\\*+)(\[[a-z#/@][^][]*+])|\\++(?=\[))")
#: the maximum number of characters in one line on a terminal
_WIDEST = 2_000
_LONGEST_NAME, _LONGEST_BYTES = 120, 255
#: characters that have a special meaning in file names on some operating system
_NOT_IN_NAMES = frozenset('/\\<>:"|?*%')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?$")
#: characters that could end the script element that contains the JSON, or a line of the script
_UNSAFE_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def printable(text: str) -> str:
    """Replaces characters that can't be shown; keeps line endings and tabs."""
    return _UNPRINTABLE.sub(_REPLACEMENT, text)


def for_csv(rows: Iterable[Sequence[Value]], line_end: str = "\r\n") -> str:
    """Formats a table as CSV in which no cell is a formula; `from_csv` restores a cell's text.

    Control characters are replaced, because a terminal would obey them.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([_no_formula(value) for value in row] for row in rows)
    return text.getvalue()


def from_csv(cell: str) -> str:
    """Returns the original text of a cell that `for_csv` wrote."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _no_formula(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    text = _CONTROL.sub(_REPLACEMENT, value)
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Returns whether a string is a formula, or consists of apostrophes followed by a formula."""
    if text == _NOTHING:
        return False
    return text.lstrip("'").lstrip(_BEFORE_A_FORMULA).startswith(_FORMULA)


def for_html(text: str) -> str:
    """Escapes text for an HTML page, between tags or in a quoted attribute."""
    return html.escape(printable(text))


def for_terminal(text: str, widest: int = _WIDEST) -> str:
    """Escapes one line for `rich`, so that it neither controls the terminal nor contains markup.

    Invisible characters are written as Python escapes. A line of more than `widest` characters is
    cut off.
    """
    return _STYLE.sub(_unstyled, visible(text, widest))


def _unstyled(found: re.Match[str]) -> str:
    """Escapes a style and the backslashes before it, or only the backslashes before a bracket."""
    return f"{found[1] * 2}\\{found[2]}" if found[2] else f"{found[0]}\\"


def visible(text: str, widest: int = _WIDEST) -> str:
    """Escapes one line as `for_terminal` does, but for printing without `rich`."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: widest + 1])
    return shown if len(shown) <= widest else f"{shown[: widest - 4]} ..."


def for_markdown(text: str) -> str:
    """Escapes text for a line or table cell in Markdown: possible markup becomes entities."""
    line = " ".join(printable(text).split())
    return _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", line)


def for_shell(text: str) -> str:
    """Quotes text as a single word, for a command that a person copies into a shell."""
    return shlex.quote(text)


def for_xml(text: str) -> str:
    """Replaces characters that XML 1.0 forbids; the XML writer itself escapes `<` and `&`."""
    return printable(text)


def for_json(
    document: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Formats a document as ASCII JSON; raises `ValueError` for NaN and infinity."""
    return json.dumps(document, indent=indent, default=default, allow_nan=False)


def for_script(document: Any) -> str:
    """Formats a document as compact JSON that is safe inside a page's script element."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(_UNSAFE_IN_SCRIPT)


def for_file_name(name: str, suffix: str = "") -> str:
    """Returns a file name for any string; it is valid on every system, and ends with `suffix`.

    A string that is already a valid name is not changed. Different strings get different names.
    """
    room = _LONGEST_BYTES - len(suffix)
    if _is_file_name(name) and len(name.encode()) <= room:
        return name + suffix
    encoded = quote(name, safe=" ", errors="surrogatepass").replace(".", "%2E") or "%_"
    encoded = "%20" * (len(encoded) - len(encoded.lstrip(" "))) + encoded.lstrip(" ")
    encoded = encoded.rstrip(" ") + "%20" * (len(encoded) - len(encoded.rstrip(" ")))
    if _DEVICES.fullmatch(encoded):
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    if len(encoded) > _LONGEST_NAME:  # only shortened names end with `%_` and a digest
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
    """Returns why a folder can't have this name, or None if it can."""
    if name.strip() in {"", ".", ".."} or name != name.strip():
        return "is empty, all dots, or begins or ends with a space"
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in name):
        return "contains a control character or is not valid Unicode"
    if "/" in name or "\\" in name:
        return "contains a slash or backslash"
    return None
