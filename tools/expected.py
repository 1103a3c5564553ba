"""Writes down what the example class earns: examples/expected.json, from a grading of today.

    python tools/expected.py [--jobs 2]

Prints each question whose score or verdict is another than before, so that it can be judged.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXPECTED = ROOT / "examples" / "expected.json"
#: student, assignment, exercise, question: score and verdict
Scores = dict[str, dict[str, dict[str, dict[str, list[Any]]]]]


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    before: Scores = json.loads(EXPECTED.read_text(encoding="utf-8"))
    after = _graded(options.jobs)
    for line in _changes(before, after):
        print(line)
    EXPECTED.write_text(_text(after), encoding="utf-8")
    return 0


def _graded(jobs: int) -> Scores:
    with tempfile.TemporaryDirectory() as folder:
        submitted = Path(folder) / "submitted"
        shutil.copytree(ROOT / "examples" / "submitted", submitted)
        command = ["-m", "autograder", "grade", str(submitted), "--jobs", str(jobs)]
        subprocess.run([sys.executable, *command, "--course", str(ROOT)], check=True, cwd=ROOT)
        lines = (Path(folder) / "results.jsonl").read_text(encoding="utf-8").splitlines()
    scores: Scores = {}
    for result in sorted(map(json.loads, lines), key=lambda r: (r["student"], r["assignment"])):
        scores.setdefault(result["student"], {})[result["assignment"]] = {
            exercise["exercise"]: {
                q["question"]: [q["score"], q["verdict"]] for q in exercise["questions"]
            }
            for exercise in result["exercises"]
        }
    return scores


def _changes(before: Scores, after: Scores) -> Iterator[str]:
    old, new = dict(_flat(before)), dict(_flat(after))
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield f"{key}: was {old.get(key)}, is {new.get(key)}"


def _flat(tree: Mapping[str, Any], names: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = f"{names}/{name}" if names else name
        if isinstance(value, dict):
            yield from _flat(value, path)
        else:
            yield path, value


def _text(scores: Scores) -> str:
    """One line for each exercise, so that a change is easy to see."""
    students = []
    for student, work in scores.items():
        assignments = []
        for assignment, exercises in work.items():
            rows = [f"   {json.dumps(name)}: {json.dumps(q)}" for name, q in exercises.items()]
            assignments.append(f"  {json.dumps(assignment)}: {{\n" + ",\n".join(rows) + "\n  }")
        students.append(f" {json.dumps(student)}: {{\n" + ",\n".join(assignments) + "\n }")
    return "{\n" + ",\n".join(students) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
