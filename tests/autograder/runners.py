"""Runs a separate Python process that receives tasks and returns their output as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run_tasks(
    arguments: Sequence[str], tasks: object, folder: Path, *, finds_autograder: bool = True
) -> Any:
    """Returns the JSON output of a Python process; raises RuntimeError with its error output."""
    found = {"PYTHONPATH": str(ROOT)} if finds_autograder else {}
    done = subprocess.run(
        [sys.executable, *arguments],
        input=json.dumps(tasks),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **found},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)
