"""Runs a student's commands in separate terminals, each in a forked child of a warm process.

Reads `{name: {"command": [...], "environment": {...}, "columns": n, "keys": [[after, key], ...]}}`
as JSON from stdin, and writes the output of each terminal to stdout. A key that is pressed as soon
as the program has printed the text `after`.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from typing import Any

import rich.console  # noqa: F401  # imported before the forks, like torch
import torch

import autograder.student.folder  # noqa: F401

_LINES, _MOST_SECONDS = 40, 30.0


def run(task: dict[str, Any]) -> str:
    """Returns everything that the command writes to the terminal."""
    process, terminal = pty.fork()
    if process == 0:
        _command(task)
    size = struct.pack("HHHH", _LINES, task["columns"], 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    got, seen, keys = b"", 0, list(task.get("keys", []))
    end = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            got += os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        if keys and keys[0][0].encode() in got[seen:]:
            seen = len(got)
            os.write(terminal, keys.pop(0)[1].encode())
    else:
        os.kill(process, signal.SIGKILL)
    os.close(terminal)
    os.waitpid(process, 0)
    encoding = task["environment"].get("PYTHONIOENCODING", "utf-8")
    return got.decode(encoding).replace("\r\n", "\n")


def _command(task: dict[str, Any]) -> None:
    """Runs the command in the child, as in a new process with the task's environment."""
    os.environ.update(task["environment"])
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    for name in ("stdin", "stdout", "stderr"):
        getattr(sys, name).reconfigure(encoding=encoding)
    # wait until the parent has set the size
    while os.get_terminal_size().columns != task["columns"]:
        time.sleep(0.01)
    sys.argv = ["autograder", *task["command"]]
    code = 70
    try:
        from autograder.cli import main

        main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM"):
        os.environ.pop(variable, None)
    tasks = json.load(sys.stdin)
    json.dump({name: run(task) for name, task in tasks.items()}, sys.stdout)
