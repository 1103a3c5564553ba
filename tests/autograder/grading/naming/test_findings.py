"""An answer that only raises errors is named after the cause, if all errors have the same cause."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.grading.naming import unmatched
from autograder.grading.naming.record import Call
from autograder.grading.naming.rows import Row
from autograder.grading.naming.unmatched import of_causes


@pytest.mark.parametrize(
    ("errors", "name"),
    [
        (["The size of tensor a (3) must match", "shape '[6]' is invalid for input"], "t_reverses"),
        (["The size of tensor a (3) must match", "view size is not compatible"], ""),
        (["mat1 and mat2 shapes cannot be multiplied"], ""),
        (["The size of tensor a (3) must match", "mat1 and mat2 shapes"], "t_reverses"),
        (["The size of tensor a (3) must match", *["mat1 and mat2 shapes"] * 2], ""),
    ],
)
def test_errors_with_one_proven_cause_give_its_name(errors: list[str], name: str) -> None:
    found = causes([f"RuntimeError: {error}\nin forward: x.view(6) @ y.T" for error in errors])
    assert [row.name[: len(name)] for row in found] == [name] * bool(name)


def test_a_wrong_shape_sends_nobody_to_a_line() -> None:
    (row,) = causes(["RuntimeError: the result has shape (7, 3), expected (5, 3)"])
    assert row.hint.endswith("compare them with the docstring.")


def causes(texts: list[str]) -> list[Row]:
    calls = [Call("call", "RuntimeError", "", (), ()) for _ in texts]
    right = SimpleNamespace(calls=[Call("call", "", "", (), ()) for _ in texts])
    known: Any = SimpleNamespace(tests=lambda _: ["test"], right=lambda *_: right)
    answers: Any = SimpleNamespace(
        errors=lambda test: texts, answered=lambda test: SimpleNamespace(calls=calls)
    )
    return of_causes(known, "question", answers)


def test_a_sentence_that_keeps_its_first_id_is_still_said() -> None:
    package = Path(unmatched.__file__).parents[2]
    tables = ("suite/raised.py", "suite/raised_table.py", "suite/raised_tensors.py")
    said = (*tables, "grading/naming/shown.toml", "grading/naming/unmatched.py")
    files = [(package / name).read_text(encoding="utf-8") for name in said]
    texts = "".join(text.partition("[first_words]")[0] for text in files)
    assert [words for words in unmatched._FIRST_WORDS if words not in texts] == []
