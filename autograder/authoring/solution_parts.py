"""Splits a solution module into the code that students are given and each question's definition."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..course import BEGIN_SOLUTION, END_SOLUTION
from ..course.rules import QuestionRules, rules_beside
from ..errors import ContentError
from ..records import Exercise
from ..submission.text import first_line_of

_WIDTH = 100
#: the beginning of the last paragraph in many questions' docstrings; rules are written above it
_SOURCE = "Source:"


def with_rules(path: Path, text: str, rules: Mapping[str, QuestionRules]) -> str:
    """Returns a module's text with each question's rules in its docstring.

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
    """Yields each docstring of a question that needs rules, with the paragraphs to add to it."""
    found: dict[ast.expr, list[str]] = {}
    for method in ("", "forward"):
        promises = [promise for promise in rules.promises if promise.method == method]
        raises = "\n".join(f"    {promise.error}: {promise.when}." for promise in promises)
        if promises:
            docstring = _docstring(path, _documented(node, method or "__init__"))
            found[docstring] = [f"Raises:\n{raises}"]
    if rules.words:
        found.setdefault(_docstring(path, node), []).extend(rules.words)
    yield from found.items()


def _documented(
    node: ast.FunctionDef | ast.ClassDef, method: str
) -> ast.FunctionDef | ast.ClassDef:
    """Returns the method with the given name or, if there is none, the function or class itself."""
    methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return next((item for item in methods if item.name == method), node)


def _docstring(path: Path, node: ast.FunctionDef | ast.ClassDef) -> ast.expr:
    first = node.body[0]
    if isinstance(first, ast.Expr) and ast.get_docstring(node) is not None:
        return first.value
    raise ContentError(
        path, node.lineno, f"{node.name} has rules but no docstring", "write its docstring"
    )


def _insert(lines: list[str], docstring: ast.expr, blocks: list[str]) -> None:
    """Inserts paragraphs above a docstring's `Source:` or, if there is none, at its end."""
    first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
    indent = " " * docstring.col_offset
    if lines[last].strip() != '"""':  # text precedes the closing quotes
        lines[last : last + 1] = [lines[last].removesuffix('"""').rstrip(), f'{indent}"""']
        last += 1
    source = [n for n in range(first, last) if lines[n].strip().startswith(_SOURCE)]
    new = [line for block in blocks for line in [*_wrapped(block, indent), ""]]
    if source:
        lines[source[0] : source[0]] = new
    else:
        lines[last:last] = ["", *new[:-1]]


def _wrapped(block: str, indent: str) -> list[str]:
    """Wraps a paragraph; an indented line is continued with a deeper indentation."""
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


#: the statement that replaces a solution, in modules and in notebooks
STUB = "raise NotImplementedError"


@dataclass(frozen=True, slots=True)
class ModuleParts:
    """A module's parts; `given` is the code outside the module's docstring and questions."""

    given: str
    definitions: Mapping[str, str]


def split_module(exercise: Exercise) -> ModuleParts:
    """Splits a solution module; raises `ContentError` if a marker is outside the questions."""
    text = module_text(exercise)
    lines = text.splitlines()
    body = ast.parse(text).body
    names = {question.name for question in exercise.questions}
    taken: set[int] = set()
    definitions: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            where = _lines_of(node, lines)
            definitions[node.name] = "\n".join(lines[line] for line in where)
            taken.update(where)
    if body and _is_docstring(body[0]):
        taken.update(range(body[0].lineno - 1, body[0].end_lineno or 0))
    _refuse_markers(exercise.solution, lines, taken)
    given = "\n".join(line for number, line in enumerate(lines) if number not in taken)
    return ModuleParts(_few_blank_lines(given), definitions)


def module_text(exercise: Exercise) -> str:
    """Returns the text of the solution module with each question's rules in its docstring."""
    text = exercise.solution.read_text(encoding="utf-8")
    return with_rules(exercise.solution, text, rules_beside(exercise.hidden_suite))


def strip_solutions(path: Path, text: str) -> str:
    """Replaces every solution with the stub; raises `ContentError` if markers do not match."""
    kept: list[str] = []
    opened: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        marker = line.strip()
        if marker == BEGIN_SOLUTION:
            if opened is not None:
                raise ContentError(
                    path, number, "a solution inside another one", f"add {END_SOLUTION} above it"
                )
            opened = number
            kept.append(line[: len(line) - len(line.lstrip())] + STUB)
        elif marker == END_SOLUTION:
            if opened is None:
                raise ContentError(
                    path, number, "an end marker without a begin marker", f"add {BEGIN_SOLUTION}"
                )
            opened = None
        elif opened is None:
            kept.append(line)
    if opened is not None:
        raise ContentError(path, opened, "a solution without an end marker", f"add {END_SOLUTION}")
    return "\n".join(kept) + "\n"


def solution_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yields the number and text of each line except markers, and whether it is in a solution."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        marker = line.strip()
        if marker in (BEGIN_SOLUTION, END_SOLUTION):
            inside = marker == BEGIN_SOLUTION
        else:
            yield number, line, inside


def _lines_of(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> range:
    """Returns a definition's lines, including decorators, comments above it, and end markers."""
    first = first_line_of(node) - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    last = (node.end_lineno or node.lineno) - 1
    for number in range(last + 1, len(lines)):
        line = lines[number]
        if line.strip() and not line.lstrip().startswith("#"):
            break
        if line.startswith((" ", "\t")) and line.strip():
            last = number
    return range(first, last + 1)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _refuse_markers(path: Path, lines: list[str], taken: set[int]) -> None:
    for number, line in enumerate(lines):
        if number not in taken and line.strip() in (BEGIN_SOLUTION, END_SOLUTION):
            raise ContentError(
                path, number + 1, "a solution outside of any question", "move it into a question"
            )


def _few_blank_lines(text: str) -> str:
    kept: list[str] = []
    for line in text.splitlines():
        if line.strip() or kept[-2:] != ["", ""]:
            kept.append(line.rstrip())
    return "\n".join(kept).strip("\n")
