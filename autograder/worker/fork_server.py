"""The fork server: torch is loaded once, and each worker is a fork of it.

Started by `sandbox.fork_server` inside bubblewrap. It holds what workers are asked, which each of
them sees anyway, and no answer; and it never sees a student's code: that goes straight from the
grader to the worker, which a later worker can't look into.
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

#: the number of a worker in a pid namespace of its own
_FIRST_PID = 1


def main() -> None:
    """Warms torch, and forks workers until the grader hangs up.

    Its one argument is the descriptor of a file with the settings. Workers have the frames that are
    left here, so nothing of the settings stands in them.
    """
    _prepared(int(sys.argv.pop())).run()


def _prepared(descriptor: int) -> Forking:
    """What forks workers, when all that they need is there."""
    with open(descriptor, "rb") as file:
        file.seek(0)
        settings = json.load(file)
    sys.orig_argv.clear()  # paths of this machine are no worker's business
    control = socket.socket(fileno=settings["control"])
    torch.set_num_threads(1)
    sys.stdout = _printed(1)
    if not settings["notebooks"] or "torch" in settings["modules"]:
        warming.warm(settings["modules"], settings["second_device"], settings["many_workers"])
        if settings["many_workers"]:
            code_pages.gather(lambda: warming.use(settings["second_device"], True))
    others = _notebook(settings["modules"]) if settings["notebooks"] else {}
    # as the user who started all this: nobody may not even look at some of these paths
    rules = _above_channel(
        landlock.ruleset(settings["readable"], settings["listable"], ["/dev/null"])
    )
    _become_nobody()
    seccomp.filter_of(seccomp.MACHINE, _FIRST_PID)
    namespaces = confine.pid_namespaces() if settings["own_namespaces"] else None
    confine.hide()
    confine.ignore_signals()
    # with what garbage there is: looking for it takes longer than it ever costs
    # (benchmarks/tricks.py)
    gc.freeze()
    if settings["many_workers"]:
        heap.gather()
    gc.enable()
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the fork server must have one thread: forks of more may hang")
    control.send(b"R")
    return Forking(control, namespaces, rules, settings["kept"], others)


class _Pipe(io.FileIO):
    """What workers print goes into a pipe, though in their parent it goes into a file."""

    def seekable(self) -> bool:
        """Nobody seeks in a pipe; a text stream that believed it could not change its encoding."""
        return False


def _printed(descriptor: int) -> io.TextIOWrapper:
    """The standard output for all workers, with the encoding that Python chose."""
    raw = _Pipe(descriptor, "w", closefd=False)
    writer = io.BufferedWriter(raw)
    return io.TextIOWrapper(writer, sys.stdout.encoding, sys.stdout.errors)


def _become_nobody() -> None:
    """As root - allowed in the sandbox to change its user, and nothing else - becomes nobody."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(confine.NOBODY, confine.NOBODY, confine.NOBODY)
        os.setresuid(confine.NOBODY, confine.NOBODY, confine.NOBODY)


def _notebook(modules: Sequence[str]) -> Operations:
    """The operations on a notebook; IPython is there only where notebooks are to be run."""
    from . import notebook_shell

    return notebook_shell.Notebook(modules).operations


def _above_channel(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, CHANNEL + 1)
    os.close(descriptor)
    return moved
