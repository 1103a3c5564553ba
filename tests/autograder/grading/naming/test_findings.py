"""A mistake that the dropout statistics detect is named after the property that they detected."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.attention.suites.chance import (
    causal_dropout_problem,
    factor_problem,
    rate_problem,
    repeat_problem,
    shared_or_rate_problem,
)
from autograder.grading.naming import unmatched
from autograder.grading.naming.record import Call, in_words
from autograder.grading.naming.unmatched import found_by_statistics, of_causes

NAMES = ("calls", "samples", "heads", "queries", "keys")
SHAPE = (5, 4, 3, 12, 12)


def _dropped(together: int | None) -> torch.Tensor:
    """Draws a dropout pattern that repeats along the given dimension, if any."""
    numbers = torch.rand(*(1 if n == together else size for n, size in enumerate(SHAPE)))
    return (numbers < 0.4).expand(SHAPE)


def _causal(factor: float) -> torch.Tensor:
    weights = (1 / torch.arange(1, SHAPE[-1] + 1).unsqueeze(-1)).expand(SHAPE).tril()
    return weights * (torch.rand(SHAPE) >= 0.4) * factor


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (shared_or_rate_problem(_dropped(0), 0.4, NAMES), "every call drops the same entries"),
        (repeat_problem(list(_dropped(0)) * 2), "every call drops the same entries"),
        (
            shared_or_rate_problem(_dropped(1), 0.4, NAMES),
            "all samples of a batch lose the same entries",
        ),
        (shared_or_rate_problem(_dropped(2), 0.4, NAMES), "all heads lose the same weights"),
        (
            shared_or_rate_problem(_dropped(3), 0.4, NAMES),
            "a key is dropped for all queries together",
        ),
        (
            shared_or_rate_problem(_dropped(4), 0.4, NAMES),
            "all weights of a query are dropped together",
        ),
        (rate_problem(_dropped(None), 0.6), "as many entries are dropped as should be kept"),
        (
            factor_problem(torch.ones(9), torch.ones(9), 0.4),
            "kept entries are as they were before dropout",
        ),
        (causal_dropout_problem(_causal(1.0), 0.4), "kept entries are as they were before dropout"),
    ],
)
def test_findings_of_the_statistics_become_names(problem: str | None, words: str) -> None:
    failure = in_words(f"f((2, 3)):\ngot       {problem}\nexpected  each 0 with probability 0.4")
    assert found_by_statistics([failure, failure])[0] == words


def test_failures_that_say_different_things_have_no_finding_in_common() -> None:
    one, other = (
        in_words(f"f():\ngot       {shared_or_rate_problem(_dropped(n), 0.4, NAMES)}")
        for n in (0, 1)
    )
    assert found_by_statistics([one, other]) == ("", "")
    assert found_by_statistics([one, "f():\ngot       1"]) == ("", "")
    assert found_by_statistics([]) == ("", "")


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
