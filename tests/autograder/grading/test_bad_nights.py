"""Unusual paths, locales, home folders and settings do not change grades."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

from autograder.records import Tier
from autograder.results.file import read_results

from ..tiers import without_tier

ROOT = Path(__file__).resolve().parents[3]
ASSIGNMENT = "simplified_attention"
_PLACES = {
    "spaces and a line's end": "a class\nof 2026",
    "umlauts and no letters": "\u00fcbung \u6ce8\u610f \U0001f600",
    "long": "x" * 200,
    "no text at all": os.fsdecode(b"\xff\xfe\xfd"),
    "markup": "[red]<b>*'\"$(touch ran)%s{0}",
}
#: environments in which grading is started
_NIGHTS = {
    "no home, no locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "a home that is not there": {"HOME": "/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"},
    "settings of everything": {
        "PYTEST_ADDOPTS": "-k nothing", "PYTEST_PLUGINS": "nothing", "OMP_NUM_THREADS": "banana",
        "PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "GIT_DIR": "/nowhere", "LANG": "xx_YY",
        "TORCH_LOGS": "nothing",  # makes importing torch fail
    },
}  # fmt: skip


#: each place with one environment and one tier, because tiers access files in different ways
_CASES = list(zip(_PLACES, cycle(_NIGHTS), cycle((Tier.A, Tier.C, Tier.B)), strict=False))


@pytest.mark.parametrize(
    ("place", "night", "tier"),
    [(_PLACES[place], _NIGHTS[night], tier) for place, night, tier in _CASES],
    ids=[f"{place}, {night}, {tier}" for place, night, tier in _CASES],
)
def test_a_right_answer_keeps_its_points_anywhere_and_anytime(
    tmp_path: Path, place: str, night: dict[str, str], tier: Tier
) -> None:
    home = tmp_path / place
    folder = home / "submitted" / "ada" / ASSIGNMENT
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / ASSIGNMENT / "scores.py", folder)
    command = [sys.executable, "-m", "autograder", "grade", "submitted", "--course", str(ROOT)]
    run = subprocess.run(
        [*command, "--no-gradebook", "--tier", tier.value],
        cwd=home, env={"PATH": "/usr/bin:/bin", **night},
        capture_output=True,
    )  # fmt: skip
    if b"no isolation on this machine" in run.stderr:
        without_tier(tier, run.stderr.decode(errors="replace"))
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(home / "results.jsonl")
    scores = {e.exercise: (e.score, e.max_score) for e in result.exercises}["scores"]
    assert scores[0] == scores[1]
    assert sorted(path.name for path in home.iterdir()) == [
        "results.jsonl", "secret.key", "submitted",
    ]  # fmt: skip
