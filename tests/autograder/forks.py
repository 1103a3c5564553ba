"""Runs programs in forks of the test process, which has already imported torch.

Starting Python and importing torch takes two CPU seconds, and is the same each time.
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
from typing import NoReturn

import torch

Main = Callable[[], object]


def run_forked(
    main: Main,
    words: Sequence[object],
    folder: Path,
    environment: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    """Runs a main function with `words` as its `sys.argv`; returns its status and output."""
    argv = [str(word) for word in words]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            _become(main, argv, folder, dict(environment))
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
        status = main()
        code = status if isinstance(status, int) else 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
