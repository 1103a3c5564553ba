"""The shards of the Slurm and Kubernetes templates run as on a cluster, and can be merged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

import autograder
from autograder.results.file import read_results

ROOT = Path(__file__).resolve().parents[3]
CLUSTER = ROOT / "examples" / "cluster"
ASSIGNMENT = "simplified_attention"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a class with one gradable submission and one that a person has to look at."""
    place = tmp_path / "course"
    shutil.copytree(ROOT / "solutions" / ASSIGNMENT, place / "submitted" / "ada" / ASSIGNMENT)
    (place / "submitted" / "ada" / "causal_attention").mkdir()
    (place / "due.csv").write_text("assignment,section,date\ncausal_attention,,01.02.2027\n")
    return place


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"CLASS": str(folder), "COURSE": str(ROOT), "PATH": path}
    done = subprocess.run(
        command, env={**os.environ, **environment, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def _merged(folder: Path, parts: int) -> tuple[str, bool]:
    """Merges the shards; returns the only result's student, and whether they got all points."""
    shards = sorted((folder / "shards").glob("*.jsonl"))
    assert len(shards) == parts
    sizes = [len(read_results(shard)) for shard in shards]
    assert sorted(sizes) == [0] * (parts - 1) + [1]
    autograder.merge(shards, folder / "results.jsonl")
    (line,) = read_results(folder / "results.jsonl")
    return line.student, line.score == line.max_score


def test_tasks_of_a_slurm_array_grade_a_class_in_parts(folder: Path) -> None:
    parts = 3
    for task in range(parts):
        array = {"SLURM_ARRAY_TASK_ID": str(task + 5), "SLURM_ARRAY_TASK_MIN": "5"}
        count = {"SLURM_ARRAY_TASK_COUNT": str(parts)}
        _run(["bash", str(CLUSTER / "slurm.sh")], folder, array | count)
    assert _merged(folder, parts) == ("ada", True)


def test_pods_of_an_indexed_job_grade_a_class_in_parts(folder: Path) -> None:
    job = yaml.safe_load((CLUSTER / "kubernetes.yaml").read_text(encoding="utf-8"))
    assert (job["kind"], job["spec"]["completionMode"]) == ("Job", "Indexed")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert variables["SHARDS"] == str(job["spec"]["completions"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert all(any(variables[name].startswith(m) for m in mounts) for name in ("CLASS", "COURSE"))
    parts = 2
    for index in range(parts):
        _run(
            [*container["command"], *container["args"]],
            folder,
            {**variables, "SHARDS": str(parts), "JOB_COMPLETION_INDEX": str(index)},
        )
    assert _merged(folder, parts) == ("ada", True)
