"""Decodes and parses submitted modules, splits them into statements, and finds stubs.

Decodes files more tolerantly than Python does, and explains errors.
"""

from __future__ import annotations

import ast
import codecs
import importlib.util
import io
import re
import tokenize
import warnings
from collections.abc import Collection, Iterator, Sequence

from ..errors import SubmissionError
from ..worker import experiments

#: the errors that Python's compiler may raise if code is not valid
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
#: codecs that take quadratic time
_NOT_FOR_TEXT = ("punycode", "idna")
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Returns the text of a file, decoded as Python decodes modules, and notes about its encoding.

    Also accepts, with a note, text that Python itself would reject: UTF-16 (from older Windows
    editors), and Latin-1 without a coding line. Raises `SubmissionError` for a file that is not
    text.
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
    return with_unix_lines(data.decode("latin-1")), (_saved_as("UTF-8 or its declared encoding"),)


def _check_encoding(data: bytes) -> None:
    """Raises `LookupError` if the coding line names an encoding for domain names, which is slow."""
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
        return "is saved as UTF-16, which Python can't read; save it as UTF-8"
    return f"is not saved as {found}, so it was read as Latin-1; save it as UTF-8"


def with_unix_lines(text: str) -> str:
    """Converts all line endings to `\\n`, regardless of the system on which `text` was written."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parsed(text: str) -> ast.Module:
    """Returns the syntax tree of code, or raises an error from `NOT_PYTHON`; ignores warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def compiled(text: str) -> Exception | None:
    """Returns the compiler's error for code, or None if the code is valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<answers>", "exec", dont_inherit=True)
    except NOT_PYTHON as error:
        return error
    return None


def first_line_of(node: ast.stmt) -> int:
    """Returns the number of a statement's first line, counted from 1, including its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def fault_of(body: Sequence[ast.stmt]) -> Exception | None:
    """Returns an error found only by the compiler, such as `return` outside a function, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(ast.Module([*body], []), "<answers>", "exec", dont_inherit=True)
    except NOT_PYTHON as error:
        return error
    return None


def in_words(error: Exception) -> str:
    """Describes a compiler's error for the author of the code."""
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{type(error).__name__}: {error.msg[:300]}" + (
            f", at: {line[:120]}" if line else ""
        )
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply"
    return str(error)[:300]


NOT_TEXT = "this is an archive, a document or a picture, not a text file: save the code as text"
#: advice, by the beginning of the line that Python does not accept
_LINES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r">>>|\.\.\. ", "`>>>` and `...` come from a copied example: delete them"),
        (r"```", "this line is Markdown, not code: delete it"),
        (
            r"<<<<<<<|=======|>>>>>>>",
            "git left both sides of a conflict here: keep only one of them",
        ),
        (r"PK\x03|%PDF|\{\\rtf", NOT_TEXT),
        (r"[%!]", "this line works only in a notebook: leave it out of a module"),
        (
            r".*[\u00a0\u2018-\u201f\u2013\u2014\u200b\ufeff]",
            "a character in this line was copied from formatted text (a quotation mark, a dash, "
            "a space): type it again",
        ),
    )
)
#: advice for those of Python's messages that do not help beginners
_MESSAGES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (
            r"use of tabs",
            "some lines begin with a tab and others with spaces, which look alike: use four "
            "spaces for each level",
        ),
        (
            r"unindent does not match|unexpected indent",
            "the lines of one block must begin in the same column: count the spaces at the start "
            "of this line and of the line above it",
        ),
        (
            r"expected an indented block",
            "lines below a line that ends with `:` must be indented by four more spaces",
        ),
        (
            r"'(return|yield|await)' outside",
            "the lines of a function must be indented four spaces more than its `def`",
        ),
        (
            r"unterminated triple-quoted",
            'a docstring begins and ends with `"""`: one of them is missing, here or further up',
        ),
    )
)


def explained(error: Exception) -> str:
    """Describes a compiler's error and its remedy for the author of the code."""
    advice = remedy(error)
    return f"{in_words(error)}; {advice}" if advice else in_words(error)


def remedy(error: Exception) -> str:
    """Returns the remedy for a compiler error, or "" if the error's message says enough."""
    if not isinstance(error, SyntaxError):
        return ""
    line = (error.text or "").strip()
    found = next((text for pattern, text in _LINES if pattern.match(line)), "")
    return found or next((text for says, text in _MESSAGES if says.search(error.msg or "")), "")


class Statement(experiments.Statement):
    def __init__(self, node: ast.stmt, text: str) -> None:
        super().__init__(node)
        self.text = text

    @property
    def first_line(self) -> int:
        """The number of the first line, including decorators, which the node's `lineno` ignores."""
        return first_line_of(self.node)

    @property
    def is_star_import(self) -> bool:
        """Returns whether the statement is `from ... import *`, which may define any name."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def is_future(self) -> bool:
        """Returns whether the statement is `from __future__ import ...`, which must be first."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @property
    def defines(self) -> frozenset[str]:
        """The names that the statement binds to a function or class; other values do not count."""
        return frozenset(_defined_by(self.node))


