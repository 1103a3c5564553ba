"""Runs nbgrader's and our commands in forks of the test process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from nbgrader.apps import nbgraderapp

from autograder import cli
from autograder.nbgrader import apart

from ..forks import Main, run_forked

MAINS: Mapping[str, Main] = {"autograder": cli.main, "nbgrader": nbgraderapp.main}


def run_command(
    words: Sequence[object],
    folder: Path,
    environment: Mapping[str, str],
    main: Main | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs `autograder`, `nbgrader` or another main function; returns its status and output."""
    work = partial(_graded_in_a_fork, main or MAINS[str(words[0])])
    return run_forked(work, words, folder, environment)


def _graded_in_a_fork(main: Main) -> object:
    """Runs a command whose grading needs no new process that imports everything again."""
    vars(apart)["subprocess"] = SimpleNamespace(run=_grade, DEVNULL=None)
    return main()


def _grade(command: Sequence[str], **settings: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the command of `apart` in a fork."""
    done = run_forked(partial(apart.main, command[-1]), ["apart"], Path.cwd(), os.environ)
    return subprocess.CompletedProcess(
        command, done.returncode, done.stdout.encode(), done.stderr.encode()
    )
