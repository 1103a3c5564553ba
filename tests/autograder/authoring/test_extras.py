"""Files in `extras/`, such as notebooks without questions, are released with an assignment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.authoring.assignment_folder import extras_of
from autograder.course import load_course
from autograder.errors import ContentError

ASSIGNMENT = load_course(Path(__file__).parents[3]).assignment("decoder_attention")


@pytest.fixture
def extras(tmp_path: Path) -> Path:
    """Returns the empty `extras` folder of a course without other files."""
    folder = tmp_path / "source" / ASSIGNMENT.name / "extras"
    folder.mkdir(parents=True)
    return folder


def test_markdown_becomes_a_notebook_and_other_files_stay(tmp_path: Path, extras: Path) -> None:
    (extras / "tour.md").write_text("# Tour\n\n```{code-cell} ipython3\n1 + 1\n```\n")
    (extras / "words.txt").write_text("one two")
    released = extras_of(tmp_path, ASSIGNMENT)
    assert sorted(released) == ["extras/tour.ipynb", "extras/words.txt"]
    assert released["extras/words.txt"] == "one two"
    cells = json.loads(released["extras/tour.ipynb"])["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Tour"),
        ("code", "1 + 1"),
    ]


def test_a_notebook_that_uses_the_package_first_finds_it(tmp_path: Path, extras: Path) -> None:
    cell = "```{code-cell} ipython3\nimport autograder.parts\n```\n"
    (extras / "tour.md").write_text(f"# Tour\n\n{cell}", encoding="utf-8")
    cells = json.loads(extras_of(tmp_path, ASSIGNMENT)["extras/tour.ipynb"])["cells"]
    assert [cell["id"] for cell in cells] == ["tour-1", "bring_checks", "tour-2"]
    assert '_bring_checks("decoder_attention")' in "".join(cells[1]["source"])


def test_an_assignment_without_extras_has_none(tmp_path: Path) -> None:
    assert extras_of(tmp_path, ASSIGNMENT) == {}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("decoder_block.md", b"# Again", "an exercise has this name"),
        ("words.txt", b"\xff\xfe", "not UTF-8"),
    ],
)
def test_an_extra_that_cannot_be_released_is_reported(
    tmp_path: Path, extras: Path, name: str, content: bytes, problem: str
) -> None:
    (extras / name).write_bytes(content)
    with pytest.raises(ContentError, match=problem):
        extras_of(tmp_path, ASSIGNMENT)
