"""The site's lesson pages have pictures from solved notebooks, and contain no answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.course import load_course
from autograder.errors import ContentError
from tools.book import markdown, refuse_hidden

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the book, built with one lesson."""
    place = tmp_path_factory.mktemp("book")
    options = ["--to", str(place / "lessons"), "--kept", str(place / "kept")]
    command = [sys.executable, "-m", "tools.book", *options, "simplified_attention/scores"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return place / "lessons"


def test_a_lesson_shows_pictures_and_stubs(book: Path) -> None:
    folder = book / "simplified_attention"
    page = (folder / "scores.md").read_text(encoding="utf-8")
    assert page.startswith("# Attention scores\n")
    assert "raise NotImplementedError" in page
    assert "![The picture that the cell above draws](scores-1.png)" in page
    assert len(list(folder.glob("scores-*.png"))) == page.count("](scores-") >= 3
    assert "BEGIN SOLUTION" not in page and "inputs @ query" not in page


def test_the_overview_lists_assignments_in_teaching_order(book: Path) -> None:
    page = (book / "index.md").read_text(encoding="utf-8")
    first, last = (
        page.index(f"({name}/index.md)") for name in ("simplified_attention", "decoder_attention")
    )
    assert first < last


def test_a_page_with_an_answer_is_refused() -> None:
    page = b"It is `return queries @ keys.transpose(-2, -1)`."
    with pytest.raises(ContentError, match="a line of the solution"):
        refuse_hidden(load_course(ROOT), {"simplified_attention/scores.md": page}, Path("lessons"))


def test_formulas_need_no_script_and_code_stays() -> None:
    shown = markdown("Take $a_1 * b$, and run `echo $HOME` or `$x$`.")
    assert "<math" in shown and "<mi>a</mi>" in shown
    assert "`echo $HOME` or `$x$`" in shown
    assert "*" not in shown


def test_a_distance_between_rows_is_not_shown() -> None:
    shown = markdown("$$ \\begin{gathered} a \\\\[4pt] b \\end{gathered} $$")
    assert "4" not in shown and shown.count("<mtr>") == 2
