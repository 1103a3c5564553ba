"""Operations are also denied if an ordinary user or a plain container runs the grader."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
import torch

from autograder.records import Tier
from autograder.results.file import read_results

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PACKAGES = Path(torch.__file__).resolve().parents[1]
USER = "1001"
#: a run has tested the sandbox only if it counts more denied operations than this
MANY = 30
ENVIRONMENT = ["env", "-i", "PATH=/usr/bin:/bin", f"PYTHONPATH={PACKAGES}:{ROOT}"]
#: the prefix that runs a command as this user, for which we must be root
ORDINARY_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *ENVIRONMENT]
#: the prefix that runs a command as in an unprivileged container, with one user and no namespaces
CONTAINER = [
    *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--disable-userns"),
    *("--uid", USER, "--gid", USER, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *("--tmpfs", "/tmp", "--ro-bind", str(ROOT), str(ROOT), "--", *ENVIRONMENT),
]
_EXAMINE = """
import sys
from autograder.records import Tier
from autograder.sandbox.doctor import examine
for tier in sys.argv[1:]:
    finding = examine(Tier(tier))
    print(finding.works, *finding.reason.split())
"""
#: checks that Python can load torch's compiled modules; loading torch itself takes long
_USES_PACKAGES = """
import sys, sysconfig, pytest, autograder
from pathlib import Path
(compiled,) = Path(sys.argv[1], "torch").glob("_C.*.so")
assert compiled.name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))
assert compiled.open("rb").read(1)
"""


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@cache
def _python(*grader: str) -> str:
    """Returns a Python interpreter with torch that this grader may run, or skips the test."""
    if grader[0] == "setpriv" and os.getuid() != 0:
        pytest.skip("only root becomes another user; this run is an ordinary user's itself")
    if shutil.which(grader[0]) is None:
        pytest.skip(f"{grader[0]} is not installed")
    tried = ""
    for python in (sys.executable, "/usr/bin/python3"):
        run = _run([*grader, python, "-c", _USES_PACKAGES, str(PACKAGES)])
        if run.returncode == 0:
            return python
        tried += f"{python}: {run.stderr[-200:]}\n"
    pytest.skip(f"no Python that this grader may use:\n{tried}")


@cache
def _doors(*grader: str) -> str:
    """Returns the outcome of each test of denied operations; fails if an operation is allowed."""
    python = _python(*grader)
    tiers = "tier_C" if grader[0] == "bwrap" else "tier_A or tier_B or tier_C"
    module = str(HERE / "test_doors.py")
    run = _run([*grader, python, "-B", "-m", "pytest", "-v", "-k", tiers, module])
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    return run.stdout


def _shut_doors(grader: list[str], tier: Tier) -> int:
    """Returns the number of denied operations; fails if one is allowed."""
    outcomes = re.findall(rf"\[tier_{tier}\b.* (PASSED|SKIPPED)", _doors(*grader))
    if "SKIPPED" in outcomes:
        pytest.skip(f"this grader does not have tier {tier}")
    return len(outcomes)


@pytest.mark.parametrize("tier", [Tier.A, Tier.B, Tier.C])
def test_operations_are_refused_if_an_ordinary_user_grades(tier: Tier) -> None:
    assert _shut_doors(ORDINARY_USER, tier) > MANY


def test_operations_are_refused_in_a_container() -> None:
    assert _shut_doors(CONTAINER, Tier.C) > MANY


def test_a_container_says_why_it_gives_no_namespaces() -> None:
    python = _python(*CONTAINER)
    run = _run([*CONTAINER, python, "-B", "-c", _EXAMINE, Tier.A, Tier.B])
    reasons = run.stdout.splitlines()
    assert len(reasons) == 2, run.stderr
    for reason in reasons:
        assert reason.startswith("False") and "namespace" in reason


def test_a_class_is_graded_while_one_answer_hangs() -> None:
    """In tier C, every ordinary user can grade a class, record it, and write pages and a report."""
    python, home = _python(*ORDINARY_USER), Path(tempfile.mkdtemp(prefix="class-"))
    answers = {"ada": "pass", "mal": "time.sleep(10**6)", "zoe": "pass"}
    for student, line in answers.items():
        place = home / "submitted" / student / "simplified_attention"
        place.mkdir(parents=True)
        text = f"def query_scores(inputs, query):\n    {line}\n    return inputs @ query\n"
        (place / "scores.py").write_text(f"import time\n{text}")
    for path in [home, *home.rglob("*")]:
        os.chown(path, int(USER), int(USER))
    try:
        grade = ["grade", "submitted", "--course", str(ROOT), "--tier", "C"]
        feedback, report = ["feedback", ".", "--course", str(ROOT)], ["report", "."]
        run = subprocess.run(
            [*ORDINARY_USER, f"HOME={home}", python, "-B", str(ROOT / "tools" / "in_turn.py"),
             *grade, "+", *feedback, "+", *report],
            cwd=home, capture_output=True, text=True,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        results = {r.student: r for r in read_results(home / "results.jsonl")}
        scores = {student: result.score for student, result in results.items()}
        assert scores["ada"] == scores["zoe"] > scores["mal"] == 0
        pages = {
            path.relative_to(home / "feedback").parts[0] for path in home.rglob("feedback.html")
        }
        assert pages == set(answers) and (home / "report.html").is_file()
        with contextlib.closing(sqlite3.connect(home / "gradebook.db")) as database:
            rows = database.execute("select student_id from submitted_assignment").fetchall()
        assert {student for (student,) in rows} == set(answers)
    finally:
        shutil.rmtree(home)


def test_nothing_runs_without_a_tier() -> None:
    from autograder.errors import SandboxError
    from autograder.sandbox import ForkServer

    with pytest.raises(SandboxError, match="does not run without an isolation tier"):
        ForkServer(Tier.NONE)


def test_a_low_limit_is_named_instead_of_a_tiers_remedy() -> None:
    code = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n{_EXAMINE}"
    run = _run([sys.executable, "-B", "-c", f"{code}print('remedy:', finding.remedy)", "C"])
    assert run.stdout.startswith("False"), run.stdout + run.stderr
    assert "ulimit -n) of 64; the grader was started with 40" in run.stdout
    assert "fix: " in run.stdout
    assert "Traceback" not in run.stdout
    assert run.stdout.rstrip().endswith("remedy:")
