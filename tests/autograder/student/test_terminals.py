"""Commands work in real terminals, even narrow or plain ones; `watch` reads keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring import release
from autograder.course import load_course

from ..authoring.conftest import SMALL_COURSE
from ..runners import run_tasks

RUNNER = Path(__file__).with_name("terminal_runs.py")
CHECK = ["check", "half"]
ANSWER = """\
def half(x):
    print("größe → ≤ 5")
    return x
"""
#: the expected output of `autograder check half`
WIDE = """\
halves (halves.py)
  ✗ half: something to fix (0 of 1 checks passed)
    ✗ half of six
        half(6.0):
"""
PLAIN = WIDE.replace("✗", "x")
#: the beginnings of lines that are never wrapped, because students compare or copy them
WHOLE = ("got  ", "expected  ", "to try it: ", "at  ", "half(")


def task(
    command: list[str] = CHECK, columns: int = 100, keys: Any = (), **environment: str
) -> dict[str, Any]:
    variables = {"TERM": "xterm", **environment}
    return {"command": command, "columns": columns, "keys": keys, "environment": variables}


@pytest.fixture(scope="module")
def terminals(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Returns the output of each terminal, keyed by name."""
    import shutil
    import zipfile

    root = Path(shutil.copytree(SMALL_COURSE, tmp_path_factory.mktemp("terminals") / "small"))
    wheel = root / "attention_autograder-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("autograder/__init__.py", "")
    release(load_course(root), wheel=wheel)
    folder = root / "assignments" / "basics"
    (folder / "halves.py").write_text(ANSWER, encoding="utf-8")
    asked, quits = ["q quit", "h"], [["[sums]", "n"], ["q quit", "q"]]
    tasks = {
        "wide": task(),
        "no color": task(NO_COLOR="1"),
        "dumb": task(TERM="dumb"),
        "plain": task([*CHECK, "--plain"]),
        "cp1252": task(PYTHONIOENCODING="cp1252"),
        "ascii": task(PYTHONIOENCODING="ascii"),
        "narrow": task(columns=40),
        "narrow status": task(["status"], columns=40),
        "watch": task(["watch"], keys=[asked, ["hint 1 of", "l"], *quits], columns=80),
    }
    found: dict[str, str] = run_tasks([str(RUNNER)], tasks, folder)
    return found


def test_a_terminal_gets_colours_and_signs(terminals: Mapping[str, str]) -> None:
    output = terminals["wide"]
    assert "\x1b[31m" in output
    assert re.sub(r"\x1b\[\d*m", "", output).startswith(WIDE)
    assert "größe → ≤ 5" in output


@pytest.mark.parametrize(
    ("name", "starts", "printed"),
    [
        ("no color", WIDE, "größe → ≤ 5"),
        ("dumb", WIDE, "größe → ≤ 5"),
        ("plain", PLAIN, "größe → ≤ 5"),
    ],
)
def test_no_escape_is_sent_where_none_is_wanted(
    terminals: Mapping[str, str], name: str, starts: str, printed: str
) -> None:
    assert terminals[name].startswith(starts)
    assert printed in terminals[name]
    assert "\x1b" not in terminals[name]


@pytest.mark.parametrize(
    ("name", "printed"),
    [("cp1252", "größe ? ? 5"), ("ascii", "gr??e ? ? 5")],
)
def test_a_stream_that_lacks_a_sign_shows_another(
    terminals: Mapping[str, str], name: str, printed: str
) -> None:
    output = re.sub(r"\x1b\[\d*m", "", terminals[name])
    assert output.startswith(PLAIN)
    assert printed in output
    assert "Traceback" not in output


@pytest.mark.parametrize("name", ["narrow", "narrow status"])
def test_a_narrow_terminal_gets_short_lines(terminals: Mapping[str, str], name: str) -> None:
    lines = [line.strip("\n") for line in re.sub(r"\x1b\[\d*m", "", terminals[name]).splitlines()]
    long = [line for line in lines if len(line) > 40 and not line.strip().startswith(WHOLE)]
    assert not long
    assert len(lines) > 5


def test_watch_shows_what_runs_and_does_what_keys_ask(terminals: Mapping[str, str]) -> None:
    output = re.sub(r"\x1b\[[\dA-Z]*[mHJ]", "", terminals["watch"])
    running, shown, *_ = output.split("✗ half: something to fix")
    assert "running half ... (at most 10 s per check)" in running
    assert "Save a file to check it again.   h hint   n next   l list   q quit" in shown
    assert "half, hint 1 of" in output
    assert "[halves]" in output
    assert "○ plus_one: not implemented yet" in output.rpartition("[sums]")[2]
