"""An answer that only raises errors is named after the cause, if all errors have the same cause."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.grading.naming import unmatched
from autograder.grading.naming.record import Call
from autograder.grading.naming.unmatched import of_causes


@pytest.mark.parametrize(
    ("errors", "name"),
    [
        (["The size of tensor a (3) must match", "shape '[6]' is invalid for input"], "t_reverses"),
        (["The size of tensor a (3) must match", "view size is not compatible"], ""),
        (["mat1 and mat2 shapes cannot be multiplied"], ""),
    ],
)
def test_errors_with_one_proven_cause_give_its_name(errors: list[str], name: str) -> None:
    texts = [f"RuntimeError: {error}\nin forward: x.view(6) @ y.T" for error in errors]
    calls = [Call("call", "RuntimeError", "", (), ()) for _ in texts]
    right = SimpleNamespace(calls=[Call("call", "", "", (), ()) for _ in texts])
    known: Any = SimpleNamespace(tests=lambda _: ["test"], right=lambda *_: right)
    answers: Any = SimpleNamespace(
        errors=lambda test: texts, answered=lambda test: SimpleNamespace(calls=calls)
    )
    found = [row.name for row in of_causes(known, "question", answers)]
    assert [one[: len(name)] for one in found] == [name] * bool(name)


def test_a_sentence_that_keeps_its_first_id_is_still_said() -> None:
    package = Path(unmatched.__file__).parents[2]
    tables = ("suite/raised.py", "suite/raised_table.py", "suite/raised_tensors.py")
    said = (*tables, "grading/naming/shown.toml", "grading/naming/unmatched.py")
    files = [(package / name).read_text(encoding="utf-8") for name in said]
    texts = "".join(text.partition("[first_words]")[0] for text in files)
    assert [words for words in unmatched._FIRST_WORDS if words not in texts] == []
