"""Decodes and parses submitted files, more tolerantly than Python, and explains what is wrong."""

from __future__ import annotations

import ast
import codecs
import importlib.util
import io
import re
import tokenize
import warnings
from collections.abc import Sequence

from ..errors import SubmissionError

#: the errors that Python's compiler raises for text that it does not accept
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
#: codecs whose time grows with the square of the text's length
_NOT_FOR_TEXT = ("punycode", "idna")
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Decodes a file as Python does (byte order mark, coding line, any line end), with notes.

    Plain text that Python itself refuses is accepted too, with a note: UTF-16 (older Windows
    editors), and Latin-1 without a coding line. Raises `SubmissionError` for anything else.
    """
    wide = _wide_encoding(data)
    try:
        if wide is None:
            _check_encoding(data)
            return importlib.util.decode_source(data), ()
        return with_unix_lines(data.decode(wide)).removeprefix("\ufeff"), (_saved_as("UTF-16"),)
    except (SyntaxError, UnicodeError, LookupError) as error:
        if b"\0" in data:
            raise SubmissionError("is not a text file; save the code as UTF-8 text") from error
    return with_unix_lines(data.decode("latin-1")), (_saved_as("UTF-8 nor in what it says"),)


def _check_encoding(data: bytes) -> None:
    """Raises `LookupError` if the coding line names an encoding for domain names, not for text."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    if codecs.lookup(encoding).name in _NOT_FOR_TEXT:
        raise LookupError(encoding)


def _wide_encoding(data: bytes) -> str | None:
    for mark, name in _WIDE:
        if data.startswith(mark):
            return name
    if data[:1] and data[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if data[:1] == b"\0" and data[1:2] else None


def _saved_as(found: str) -> str:
    if found == "UTF-16":
        return "is saved as UTF-16, which Python does not read; save it as UTF-8"
    return f"is not saved as {found}; read as Latin-1; save it as UTF-8"


def with_unix_lines(text: str) -> str:
    """Returns the text with `\\n` after each line, whatever system it was written on."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parsed(text: str) -> ast.Module:
    """Returns the syntax tree; raises one of `NOT_PYTHON`. Ignores warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def compiled(text: str) -> Exception | None:
    """Returns the compiler's error for a text; None if it is valid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<answers>", "exec", dont_inherit=True)
    except NOT_PYTHON as error:
        return error
    return None


def first_line_of(node: ast.stmt) -> int:
    """Returns the number of a statement's first line, from 1, including its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def fault_of(body: Sequence[ast.stmt]) -> Exception | None:
    """Returns an error that only the compiler finds (a `return` outside a function), or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(ast.Module([*body], []), "<answers>", "exec", dont_inherit=True)
    except NOT_PYTHON as error:
        return error
    return None


def in_words(error: Exception) -> str:
    """Describes an error in a text for the text's author."""
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{type(error).__name__}: {error.msg[:300]}" + (
            f", at: {line[:120]}" if line else ""
        )
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply"
    return str(error)[:300]


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
