"""What a student reads of a family: which step it is, in words true of any code, and a lead."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

from autograder.grading.naming.families import calls, members, names, tables
from autograder.grading.naming.families.leads import LEADS, leads_on
from autograder.grading.naming.families.places import changed
from autograder.grading.naming.unequal_sizes import sizes_that_meet

_LAYER = """
import torch
from torch import nn
class Layer(nn.Module):
    def __init__(self, d_in, d_out):
        ### BEGIN SOLUTION
        super().__init__()
        if d_in < 1:
            raise ValueError(d_in)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_query = nn.Linear(d_in, d_out)
        self.drop = nn.Dropout(0.1)
        self.out_proj = nn.Linear(d_out, d_out)
        ### END SOLUTION
    def forward(self, x: torch.Tensor, past: torch.Tensor):
        ### BEGIN SOLUTION
        keys, own = self.W_key(x), self.W_query(x)
        scores = own @ keys.mT / keys.shape[-1] ** 0.5
        weights = self.drop(torch.softmax(scores, dim=-1)).triu(1)
        return self.out_proj(weights + past[1])
        ### END SOLUTION
"""
_TOLD = (
    "`W_query` does what `W_key` should do",
    "`out_proj` is left out",
    "dropout is left out",
    "softmax runs along dimension -2",
    "a check of `d_in` is left out: the error that is asked for does not come",
    "the scores stand where the weights should",
    "the division is by the root of 8, whatever comes in, not of what is asked for",
    "`W_query` has no bias, which is asked for",
    "`W_key`, `W_query` and `out_proj` have no bias, which is asked for",
    "of `past` another part is taken than the one asked for",
    "no gradient reaches `x`",
    "the border of a mask lies one diagonal too far to the lower left",
    "a difference is taken where a sum is asked for",
    "rows and columns of one tensor are swapped (in the result)",
)


@pytest.fixture(scope="module")
def details(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the members of a layer say of themselves."""
    solution: Path = tmp_path_factory.mktemp("layer") / "solution.py"
    solution.write_text(_LAYER)
    return {member.detail() for member in members(solution, "Layer", {})}


def test_a_result_that_does_not_come_back_is_no_step_that_is_left_out(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_LAYER)
    taken_away = [
        ast.unparse(changed(member.change.definition, place, None))
        for member in members(solution, "Layer", {})
        for place, other in member.change.parts
        if other is None
    ]
    assert taken_away and all("return" in text for text in taken_away)


@pytest.mark.parametrize("told", _TOLD)
def test_a_member_says_which_step_it_is(details: set[str], told: str) -> None:
    assert told in details


def test_names_that_only_the_solution_has_are_not_told(details: set[str]) -> None:
    assert not any("`own`" in told or "`drop`" in told for told in details)


def test_every_lead_belongs_to_words_of_a_family() -> None:
    rows = (
        *(tables.WRAPPED, tables.RETURNED, tables.WITH_ARGUMENT, tables.WITH_NAME),
        *(tables.OF_OTHER_SIZES, tables.OF_SCALE, tables.OF_THE_REST),
        *tables.OF_OPERATIONS.values(),
        *(*calls.OF_CALLS.values(), calls.OF_LAYERS, calls.OF_PARTS, calls.OF_SUMS),
    )
    words = {text for _, text in itertools.chain(*rows)} | set(tables.OPERATOR_WORDS.values())
    words |= {tables.CHECK, tables.OF_FIRST_CALL, names.SIZE, names.ONE_LAYER}
    words |= {text for several in calls.KEYWORDS.values() for _, text, _ in several}
    words |= {
        "dropout is not applied where it is asked for",
        "dimensions 0 and 1 are taken for each other",
        "`bias` is True where it is left out",
    }
    words |= {"a small constant is added to the divisor", "a dimension of size one stands there"}
    words |= {"`p` has no effect", "the module keeps `past` from call to call"}
    assert [p for p, _ in LEADS if not any(re.fullmatch(p, text) for text in words)] == []


def test_two_mistakes_at_once_have_no_lead_of_one() -> None:
    one, other = "the mask is the other way round", "softmax is left out"
    assert leads_on(f"{one}; and {other}") == leads_on(other) != leads_on(one)


def _sizes(h: int, g: int, d: int, error: str) -> tuple[dict[str, int], str]:
    return {"H": h, "G": g, "d": d}, error


def test_sizes_that_meet_in_every_call_are_told_by_their_letters() -> None:
    text = "The size of tensor a ({}) must match the size of tensor b ({}) at dimension 1"
    first = _sizes(4, 2, 2, text.format(4, 2))  # G or d
    assert sizes_that_meet([first]) is None
    assert sizes_that_meet([first, _sizes(6, 2, 3, text.format(2, 6))]) == ("G", "H")
    assert sizes_that_meet([first, _sizes(6, 2, 3, "IndexError")]) is None
