"""Runs the fork server, which loads torch only once, and forks itself for each worker.

`sandbox.fork_server` starts the fork server, in bubblewrap for tiers A and B. The fork server
stores only requests to workers, which every worker may see. A student's code is sent directly to a
worker and never to the fork server, so that other workers can't find the code.
"""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import socket
import sys
from collections.abc import Sequence

import torch

from . import code_pages, confine, heap, landlock, seccomp, warming
from .forking import CHANNEL, Forking, Operations

#: a worker's process id in its own pid namespace
_FIRST_PID = 1


def main() -> None:
    """Loads torch, and forks workers until the grader closes the connection.

    The only argument is the descriptor of a file with the settings. Workers inherit this process's
    stack frames, so no frame may contain the settings.
    """
    _prepared(int(sys.argv.pop())).run()


def _prepared(descriptor: int) -> Forking:
    """Loads everything that workers need; returns the object that forks the workers."""
    with open(descriptor, "rb") as file:
        file.seek(0)
        settings = json.load(file)
    sys.orig_argv.clear()  # workers must not see paths of this machine
    control = socket.socket(fileno=settings["control"])
    torch.set_num_threads(1)
    sys.stdout = _printed(1)
    if not settings["notebooks"] or "torch" in settings["modules"]:
        warming.warm(settings["modules"], settings["second_device"], settings["many_workers"])
        if settings["many_workers"]:
            code_pages.use_huge_pages(lambda: warming.use(settings["second_device"], True))
    others = _notebook(settings["modules"]) if settings["notebooks"] else {}
    # Make the rules as the original user, because `nobody` can't even see some of the paths.
    rules = _above_channel(
        landlock.ruleset(settings["readable"], settings["listable"], ["/dev/null"])
    )
    _become_nobody()
    seccomp.filter_of(seccomp.MACHINE, _FIRST_PID)
    namespaces = confine.pid_namespaces() if settings["own_namespaces"] else None
    confine.hide()
    confine.ignore_signals()
    # Freeze even garbage, because collecting it would cost more than keeping it
    # (benchmarks/tricks.py).
    gc.freeze()
    if settings["many_workers"]:
        heap.use_huge_pages()
    gc.enable()
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the fork server has several threads, so its forks may hang")
    control.send(b"R")
    return Forking(control, namespaces, rules, settings["kept"], others)


class _Pipe(io.FileIO):
    """A file that claims to be a pipe, because the workers' standard output will be a pipe."""

    def seekable(self) -> bool:
        """Returns False; otherwise, a text stream could not change its encoding."""
        return False


def _printed(descriptor: int) -> io.TextIOWrapper:
    """Returns the standard output for all workers, with the encoding that Python has chosen."""
    raw = _Pipe(descriptor, "w", closefd=False)
    writer = io.BufferedWriter(raw)
    return io.TextIOWrapper(writer, sys.stdout.encoding, sys.stdout.errors)


def _become_nobody() -> None:
    """Becomes the user `nobody` if this process runs as root."""
    if os.getuid() == 0:
        confine.empty_bounding_set()
        os.setgroups([])
        os.setresgid(confine.NOBODY, confine.NOBODY, confine.NOBODY)
        os.setresuid(confine.NOBODY, confine.NOBODY, confine.NOBODY)


def _notebook(modules: Sequence[str]) -> Operations:
    """Returns the operations on a notebook; IPython is imported only if notebooks are run."""
    from . import notebook_shell

    return notebook_shell.Notebook(modules).operations


def _above_channel(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, CHANNEL + 1)
    os.close(descriptor)
    return moved
