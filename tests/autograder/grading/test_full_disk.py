"""If the disk is full, each stage says so, leaves only complete files, and can be repeated.

A limit on file sizes imitates a full disk, because a write beyond the limit fails in the same way.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.cli import main
from autograder.course import Course
from autograder.sandbox import ForkServer

from .conftest import ASSIGNMENT, ROOT, ClassFolder

WRONG = "def query_scores(inputs, query):\n    return inputs + 1\n"
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def graded(
    tmp_path_factory: pytest.TempPathFactory, course: Course, fork_server: ForkServer
) -> Path:
    """Returns a class folder with submissions and results, but no output made from them."""
    place = tmp_path_factory.mktemp("class")
    a_class = ClassFolder(place, course, fork_server)
    a_class.submit("ada")
    a_class.submit("bob", scores=WRONG)
    a_class.grade()
    return place


@pytest.fixture
def home(graded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(graded, tmp_path / "class")


def called(*arguments: str, limit: int | None = None) -> tuple[int, str]:
    """Runs a command in a fork with a limit on file sizes; returns its exit code and output."""
    near, far = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            for number in (1, 2):
                os.dup2(far, number)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115 - ends with the fork
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            sys.argv = ["autograder", *arguments]
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 71
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(code)
    os.close(far)
    with os.fdopen(near, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def files_in(home: Path) -> Files:
    """Returns the contents of all files except the submissions, by path."""
    own = (path for path in home.rglob("*") if path.is_file())
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in own
        if "submitted" not in path.parts
    }


def scores_in(home: Path) -> dict[str, float]:
    with contextlib.closing(sqlite3.connect(home / "gradebook.db")) as database:
        assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
        rows = database.execute(
            "select s.student_id, sum(coalesce(g.auto_score, 0)) from grade g"
            " join submitted_notebook n on g.notebook_id = n.id"
            " join submitted_assignment s on n.assignment_id = s.id group by s.student_id"
        ).fetchall()
    return dict(rows)


#: the arguments of each stage, given the class folder
STAGES: dict[str, Callable[[str], list[str]]] = {
    "record": lambda home: ["record", home, "--course", str(ROOT)],
    "feedback": lambda home: ["feedback", home, "--course", str(ROOT)],
    "report": lambda home: ["report", home],
    "export": lambda home: ["export", "csv", home],
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_full_disk_leaves_whole_files_to_be_completed(stage: str, home: Path) -> None:
    for name in ("report.html", "grades.csv", "feedback/ada/simplified_attention/feedback.html"):
        old = home / name
        old.parent.mkdir(parents=True, exist_ok=True)
        old.write_text("of last week")
    before = files_in(home)
    arguments = STAGES[stage](str(home))
    # a table of grades is smaller than all other output
    code, output = called(*arguments, limit=60 if stage == "export" else 3_000)
    assert code in (1, 2), output
    assert "Traceback" not in output
    assert "large" in output or "space" in output or "full" in output, "the message gives no reason"
    left = files_in(home)
    assert {name: left.get(name) for name in before} == before
    code, output = called(*arguments)
    assert code in (0, 3), output
    made = files_in(home)
    assert {name for name in made if made[name] != before.get(name)}
    assert not [name for name in made if ".writing" in name]
    for name in set(left) - set(before):
        assert name.startswith("gradebook.db") or left[name] == made[name], f"half of {name}"
    if stage == "record":
        (ada, bob) = (scores_in(home)[name] for name in ("ada", "bob"))
        assert ada > bob


def test_a_full_disk_collects_whole_submissions_or_none(tmp_path: Path) -> None:
    answer = "def softmax(scores, dim=-1):\n    return scores\n"
    for student in ("ada", "bob"):
        place = tmp_path / "download" / student / ASSIGNMENT
        place.mkdir(parents=True)
        (place / "scores.py").write_text(WRONG)
        (place / "softmax.py").write_text(f"{answer}{'# a comment' * 900}\n")
    home = tmp_path / "class"
    arguments = ["collect", str(tmp_path / "download"), "--into", str(home), "--course", str(ROOT)]
    code, output = called(*arguments, limit=5_000)
    assert code in (1, 2), output
    assert "Traceback" not in output
    assert not list(home.glob(f"submitted/*/{ASSIGNMENT}"))
    code, output = called(*arguments)
    assert code == 0, output
    for student in ("ada", "bob"):
        there, here = (
            place / student / ASSIGNMENT for place in (tmp_path / "download", home / "submitted")
        )
        for name in ("scores.py", "softmax.py"):
            assert (here / name).read_bytes() == (there / name).read_bytes()
