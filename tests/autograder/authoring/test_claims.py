"""Claims are written next to the sentences that they prove, and are hidden from students."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import jupytext
import pytest
import torch

from autograder.attention.notebooks import measuring
from autograder.authoring.claims import claims_in, without_claims

from .notebook_runs import for_seeds

ROOT = Path(__file__).parents[3]
LESSONS = sorted((ROOT / "source").glob("*/**/*.md"))
#: matches a claim whose next line continues the paragraph before it, and that line
SPLIT = re.compile(
    r"^[ \t]*<!-- holds: (?:(?!-->).)*-->[ \t]*\n(?![ \t]*(?:\n|<!--|[-*] |\d+\. ))([^\n]+)",
    re.MULTILINE | re.DOTALL,
)
TEXT = """Half of it is 0.5.
<!-- holds: 1 / 2 == 0.5 -->
So this goes on.

- a point
  <!-- holds: sum([1,
       2]) == 3 -->
"""


def test_claims_are_found_on_one_line_each() -> None:
    assert claims_in(TEXT) == ["1 / 2 == 0.5", "sum([1, 2]) == 3"]


def test_removing_claims_leaves_no_gap_in_a_text() -> None:
    assert without_claims(TEXT) == "Half of it is 0.5.\nSo this goes on.\n\n- a point"


@pytest.mark.parametrize("notebook", sorted((ROOT / "assignments").rglob("*.ipynb")), ids=str)
def test_no_released_notebook_shows_a_comment(notebook: Path) -> None:
    assert "<!--" not in notebook.read_text(encoding="utf-8")


def test_a_claim_inside_of_a_paragraph_is_found() -> None:
    assert SPLIT.findall(TEXT) == ["So this goes on."]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_no_claim_splits_a_paragraph(lesson: Path) -> None:
    assert SPLIT.findall(lesson.read_text(encoding="utf-8")) == []


#: calls that set a seed, which decides the random numbers
SETS_A_SEED = re.compile(r"manual_seed\(\d+\)")


def functions_of(source: str) -> dict[str, str]:
    """Returns the source of each function in a piece of code, by name."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.unparse(node) for node in nodes}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_claims_about_random_numbers_are_evaluated_for_several_seeds(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    cells = jupytext.reads(text, fmt="md:myst").cells
    code = [cell.source for cell in cells if cell.cell_type == "code" and cell.source[:1] != ":"]
    functions = functions_of(Path(measuring.__file__).read_text(encoding="utf-8"))
    for source in code:
        functions |= functions_of(source)
    seeded = {name for name, source in functions.items() if SETS_A_SEED.search(source)}
    called = {name for name in seeded if re.search(rf"\b{name}\(|\b{name},", "\n".join(code))}
    claims = [claim for claim in claims_in(text) if "for_seeds(" in claim]
    assert {name for name in called if not any(name in claim for claim in claims)} == set()


def test_every_seed_that_a_call_sets_is_replaced() -> None:
    def draw() -> list[float]:
        torch.manual_seed(9)
        return [
            torch.rand(1).item(),
            torch.rand(1, generator=torch.Generator().manual_seed(9)).item(),
        ]

    before = torch.random.get_rng_state()
    found = for_seeds(draw, 3, 4, 9)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert found[2] == draw()
    assert len({number for pair in found for number in pair}) == 3
    assert for_seeds(lambda: torch.rand(1).item(), 3) == [found[0][0]]
