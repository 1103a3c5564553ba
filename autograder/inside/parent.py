"""The warm worker parent: torch is loaded once, and each worker is a fork of it.

Started by `sandbox.parent` inside bubblewrap. It holds no secret and never sees a student's code:
that goes straight from the grader to the worker, which a later worker can't look into.

Each datagram on the control socket asks for one worker: its limits as JSON, and three descriptors
(channel, status, output). On the status socket come `P` with the worker's pidfd, then the worker's
exit status as JSON; or `E` and a reason. On the channel comes `C` once the worker is confined.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from . import confine, execution, landlock, worker

_REQUEST_BYTES = 1 << 16
#: the worker's descriptor of its channel
_CHANNEL = 3

Operations = Mapping[str, Callable[..., Any]]


def main() -> None:
    """Reads the settings from argv, warms torch, and forks workers until the grader hangs up."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    _warm()
    others = _notebook(settings["modules"]) if settings["notebooks"] else {}
    # as the user who started all this: nobody may not even look at some of these paths
    rules = _above_channel(
        landlock.ruleset(settings["readable"], settings["listable"], ["/dev/null"])
    )
    _become_nobody()
    confine.hide()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("the worker parent must have one thread: forks of more may hang")
    here = os.getpid()
    control.send(b"R")
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 3)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            confine.die_with_parent(here)
            control.close()
            _supervise(descriptors, json.loads(request), rules, settings["kept"], others)
        for descriptor in descriptors:
            os.close(descriptor)


def _become_nobody() -> None:
    """As root - allowed in the sandbox to change its user, and nothing else - becomes nobody."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(confine.NOBODY, confine.NOBODY, confine.NOBODY)
        os.setresuid(confine.NOBODY, confine.NOBODY, confine.NOBODY)


def _warm() -> None:
    """Pays for first uses here, once."""
    torch.set_num_threads(1)
    layer = nn.Linear(4, 4)
    inputs = torch.ones(2, 3, 4)
    execution.gradients(layer, [inputs], torch.ones(2, 3, 4))
    execution.operators(torch.softmax, [inputs, -1])
    attention = torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-1)
    nn.functional.dropout(nn.functional.layer_norm(attention @ inputs, (4,)), 0.5)
    nn.functional.scaled_dot_product_attention(inputs, inputs, inputs)
    torch.einsum("btd,bsd->bts", inputs, inputs)
    torch.vmap(torch.sum)(inputs)
    # torch's own code for the meta device imports its compiler (2 s), and that a cache folder
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"
    elsewhere = inputs.to("meta")
    execution.call(layer.to("meta"), [elsewhere])
    execution.call(elsewhere.masked_fill, [elsewhere > 0, 0.0])
    repr(inputs)


def _notebook(modules: Sequence[str]) -> Operations:
    """The operations on a notebook; IPython is there only where notebooks are to be run."""
    from . import cells

    return cells.Notebook(modules).operations


def _supervise(
    descriptors: list[int],
    request: dict[str, Any],
    rules: int,
    kept: list[int],
    others: Operations,
) -> None:
    """Runs in a fork: makes the worker's namespaces, forks the worker, reports how it ended."""
    channel, status_descriptor, output = descriptors
    status = socket.socket(fileno=status_descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if request["own_namespaces"]:
            confine.show()
            confine.leave_namespaces()
        here = os.getpid()
        pid = os.fork()
        if pid == 0:
            if not request["own_namespaces"]:  # else it ends with its namespace
                confine.die_with_parent(here)
            _become_worker(channel, output, request, rules, kept, others)
        socket.send_fds(status, [b"P"], [os.pidfd_open(pid)])
        os.close(channel)
        os.close(output)
        _, code, usage = os.wait4(pid, 0)
        report = [code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]
        status.sendall(json.dumps(report).encode())
    except BrokenPipeError:
        pass  # the grader has hung up: nobody is left to tell
    except OSError as error:
        status.sendall(b"E" + str(error).encode())
    finally:
        os._exit(0)


def _become_worker(
    channel: int,
    output: int,
    request: dict[str, Any],
    rules: int,
    kept: list[int],
    others: Operations,
) -> None:
    try:
        os.dup2(channel, _CHANNEL)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        _close_all_but({0, 1, 2, _CHANNEL, rules, *kept})
        os.chdir("/")
        confine.ignore_signals()
        confine.limit_resources(request)
        if request["own_namespaces"]:
            confine.hide_processes()
        confine.drop_privileges()
        confine.lock_down(rules)
        own_channel = socket.socket(fileno=_CHANNEL)
        own_channel.sendall(b"C")  # whatever ends the worker from now on is the student's
        worker.serve(own_channel, others)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)
    os._exit(0)


def _above_channel(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _CHANNEL + 1)
    os.close(descriptor)
    return moved


def _close_all_but(kept: set[int]) -> None:
    edges = [*sorted(kept), 1 << 16]
    for low, high in zip(edges, edges[1:], strict=False):
        os.closerange(low + 1, high)
