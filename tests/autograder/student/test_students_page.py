"""docs/students.md: the tests that its table names, and its pictures, are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "students.md"


def test_each_test_that_the_table_names_is_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_each_picture_is_there_and_small() -> None:
    pictures = re.findall(r"\((images/[^)]+)\)", PAGE.read_text(encoding="utf-8"))
    sizes = {name: (PAGE.parent / name).stat().st_size for name in pictures}
    assert len(sizes) == 3
    assert max(sizes.values()) < 200_000


def test_each_row_has_a_cell_for_every_kit() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| feature |")[2].splitlines()
    rows = [line for line in table if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {7}
