"""Writes the rules of a question into its docstring: forbidden calls and promised errors."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..course.rules import QuestionRules
from ..errors import ContentError

_WIDTH = 100
#: the beginning of a docstring's last paragraph, if there is one; rules are written above it
_SOURCE = "Source:"


def with_rules(path: Path, text: str, rules: Mapping[str, QuestionRules]) -> str:
    """Returns the text of a module with the rules of its questions in their docstrings.

    Raises `ContentError` if a docstring is missing.
    """
    lines = text.splitlines()
    places = [
        (docstring, blocks)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in rules
        for docstring, blocks in _places(path, node, rules[node.name])
    ]
    for docstring, blocks in sorted(places, key=lambda place: -place[0].lineno):
        _insert(lines, docstring, blocks)
    return "\n".join(lines) + "\n"


def _places(
    path: Path, node: ast.FunctionDef | ast.ClassDef, rules: QuestionRules
) -> Iterator[tuple[ast.expr, list[str]]]:
    """Yields the docstrings of a question that get rules, with their paragraphs."""
    for method in ("", "forward"):
        promises = [promise for promise in rules.promises if promise.method == method]
        calls = rules.not_allowed if not method else None
        raises = "\n".join(f"    {promise.error}: {promise.when}." for promise in promises)
        blocks = [f"Raises:\n{raises}"] * bool(promises) + ([calls.words] if calls else [])
        if blocks:
            yield _docstring(path, _speaking(node, method or "__init__")), blocks


def _speaking(node: ast.FunctionDef | ast.ClassDef, method: str) -> ast.FunctionDef | ast.ClassDef:
    """Returns the method whose docstring states a rule; the function or class if there is none."""
    methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return next((item for item in methods if item.name == method), node)


def _docstring(path: Path, node: ast.FunctionDef | ast.ClassDef) -> ast.expr:
    first = node.body[0]
    if isinstance(first, ast.Expr) and ast.get_docstring(node) is not None:
        return first.value
    raise ContentError(
        path, node.lineno, f"{node.name} has rules and no docstring", "write its docstring"
    )


def _insert(lines: list[str], docstring: ast.expr, blocks: list[str]) -> None:
    """Inserts paragraphs above the `Source:` of a docstring, or at its end."""
    first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
    indent = " " * docstring.col_offset
    if lines[last].strip() != '"""':  # closed on a line with text
        lines[last : last + 1] = [lines[last].removesuffix('"""').rstrip(), f'{indent}"""']
        last += 1
    source = [n for n in range(first, last) if lines[n].strip().startswith(_SOURCE)]
    new = [line for block in blocks for line in [*_wrapped(block, indent), ""]]
    if source:
        lines[source[0] : source[0]] = new
    else:
        lines[last:last] = ["", *new[:-1]]


def _wrapped(block: str, indent: str) -> list[str]:
    """Wraps a paragraph; continues its indented lines with a deeper indentation."""
    lines: list[str] = []
    for text in block.splitlines():
        start = indent + text[: len(text) - len(text.lstrip())]
        lines += textwrap.wrap(
            text.strip(),
            _WIDTH,
            initial_indent=start,
            subsequent_indent=start + "    " * text.startswith(" "),
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
