"""Claims are written next to the sentences that they prove, and are hidden from students."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.authoring.claims import claims_in, without_claims

ROOT = Path(__file__).parents[3]
LESSONS = sorted((ROOT / "source").glob("*/**/*.md"))
#: a claim whose next line continues the paragraph before it, and that line
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


def test_a_text_without_its_claims_has_no_gap() -> None:
    assert without_claims(TEXT) == "Half of it is 0.5.\nSo this goes on.\n\n- a point"


@pytest.mark.parametrize("notebook", sorted((ROOT / "assignments").rglob("*.ipynb")), ids=str)
def test_no_released_notebook_shows_a_comment(notebook: Path) -> None:
    assert "<!--" not in notebook.read_text(encoding="utf-8")


def test_a_claim_inside_of_a_paragraph_is_found() -> None:
    assert SPLIT.findall(TEXT) == ["So this goes on."]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_no_claim_splits_a_paragraph(lesson: Path) -> None:
    assert SPLIT.findall(lesson.read_text(encoding="utf-8")) == []
