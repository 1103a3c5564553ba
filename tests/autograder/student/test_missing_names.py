"""A NameError in a notebook is followed by advice: which cell to run, or which name was meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.student.missing_names import explain_missing_names

ASKED = "Run > Run All Above Selected Cell"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """Yields the shell of a new kernel, in a folder with a notebook."""
    cell = {"cell_type": "code", "metadata": {}, "source": "import math\nhalf = math.pi / 2"}
    (tmp_path / "scores.ipynb").write_text(json.dumps({"cells": [cell]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(history_length=0)
    explain_missing_names()
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("name", "explanation"),
    [("half", ASKED), ("math", ASKED), ("hlaf", "did you mean `half`?"), ("other", "")],
)
def test_a_name_of_a_cell_above_says_what_to_run(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], name: str, explanation: str
) -> None:
    result = shell.run_cell(f"2 * {name}")
    output = capsys.readouterr().out
    assert isinstance(result.error_in_exec, NameError)
    assert f"name '{name}' is not defined" in output
    assert explanation in output
    assert ("○" in output) == bool(explanation)


def test_a_cell_explains_missing_names_before_the_package_is_imported() -> None:
    for path in sorted((Path(__file__).parents[3] / "assignments").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert len(sources) > 5
        assert all(ASKED in text or "from autograder." in text for text in sources)
