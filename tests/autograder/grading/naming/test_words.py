"""Each family of changes has a message that describes a step in any student's code, and a hint."""

from __future__ import annotations

import ast
import itertools
import tomllib
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.grading.naming import families, known
from autograder.grading.naming.families import members
from autograder.grading.naming.families import step_tables as tables
from autograder.grading.naming.families.details import words_in_details
from autograder.grading.naming.families.places import changed
from autograder.grading.naming.families.words import (
    FREQUENT,
    SMALL_CHANGES,
    STEPS,
    lead_of,
    words_of,
)
from autograder.grading.naming.rows import Row
from autograder.suite.variants import module_texts

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
    "a check of `d_in` is missing or accepts too much, so the required error is not raised",
    "the scores are used where the weights should be",
    "the size of `past` is used where that of the keys should be",
    "the divisor is the square root of 8, whatever the input is, which is not the required size",
    "`W_query` has no bias, although one is required",
    "`W_key`, `W_query` and `out_proj` have no bias, although one is required",
    "the border of a mask is one diagonal too far to the lower left",
    "a difference is taken instead of a sum",
    "rows and columns of one tensor are swapped (in the result)",
    "the vectors of an argument are normalized to length one before the first step (in `x`)",
)


@pytest.fixture(scope="module")
def details(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    solution: Path = tmp_path_factory.mktemp("layer") / "solution.py"
    solution.write_text(_LAYER)
    return {member.detail() for member in members(solution, "Layer", {})}


def test_a_missing_result_is_not_a_left_out_step(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text(_LAYER)
    taken_away = [
        ast.unparse(changed(member.change.definition, place, None))
        for member in members(solution, "Layer", {})
        for place, other in member.change.parts
        if other is None
    ]
    assert taken_away and all("return" in text for text in taken_away)


@pytest.mark.parametrize("detail", _TOLD)
def test_a_member_says_which_step_it_is(details: set[str], detail: str) -> None:
    assert detail in details


def test_no_size_takes_the_place_of_a_bool(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    text = _LAYER.replace("d_in, d_out):", "d_in, d_out, bias: bool = False):")
    solution.write_text(text.replace("nn.Linear(d_in, d_out)", "nn.Linear(d_in, d_out, bias=bias)"))
    details = [member.detail() for member in members(solution, "Layer", {})]
    assert "`d_out` is used where `d_in` should be" in details
    assert not any("`bias` should be" in detail for detail in details)


def test_the_order_of_families_is_part_of_a_tables_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = known.digest_of_families.__wrapped__()
    monkeypatch.setattr(known, "FREQUENT", dict(reversed([*FREQUENT.items()])))
    assert known.digest_of_families.__wrapped__() != before


def test_descriptions_in_details_are_part_of_a_tables_key(
    details: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = tomllib.loads((Path(families.__file__).parent / "words.toml").read_text())
    told = {entry["words"] for entry in words.values() if isinstance(entry, dict)}
    assert {own for own in told for detail in details if own in detail} <= {*words_in_details()}
    before = known.digest_of_families.__wrapped__()
    monkeypatch.setattr(known, "words_in_details", lambda: ["numbers are rounded"])
    assert known.digest_of_families.__wrapped__() != before


def test_names_that_only_the_solution_has_are_not_shown(details: set[str]) -> None:
    assert not any("`own`" in detail or "`drop`" in detail for detail in details)


def _used() -> set[str]:
    """Returns the strings in the code and in the step tables that may be names of families."""
    by_name = [*STEPS["of_operations"].values(), *STEPS["of_calls"].values()]
    rows = [*itertools.chain(*by_name, *(of for of in STEPS.values() if isinstance(of, list)))]
    keys = {row[1] for row in rows if isinstance(row, list)} | set(SMALL_CHANGES.values())
    keys |= {key for _, key, _ in itertools.chain(*STEPS["keywords"].values())}
    for path in Path(families.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                keys.add(node.value.replace("{{", "{").replace("}}", "}"))
    return keys


def test_each_family_in_the_file_of_words_is_used() -> None:
    words = tomllib.loads((Path(families.__file__).parent / "words.toml").read_text())
    families_of = {key: entry for key, entry in words.items() if key not in ("lead", "frequent")}
    assert families_of.keys() - _used() == set()
    assert all(set(entry) <= {"words", "lead"} for entry in families_of.values())
    assert set(words["frequent"]) <= families_of.keys()


def test_each_family_of_the_tables_has_words() -> None:
    rows = [*STEPS["wrapped"], *STEPS["returned"], *STEPS["of_calls"]["softmax"]]
    assert all(words_of(key) and lead_of(key) for _, key in rows)
    assert {words_of(key) for key in tables.ANY_STEP}


def test_two_simultaneous_mistakes_leave_out_the_lead_of_either() -> None:
    one = Row("one", "", words="softmax is left out", lead="Look at softmax.", member=1)
    other = Row("other", "", words="a sum is left out", lead="Look at sums.", member=2)
    both = Row.of_both(one, other)
    assert both.precise.startswith("This answer behaves as if softmax is left out; and a sum is")
    assert "Look at" not in both.precise


def test_words_of_a_known_mistake_are_in_its_own_code(course: Course) -> None:
    # a hint that mentions other code is left out, because the answer may lack that code
    silent = [
        f"{assignment.name}/{exercise.name}: {variant.name}"
        for assignment in course.assignments
        for exercise in assignment.exercises
        for variant, text in module_texts(
            exercise.solution, course.variants("misconceptions", exercise)
        )
        if (row := Row.of_entry(variant)).code and not row.is_spoken_of_in(text)
    ]
    assert not silent