def statements_of(text: str, body: Sequence[ast.stmt]) -> list[Statement]:
    """Returns the statements in a parsed text, each with its own part of the text.

    Leaves out `pass` statements, which often replace magic lines and do nothing.
    """
    lines = text.encode().split(b"\n")
    nodes = (node for node in body if not isinstance(node, ast.Pass))
    return [Statement(node, _segment(lines, node)) for node in nodes]


def is_surely_defined(name: str, text: str) -> bool:
    """Returns whether a line begins with the definition of `name`; a fast check, rarely wrong."""
    return f"\ndef {name}(" in f"\n{text}" or f"\nclass {name}(" in f"\n{text}"


def _defined_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, experiments.DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        given, is_function = _read_by(node.value)
        yield from (name for name in names if is_function or name in given)


def _read_by(value: ast.expr | None) -> tuple[frozenset[str], bool]:
    """Returns the names among a call's arguments, and whether the value counts as a function.

    A lambda counts as a function, as does the value of `partial` or of any call with a lambda as an
    argument, such as a decorator's call. A call with a function as an argument is assumed to return
    a function, so that after `name = call(name)`, the name still stands for a function.
    """
    if not isinstance(value, ast.Call):
        return frozenset(), isinstance(value, ast.Lambda)
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    given = frozenset(argument.id for argument in arguments if isinstance(argument, ast.Name))
    is_function = any(isinstance(argument, ast.Lambda) for argument in arguments)
    return given, called == "partial" or is_function


def _segment(lines: Sequence[bytes], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    if node.lineno == node.end_lineno and not decorators:  # a long line may contain many statements
        return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
    part = [*lines[first_line_of(node) - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0] if decorators else part[0][node.col_offset :]
    text = b"\n".join(part).decode()
    if decorators:
        try:
            parsed(text)
        except NOT_PYTHON:
            return ast.unparse(node)
    return text


_STUB = "NotImplementedError"
_NOTE = "defines {} twice; the second one is an untouched copy of the stub: delete it"
#: the methods that a class needs to give a result
_NEEDED = ("__init__", "forward")


def is_unanswered(text: str, questions: Collection[str]) -> bool:
    """Returns whether every question in a module is still a stub, so that no call gives a result.

    An empty module is also unanswered. A module that is not valid Python does not count as
    unanswered, because it may be an answer with a typo; nor does a module from which a question was
    deleted.
    """
    try:
        statements = [Statement(node, "") for node in parsed(text).body]
    except NOT_PYTHON:
        return False
    if any(statement.is_star_import for statement in statements):
        return False
    return not statements or all(
        bool(found := [s.node for s in statements if name in s.binds]) and all(map(is_stub, found))
        for name in questions
    )


def without_copies(text: str, names: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Removes untouched stubs that follow an answer to their question; returns the text and notes.

    All other lines keep their numbers.
    """
    if _STUB not in text or all(_definitions(text, name) < 2 for name in names):
        return text, ()
    answered: set[str] = set()
    copies: list[Statement] = []
    for statement in statements_of(text, parsed(text).body):
        if statement.is_definition and is_untouched(statement.node):
            copies += [statement] if statement.binds & answered & set(names) else []
        else:
            answered |= statement.binds
    lines = text.split("\n")
    for copy in copies:
        end = copy.node.end_lineno or copy.first_line
        lines[copy.first_line - 1 : end] = [""] * (end - copy.first_line + 1)
    found = dict.fromkeys(name for copy in copies for name in sorted(copy.binds))
    return "\n".join(lines), tuple(_NOTE.format(name) for name in found)


def _definitions(text: str, name: str) -> int:
    """Returns how many times a name seems to be defined, with `def`, `class` or `=`."""
    return sum(text.count(f"{word}{name}") for word in ("def ", "class ")) + text.count(f"{name} =")


def is_stub(node: ast.stmt) -> bool:
    """Returns whether a definition can't give a result: it ends like a stub, without `return`."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return any(part.name in _NEEDED and is_stub(part) for part in methods)
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    gives = (ast.Return, ast.Yield, ast.YieldFrom)
    return is_stubs_line(node.body[-1]) and not any(
        isinstance(part, gives) for part in ast.walk(node)
    )


def is_untouched(node: ast.stmt) -> bool:
    """Returns whether a definition is a stub as it was released, with nothing added."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return bool(methods) and all(map(is_untouched, methods))
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    own = [part for part in node.body if not isinstance(part, ast.Expr)]
    return is_stubs_line(node.body[-1]) and len(own) == 1


def is_stubs_line(node: ast.stmt) -> bool:
    """Returns whether a statement is `raise NotImplementedError`, with or without parentheses."""
    error = node.exc if isinstance(node, ast.Raise) else None
    name = error.func if isinstance(error, ast.Call) else error
    return isinstance(name, ast.Name) and name.id == "NotImplementedError"
