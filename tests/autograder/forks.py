"""Runs programs in forks of a process that has already loaded the packages.

Starting Python and importing torch takes two CPU seconds, and is the same each time. `run_forked`
forks the test process. `commands_in` starts its own process, and makes an executable file with
which shell scripts run commands in forks of that process. Such a fork has the caller's arguments,
folder, environment, streams and file size limit, and ends with the caller.
"""

from __future__ import annotations

import atexit
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
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import torch

import autograder

Main = Callable[[], object]

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
            no_input = os.open(os.devnull, os.O_RDONLY)
            for number, stream in enumerate((no_input, output.fileno(), errors.fileno())):
                os.dup2(stream, number)
            atexit._clear()  # pytest's own functions
            warnings.simplefilter("ignore")
            _become(main, argv, folder, dict(environment))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(argv, status, output.read(), errors.read())


def _become(main: Main, argv: list[str], folder: Path, environment: Mapping[str, str]) -> NoReturn:
    """Runs a main function in this process, which is a fork, and ends the process."""
    code = 1
    try:
        torch.set_num_threads(1)  # because a fork does not copy threads
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - used until this process ends
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
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
    _become_called(call, streams)


def _answer(caller: socket.socket, child: int) -> None:
    """Sends a command's exit status when it ends; kills the command if its caller was killed."""
    end = os.pidfd_open(child)
    if end not in select.select([end, caller.fileno()], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(end)
    with caller, contextlib.suppress(BrokenPipeError):
        caller.send(str(status if status >= 0 else 128 - status).encode())


def _become_called(call: bytes, streams: list[int]) -> NoReturn:
    """Runs the called command in this process, and ends the process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    arguments, folder, environment, limit = json.loads(call)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    main = importlib.import_module("autograder.cli").main
    _become(main, ["autograder", *arguments], Path(folder), environment)


if __name__ == "__main__":
    _load_packages()
    _serve(Path(sys.argv[1]))
