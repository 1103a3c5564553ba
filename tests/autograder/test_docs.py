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


def test_the_example_of_grading_from_python_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    place = tmp_path / "submitted" / "ada" / "simplified_attention"
    place.mkdir(parents=True)
    (place / "scores.py").write_text(
        "import torch\n\ndef query_scores(inputs, query):\n    return 0\n"
    )
    script = tmp_path / "example.py"
    script.write_text(f"COURSE = {str(ROOT)!r}\n{code}", encoding="utf-8")
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    first, second, *questions = ran.stdout.splitlines()
    assert first.startswith("1 graded in tier ")
    assert second == "ada simplified_attention 0 of 100"
    assert "   query_scores wrong " in questions
