"""Two submissions count as similar if they share unusual code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.feedback import write_similar
from autograder.feedback.similar import ClassFingerprints
from autograder.submission.fingerprints import fingerprints

COPIED = """\
def causal_mask(size):
    kept = []
    for row in range(size):
        line = [1 if column <= row else 0 for column in range(size)]
        kept.append(torch.tensor(line, dtype=torch.bool))
    return torch.stack(kept, dim=0).logical_not()
"""
RENAMED = COPIED.replace("kept", "rows").replace("line", "x").replace("row ", "i ").replace(
    "<= row", "<= i"
)  # fmt: skip
OTHER = """\
def causal_mask(size):
    ones = torch.ones(size, size, dtype=torch.bool)
    upper = torch.triu(ones, diagonal=1)
    return upper if size > 0 else ones[:0, :0].contiguous()
"""


def pairs(stub: str = "", **codes: str) -> list[tuple[str, str]]:
    written = ClassFingerprints(fingerprints(stub).lines)
    for student, code in codes.items():
        written.add(student, fingerprints(code))
    return [(one.left, one.right) for one in written.likenesses()]


def test_a_copy_with_other_names_and_comments_is_a_pair() -> None:
    commented = RENAMED.replace("rows = []", "rows = []  # my own idea\n")
    assert pairs(ada=COPIED, ben=OTHER, eve=commented) == [("ada", "eve")]


def test_common_code_is_not_a_pair() -> None:
    assert pairs(**{f"student{n}": COPIED for n in range(4)}) == []
    assert len(pairs(**{f"student{n}": COPIED for n in range(3)})) == 3


def test_code_of_the_stub_is_not_a_pair() -> None:
    assert pairs(stub=COPIED, ada=COPIED, eve=RENAMED) == []


@pytest.mark.parametrize("code", ["", "def f(:\n  '''", "\0", "x = (" * 500, "é = 'ü'\n" * 50])
def test_broken_code_has_fingerprints_of_what_can_be_read(code: str) -> None:
    broken = fingerprints(f"{COPIED}\n\n{code}").lines.keys()
    assert broken & fingerprints(COPIED).lines.keys()


@pytest.fixture
def pair(
    class_folder: Path,
    submit: Callable[..., Path],
    make_result: Callable[..., autograder.SubmissionResult],
) -> Path:
    """Returns a class in which eve's notebook resembles ada's module."""
    cell = {"cell_type": "code", "source": RENAMED, "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    submit("ada", {"masking.py": COPIED + "# <b>mine</b>\n"})
    submit("ben", {"masking.py": OTHER})
    submit("eve", {"masking.ipynb": json.dumps(notebook)})
    lines = [
        make_result(name, files=(file, None))
        for name, file in [("ada", "masking.py"), ("ben", "masking.py"), ("eve", "masking.ipynb")]
    ]
    text = "".join(json.dumps(line.to_json()) + "\n" for line in lines)
    (class_folder / "results.jsonl").write_text(text)
    return class_folder


def test_a_notebook_is_compared_with_a_module(pair: Path) -> None:
    (found,) = autograder.similar(pair, course=pair.parent)
    assert {found.left.student, found.right.student} == {"ada", "eve"}
    assert found.share > 0.9
    page = write_similar([found], pair / "similar.html").read_text(encoding="utf-8")
    assert "do not treat them as proof" in page
    assert page.count("<mark>") >= 8
    assert "<b>" not in page and "http:" not in page and "https:" not in page


def test_a_pair_has_no_names_if_they_are_hidden(pair: Path) -> None:
    from autograder.operations.grades import DisplayOptions

    (found,) = autograder.similar(pair, DisplayOptions(is_anonymous=True), course=pair.parent)
    assert {found.left.student, found.right.student} <= {"Student 1", "Student 2", "Student 3"}


def test_cells_given_in_a_notebook_are_not_a_pair(pair: Path) -> None:
    given = COPIED.replace("causal_mask", "_helper_of_the_notebook")
    cells = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": []}
        for text in (given, "def causal_mask(size):\n    return size")
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for student in ("ada", "ben"):
        place = pair / "submitted" / student / "masks"
        (place / "masking.py").write_text(given + "\n\ndef causal_mask(size):\n    return size\n")
    assert autograder.similar(pair, course=pair.parent)
    (pair.parent / "assignments/masks/masking.ipynb").write_text(json.dumps(document))
    assert not autograder.similar(pair, course=pair.parent)
