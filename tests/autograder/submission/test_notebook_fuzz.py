"""Any bytes, read as a notebook or module, give code that compiles, or raise `SubmissionError`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.errors import SubmissionError
from autograder.records import Exercise, ExerciseStatus, Question
from autograder.submission import module_of_notebook, read_exercise

NAMES = ("f", "A")
#: pieces that combine into unusual code, magic and nonsense
PIECES = st.sampled_from(
    [
        *("def f(x):", "class A:", "class A(A):", "    return x", "\treturn f", "@f", "f = g(f)"),
        *("A.f = f", "setattr(A, 'f', f)", "f = lambda: A", "import f, A.b", "from f import *"),
        *(
            "%magic",
            "!ls",
            "x = !ls",
            "%%time",
            "%%bash",
            "f?",
            "return 3",
            "nonlocal f",
            "await f",
        ),
        *("for f in A:", "with f as A:", "    f = 1", "try:", "except f as A:", "del f", "f += 1"),
        *("from __future__ import annotations", "from __future__ import braces", "f(", ")", "\\"),
        *('"""', "'", "# coding: utf-7", "\x00", "\ud800", "\u2028", "\x0c", "a = 1; def f(): 0"),
        *("if f:", "else:", "match f:", "    case A: 1", "async def f(): yield", "𝕗 = 1"),
        "x" * 50,
    ]
)
SOURCES = st.lists(PIECES, max_size=8).flatmap(
    lambda parts: st.sampled_from(["\n", "\r\n", "", "\n    "]).map(lambda end: end.join(parts))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | SOURCES | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["cells", "worksheets", "source", "input", "cell_type", "code", "metadata", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
CELLS = st.fixed_dictionaries({"cell_type": st.just("code"), "source": SOURCES | JSON})
NOTEBOOKS = st.lists(CELLS | JSON, max_size=6).map(lambda cells: {"cells": cells}) | JSON


def check_notebook(data: bytes) -> None:
    """Checks that a notebook is rejected with a message, or gives a module that compiles."""
    try:
        module = module_of_notebook(data, NAMES)
    except SubmissionError as error:
        assert str(error)
        return
    compile(module.text, "<module>", "exec")
    assert not set(module.hints) & set(module.broken)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(NOTEBOOKS)
def test_random_notebooks_are_read_or_refused(document: Any) -> None:
    check_notebook(json.dumps(document).encode())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.binary(max_size=300), st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"{", b"[" * 99])
)
def test_random_bytes_are_read_or_refused(data: bytes, head: bytes) -> None:
    check_notebook(head + data)


@pytest.fixture(scope="module")
def exercise(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """Returns an exercise in a separate folder, whose submission is in `submitted`."""
    root = tmp_path_factory.mktemp("fuzz")
    (root / "submitted").mkdir()
    questions = (Question("f", False, 1), Question("A", True, 2))
    return Exercise("a", "e", questions, *(root / name for name in ("s", "m", "h", "p", "t.py")))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    text=SOURCES | st.text(max_size=60), encoding=st.sampled_from(["utf-8", "utf-16", "latin-1"])
)
def test_random_modules_are_read_or_refused(text: str, encoding: str, exercise: Exercise) -> None:
    folder: Path = exercise.stub.parent / "submitted"
    (folder / "e.py").write_bytes(text.encode(encoding, "replace"))
    answers = read_exercise(folder, exercise)
    assert answers.status in (ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)
    assert answers.notes or answers.status is ExerciseStatus.GRADED
    compile(answers.text, "<module>", "exec")


@pytest.mark.parametrize(
    "source",
    [
        "x = x\n" * 2_900,
        "".join(f"x{i} = x{i + 1}\n" for i in range(2_900)),
        "".join(f"def f{i}(): return f{i + 1}()\n" for i in range(1_400)) + "x = f0()\n",
        "-" * 50_000 + "1",
        "(" * 5_000 + ")" * 5_000,
        "x" + ".a" * 50_000,
        "!ls\n" * 3_000,
        "x = x\n" * 6_000,
        "1\n" * 600_000,
    ],
    ids=["one_name", "chain", "calls", "minus", "brackets", "dots", "magic", "many", "large"],
)
def test_no_notebook_keeps_its_reader_busy_or_ends_it(source: str) -> None:
    cell = {"cell_type": "code", "source": source + "\ndef f(): return x, x0\n"}
    check_notebook(json.dumps({"cells": [cell]}).encode())
