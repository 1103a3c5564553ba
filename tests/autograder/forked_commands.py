"""Runs `autograder` commands in forks of one process, which loads every package only once.

Otherwise, each command would spend more than a CPU second on loading torch and nbgrader. A fork has
the caller's arguments, folder, environment, streams and file size limit, and ends with the caller.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import autograder

#: packages that the commands do not use, or that are for another process
_NOT_LOADED = ("autograder.__main__", "autograder.worker", "autograder.grading.cluster")
_COMMAND = """\
#!{python} -IS
import json, os, resource, socket, sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), limit]).encode()
    socket.send_fds(server, [call], [0, 1, 2])
    answer = server.recv(16)
os._exit(int(answer or 1))
"""
_MAX_CALL = 1 << 18


@contextlib.contextmanager
def commands_in(
    folder: Path, python: str = sys.executable, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Makes `folder/autograder` run the package of this Python during the block."""
    with subprocess.Popen(
        [python, "-P", __file__, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield


def _load_packages() -> None:
    gc.disable()
    for module in pkgutil.walk_packages(autograder.__path__, "autograder."):
        if not module.name.startswith(_NOT_LOADED):
            with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
                importlib.import_module(module.name)
    gc.freeze()
    gc.enable()


def _serve(folder: Path) -> None:
    """Runs one command after another until the standard input is closed."""
    address = f"\0autograder-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(address)
        server.listen()
        command = folder / "autograder"
        command.write_text(_COMMAND.format(python=sys.executable, address=address))
        command.chmod(0o755)
        print("ready", flush=True)
        while server.fileno() in select.select([server.fileno(), 0], [], [])[0]:
            caller, _ = server.accept()
            call, streams, *_ = socket.recv_fds(caller, _MAX_CALL, 3)
            child = os.fork()
            if not child:
                break
            _answer(caller, child)
            for stream in streams:
                os.close(stream)
        else:
            return
    caller.close()
    _become(call, streams)


def _answer(caller: socket.socket, child: int) -> None:
    """Sends a command's exit status when it ends; kills the command if its caller was killed."""
    end = os.pidfd_open(child)
    if end not in select.select([end, caller.fileno()], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(end)
    with caller, contextlib.suppress(BrokenPipeError):
        caller.send(str(status if status >= 0 else 128 - status).encode())


def _become(call: bytes, streams: list[int]) -> None:
    """Runs the called command in this process, and ends the process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - used until this process ends
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    arguments, folder, environment, limit = json.loads(call)
    sys.argv = ["autograder", *arguments]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    importlib.import_module("autograder.cli").main()


if __name__ == "__main__":
    _load_packages()
    _serve(Path(sys.argv[1]))
