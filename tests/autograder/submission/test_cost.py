"""The cost of reading is linear in the length of the code, because no reader backtracks."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import pkgutil
import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import autograder
from autograder.errors import SubmissionError
from autograder.operations.mistakes import anonymous_code
from autograder.submission import module_of_notebook
from autograder.submission.magic import python_of
from autograder.submission.notebook import names_defined_in, read_cells
from autograder.submission.opened import check_code
from autograder.submission.text import NOT_PYTHON, decoded, parsed, without_copies
from autograder.suite.names import names_used
from autograder.worker.experiments import Statement, experiments, names_reached

#: functions that return code with about this many characters
SHAPES: dict[str, Callable[[int], str]] = {
    "spaces": lambda n: " " * n + "(",
    "tabs": lambda n: "\t" * n + "x",
    "newlines": lambda n: "\n" * n + "!",
    "returns": lambda n: "\r" * n + "def",
    "indented_lines": lambda n: " \n" * (n // 2) + "x",
    "brackets": lambda n: "(" * n,
    "closed_brackets": lambda n: "[]" * (n // 2),
    "minus": lambda n: "-" * n + "1",
    "quotes": lambda n: '"' * n,
    "apostrophes": lambda n: "'" * n,
    "escaped_quotes": lambda n: '"' + '\\"' * (n // 2) + "\\",
    "triple_quotes": lambda n: '"""' + 'a"" ' * (n // 4),
    "open_strings": lambda n: "'''" + "\\" * n,
    "backslashes": lambda n: "\\" * n,
    "continued_lines": lambda n: "!a \\\n" * (n // 5),
    "question_marks": lambda n: "a" + " ?" * (n // 2) + "x",
    "help_with_spaces": lambda n: "a" + " " * n + "?" + " " * n + "x",
    "words": lambda n: "a, " * (n // 3) + "(",
    "assigned": lambda n: "a." * (n // 2) + "=" + " " * n + "(",
    "commands": lambda n: "pip" + " " * n + "(",
    "magic_lines": lambda n: "%a\n" * (n // 3),
    "magic_above_code": lambda n: "%a\n" * 100 + "x = x\n" * (n // 6),
    "magic_in_code": lambda n: "x = 1\n!ls\n" * (n // 10),
    "assigned_magic": lambda n: "x = !ls\n" * (n // 8),
    "help_cells": lambda n: "?\r" * (n // 2),
    "help_lines": lambda n: "x?\n" * (n // 3),
    "unclosed": lambda n: "x = 1\n" * (n // 6) + "(",
    "one_name": lambda n: "x = x\n" * (n // 6),
    "one_line": lambda n: "x=x;" * (n // 4) + "x",
    "chain_of_names": lambda n: "".join(f"x{i} = x{i + 1}\n" for i in range(n // 12)),
    "wrapped": lambda n: "def f(): 0\n" + "f = g(f)\n" * (n // 9),
    "patched": lambda n: "class f: 0\n" + "f.a = f\n" * (n // 8),
    "definitions": lambda n: "def f(): f\n" * (n // 11),
    "words_of_definitions": lambda n: "def " * (n // 4),
    "spaced_definitions": lambda n: "async" + " " * n + "x",
    "decorators": lambda n: "@f\n" * (n // 3) + "def f(): 0",
    "imports": lambda n: "import " + ", ".join(f"a{i}" for i in range(n // 8)),
    "marks": lambda n: "`*_[" * (n // 4),
    "markup": lambda n: "<a " * (n // 3),
    "ends_of_markup": lambda n: "![" * (n // 2) + "](" * (n // 2),
    "nulls": lambda n: "\0" * n,
    "digits": lambda n: "1" * n,
    "zeros_with_point": lambda n: "1." + "0" * n + "e",
    "equal_signs": lambda n: "=" * n,
    "tildes": lambda n: "~" * n + "\n" + "~" * n,
    "copies_of_a_stub": lambda n: "def f(): raise NotImplementedError\n" * (n // 35),
    "names_of_names": lambda n: (
        " = ".join(f"x{i}" for i in range(n // 12))
        + f" = f({', '.join(f'x{i}' for i in range(n // 12))})"
    ),
    "tables_of_answers": lambda n: "def f(): return x\n" + "x.a(f)\n" * (n // 8),
    "identical_lines": lambda n: "ab cd ef\n" * (n // 9),
}

READERS: dict[str, Callable[[str], object]] = {
    "python_of": python_of,
    "names_defined_in": names_defined_in,
    "read_cells": lambda text: read_cells([text]),
    "many_cells": lambda text: read_cells([text[at : at + 40] for at in range(0, len(text), 40)]),
    "check_code": lambda text: check_code([text]),
    "notebook": lambda text: module_of_notebook(_notebook("code", text), ["f", "A"]),
    "markdown": lambda text: module_of_notebook(_notebook("markdown", text), ["f", "A"]),
    "decoded": lambda text: decoded(text.encode()),
    "punycode": lambda text: decoded(b"# coding: punycode\n" + text.encode()),
    "copies": lambda text: without_copies(text, ["f", "A"]),
    "anonymous": lambda text: anonymous_code(text, "f"),
    "names_used": lambda text: names_used(text, "f"),
    "names_reached": lambda text: names_reached(_statements(text), ["f"]),
    "experiments": lambda text: experiments(_statements(text), ["f", "x"]),
}
#: the length of code, and the CPU seconds in which it can be read without backtracking
SIZE, SHORT = 8_000, 0.05
#: the most that the time may grow if the code is four times as long; quadratic time grows 16 times
MOST_GROWTH = 9.0


def _statements(text: str) -> list[Statement]:
    return [Statement(node) for node in parsed(text).body]


def _notebook(kind: str, text: str) -> bytes:
    return json.dumps({"cells": [{"cell_type": kind, "source": text}]}).encode()


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Returns the CPU seconds that reading `text` takes, even if `text` is rejected."""
    gc.disable()
    before = time.process_time()
    try:
        with contextlib.suppress(SubmissionError, *NOT_PYTHON):
            read(text)
        return time.process_time() - before
    finally:
        gc.enable()


def grows_too_fast(read: Callable[[str], object], shape: Callable[[int], str]) -> str:
    """Returns evidence that a reader's time grows faster than linearly, or an empty string."""
    for size in (SIZE, 2 * SIZE):  # a longer text has to confirm the first finding
        long = _seconds(read, shape(size))
        if long < SHORT or long <= MOST_GROWTH * _seconds(read, shape(size // 4)):
            return ""
    return f"{long:.2f} s for {size:,} characters"


def _searches() -> dict[str, Callable[[str], object]]:
    """Returns every use of a regular expression in the package, by module and name."""
    found: dict[str, Callable[[str], object]] = {}
    for info in pkgutil.walk_packages(autograder.__path__, "autograder."):
        if "__main__" in info.name:
            continue
        module = importlib.import_module(info.name)
        for name, kept in vars(module).items():
            patterns = kept.values() if isinstance(kept, dict) else [kept]
            if any(isinstance(pattern, re.Pattern) for pattern in patterns):
                uses = re.findall(rf"\b{name}(?:\[[\w.]+\])?\.(\w+)\b", inspect.getsource(module))
                found |= {
                    f"{info.name}.{name}.{use} {number}": _search(pattern, use)
                    for use in {*uses} - {"pattern"}
                    for number, pattern in enumerate(patterns)
                }
    return found


def _search(pattern: re.Pattern[Any], use: str) -> Callable[[str], object]:
    method = getattr(pattern, use)
    if isinstance(pattern.pattern, bytes):
        return lambda text: method(text.encode())
    if use == "finditer":
        return lambda text: deque(method(text), 0)
    return (lambda text: method("", text)) if use == "sub" else method


@pytest.mark.parametrize("name", READERS)
def test_no_text_makes_a_reader_quadratic(name: str) -> None:
    found = {shape: grows_too_fast(READERS[name], make) for shape, make in SHAPES.items()}
    assert not {shape: text for shape, text in found.items() if text}


def test_no_text_makes_a_regular_expression_quadratic() -> None:
    searches = _searches()
    assert len(searches) > 12
    found = {
        f"{name} on {shape}": growth
        for name, search in searches.items()
        for shape, make in SHAPES.items()
        if (growth := grows_too_fast(search, make))
    }
    assert not found


def test_a_pattern_that_goes_back_over_a_text_is_found() -> None:
    search = re.compile(r"^\s*(?:def|class)", re.MULTILINE).search
    assert grows_too_fast(search, SHAPES["newlines"])
    assert not grows_too_fast(lambda text: sum(range(100 * len(text))), SHAPES["newlines"])
