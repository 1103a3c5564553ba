"""The grader continues even if a file ends or blocks the process that reads it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import GraderError, SubmissionError
from autograder.submission import bounded, module_of_notebook, opened
from autograder.submission.bounded import BoundedReader
from autograder.submission.code import read_code
from autograder.submission.opened import MAX_CODE


def _obey(what: str) -> str:
    if what == "compute":
        while True:
            pass
    if what == "allocate":
        return str(len(bytes(3 << 30)))  # these zeros take no memory until they are read
    if what == "wait":
        signal.pause()
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "talk":
        return "x" * 2_000
    if what == "refuse":
        raise SubmissionError("is no good")
    if what == "break":
        raise ZeroDivisionError
    return what


@pytest.fixture
def patience() -> Iterator[None]:
    """Makes a test fail after a minute, in case a reader never ends."""

    def stop(*_: object) -> None:
        pytest.fail("the reader was not ended")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("what", ["compute", "allocate", "wait", "die", "talk", "refuse"])
def test_a_reader_that_uses_too_much_costs_only_its_file(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "_CPU_SECONDS", 0)
    monkeypatch.setattr(bounded, "_MOST_TEXT", 1_000)
    with BoundedReader(_obey) as read:
        assert read("before") == "before"
        if what == "wait":
            monkeypatch.setattr(bounded, "_WALL_SECONDS", 0.1)
        with pytest.raises(SubmissionError):
            read(what)
        monkeypatch.setattr(bounded, "_WALL_SECONDS", 60)
        assert read("after \ud800") == "after ?"


def test_a_fault_of_the_reader_is_reported_as_one() -> None:
    with BoundedReader(_obey) as read, pytest.raises(GraderError, match="ZeroDivisionError"):
        read("break")


@pytest.mark.parametrize(
    ("check", "argument"),
    [
        (opened.check_code, ["a\n" * 150_000]),
        (opened.check_code, ["a\r" * 150_000]),  # Python also ends lines at \r
        (opened.check_code, ["f'" + "{" * 250_000]),
        (opened.check_code, ["def f(): 0\n" * 6_000]),
        (opened.check_code, ["#" * (MAX_CODE + 1)]),
        (opened.check_cells, 20_001),
    ],
    ids=["words", "old_lines", "braces", "functions", "bytes", "cells"],
)
def test_more_code_than_people_write_is_refused(
    check: Callable[[Any], None], argument: Any
) -> None:
    with pytest.raises(SubmissionError, match="contains more than"):
        check(argument)


def test_a_notebook_that_needs_much_memory_is_refused() -> None:
    with pytest.raises(SubmissionError, match="takes too much memory to read"):
        opened.check_json(b"", "{" * (5 << 20))


#: files that once delayed a whole class
HOSTILE = {
    "spaces": " " * 200_000 + "(",
    "statements": "a\n" * 1_000_000,
    "magic": "%a\n" * 200 + "x = x\n" * 20_000,
    "newlines": "\n" * 40_000,
    "names": "def f(): 0\n" * 4_900,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_grading_and_pages_read_a_file_in_the_same_way(name: str, tmp_path: Path) -> None:
    cells = [
        {"cell_type": kind, "source": text}
        for kind, text in (("code", HOSTILE[name]), ("markdown", HOSTILE[name]))
    ]
    path = tmp_path / "e.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    try:
        module_of_notebook(path.read_bytes(), ["f"])
    except SubmissionError as error:
        problem = f"e.ipynb {error}"
        assert read_code(tmp_path, path.name).problem == problem
    else:
        assert read_code(tmp_path, path.name).problem is None


def test_a_large_notebook_of_an_honest_student_is_read() -> None:
    lines = "\n".join(
        f"x{i} = [number * {i} for number in range(3)]  # step {i}" for i in range(40)
    )
    cells: list[dict[str, Any]] = [{"cell_type": "code", "source": lines} for _ in range(200)]
    picture = {"output_type": "display_data", "data": {"image/png": "A" * (30 << 20)}}
    cells.append({"cell_type": "code", "source": "def f(): return 1", "outputs": [picture]})
    assert "def f()" in module_of_notebook(json.dumps({"cells": cells}).encode(), ["f"]).text


def test_a_module_of_a_megabyte_is_within_the_bounds(tmp_path: Path) -> None:
    text = (
        "def f():\n"
        + "    # a comment of an ordinary length stands here\n" * 20_000
        + "    return 1"
    )
    assert 1_000_000 < len(text) < MAX_CODE
    (tmp_path / "e.py").write_text(text)
    assert "f" in read_code(tmp_path, "e.py").definitions


@pytest.mark.parametrize("kind", ["reader", "jobs"])
def test_a_memory_limit_that_is_too_low_names_its_remedy(kind: str) -> None:
    start = {
        "reader": "BoundedReader(str)('x')",
        "jobs": "Watch.require()",
    }[kind]
    code = (
        "import resource\n"
        "from autograder.errors import UserError\n"
        "from autograder.grading.watch import Watch\n"
        "from autograder.submission.bounded import BoundedReader\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2)\n"
        f"try:\n    {start}\nexcept UserError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "kB of memory (ulimit -v); the grader was started with" in run.stdout
    assert "fix: start it without this limit" in run.stdout
    assert "Traceback" not in run.stderr
