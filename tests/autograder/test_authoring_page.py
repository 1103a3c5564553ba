"""docs/authoring.md works as an author types it, from an empty folder to grades."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import cli
from autograder.errors import ContentError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A course of your own")[2].partition("\n## ")[0]
BEGIN, END = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
FILE = re.compile(
    r"^(?P<fence>`{3,4})(?:python|toml|markdown)\n(?:# |<!-- )(?P<path>[\w/.]+\.\w+)(?: -->)?\n"
    r"(?P<text>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


def files() -> Iterator[tuple[str, str]]:
    """Yields the path and text of each file on the page, in order."""
    for found in FILE.finditer(SECTION):
        yield found["path"], found["text"]


def call(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    if done.exception:
        raise done.exception
    assert done.return_value == 0, done.output
    return done.output


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns an empty working folder that belongs to no course."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_validate_lists_remaining_work_in_the_order_of_the_page(place: Path) -> None:
    for line in BEGIN.splitlines():
        call(*line.split()[1:])
    reported = []
    for path, text in files():
        with pytest.raises(ContentError, match="to do") as error:
            call("validate")
        reported.append(error.value.path.relative_to(place).as_posix())
        (place / reported[-1]).write_text(dict(files())[reported[-1]])
        assert (place / path).is_file(), text
    assert sorted(reported) == sorted(path for path, _ in files())
    assert not [path for path in place.rglob("*.*") if "TO DO" in path.read_text()]


def test_the_course_is_released_graded_and_exported(place: Path, fork_server: object) -> None:
    for line in BEGIN.splitlines():
        call(*line.split()[1:])
    for path, text in files():
        (place / path).write_text(text, encoding="utf-8")
    for line in END.splitlines():
        if line.startswith("autograder "):
            call(*line.split()[1:])
        else:
            subprocess.run(["bash", "-euc", line], check=True)
    with (place / "course" / "grades.csv").open(encoding="utf-8") as file:
        totals = {row["student"]: row["caesar/total"] for row in csv.DictReader(file)}
    assert totals == {"ada": "10.0", "bruno": "2.0"}
    lines = (place / "course" / "results.jsonl").read_text().splitlines()
    bruno = next(line for line in map(json.loads, lines) if line["student"] == "bruno")
    assert bruno["exercises"][0]["questions"][0]["misconception"] == "shift.past_the_end"
    assert (place / "dist" / "caesar.zip").stat().st_size > 10_000
