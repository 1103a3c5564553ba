"""Runs nbgrader's and our commands in forks of the test process.

Starting Python and importing nbgrader and torch takes two CPU seconds, and is the same each time.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import torch
from nbgrader.apps import nbgraderapp

from autograder import cli
from autograder.nbgrader import apart

Main = Callable[[], object]
MAINS: Mapping[str, Main] = {"autograder": cli.main, "nbgrader": nbgraderapp.main}


def run_forked(
    words: Sequence[object],
    folder: Path,
    environment: Mapping[str, str],
    main: Main | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs `autograder`, `nbgrader` or another main function; returns its status and output."""
    argv = [str(word) for word in words]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            _become(main or MAINS[argv[0]], argv, folder, environment)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(argv, status, output.read(), errors.read())


def _become(main: Main, argv: list[str], folder: Path, environment: Mapping[str, str]) -> NoReturn:
    """Runs a main function in this process, which is a fork, and ends the process."""
    code = 1
    try:
        atexit._clear()  # pytest's own functions
        torch.set_num_threads(1)  # because a fork does not copy threads
        warnings.simplefilter("ignore")
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - used until this process ends
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = argv
        # a process of its own, as in `apart`, but without importing everything again
        vars(apart)["subprocess"] = SimpleNamespace(run=_grade, DEVNULL=None)
        code = int(main() or 0)  # type: ignore[call-overload]
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _grade(command: Sequence[str], **settings: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the command of `apart` in a fork."""
    request = command[-1]
    done = run_forked(["apart"], Path.cwd(), dict(os.environ), lambda: apart.main(request))
    return subprocess.CompletedProcess(
        command, done.returncode, done.stdout.encode(), done.stderr.encode()
    )
