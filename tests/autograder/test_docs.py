"""The documentation: it builds without a warning, and its pages lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html"]
    built = subprocess.run(
        [*command, ROOT / "docs", tmp_path / "site"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    reference = (tmp_path / "site" / "reference" / "python.html").read_text(encoding="utf-8")
    assert "autograder.grade" in reference
    commands = (tmp_path / "site" / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "--resume" in commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_files_that_the_design_names_are_there() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", text)
    missing = [name for name in named if not (ROOT / "autograder" / name).is_file()]
    assert named and not missing


def test_a_walk_through_one_submission_takes_at_most_fifteen_files() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    walk = text.partition("## One submission")[2].partition("\n## ")[0]
    assert 10 <= len(re.findall(r"^\d+\. `", walk, re.MULTILINE)) <= 15
