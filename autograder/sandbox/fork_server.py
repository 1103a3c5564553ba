"""Starts the fork server in its sandbox and hands out workers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import SandboxError, SandboxKilled
from ..records import Limits, Tier
from .clock import cpu_of_tree
from .environment import Libraries, Preparation, WorkerEnvironment, worker_environment
from .levels import LEVELS, Launch

if TYPE_CHECKING:  # these import torch, for which the start of the fork server need not wait
    from .replies import Batch
    from .session import Session

_START_SECONDS = 60.0
_ENDING_SECONDS = 1.0
_BOOT = """
import gc, sys
gc.disable()
moved = lambda paths: [p.replace({library!r}, {reached!r}) for p in paths]
for module in [m for m in list(sys.modules.values()) if hasattr(m, "__path__")]:
    module.__path__ = moved(module.__path__)
sys.path[:] = moved(p for p in sys.path if "-packages" not in p) + [{place!r}]
{first}
from worker.fork_server import main
main()
"""
#: code that replaces `open` before any package can keep a reference to it
_FILES_FIRST = "from worker.data_files import DATA_FILES; DATA_FILES.install()"
#: code that must run before torch is imported, and makes torch load its meta kernels only when
#: needed
_KERNELS_LATER = "from worker import late; late.defer()"
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/",
    # so that code can ask for its user name, although there is no list of users
    "LOGNAME": "nobody",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONMALLOC": "malloc",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONBREAKPOINT": "0",  # ignore forgotten breakpoints, as checks do
    "TORCHINDUCTOR_CACHE_DIR": "/",  # torch's compiler needs a folder, even if unused
}


class ForkServer:
    """A running fork server in one isolation tier.

    Close the server after use, or use it as a context manager.

    Forked graders may share a server, because every request is one datagram with its own sockets.
    Raises `SandboxError` if the server can't be started.
    """

    def __init__(
        self, tier: Tier, libraries: Libraries | None = None, ahead: Preparation | None = None
    ) -> None:
        if tier not in LEVELS:
            raise SandboxError("student code does not run without an isolation tier")
        self.tier = tier
        #: the reasons why the stronger tiers were not used
        self.passed_over: Sequence[str] = ()
        self._libraries = libraries or Libraries()
        self._ahead = ahead or Preparation()
        self._held: dict[str, Batch] = {}
        self._start()

    @property
    def count(self) -> int:
        """The number of fork servers; each job uses one of them."""
        return 1

    def choose(self, number: int) -> None:
        """Makes this job's process request its workers from fork server `number`."""

    def another(self) -> ForkServer:
        """Starts another fork server with the same preparation."""
        return ForkServer(self.tier, self._libraries, self._ahead)

    def restart(self) -> None:
        """Starts a new fork server after the old one has ended; may raise `SandboxError`.

        Graders that were forked before this call keep using the old one.
        """
        self.close()
        self._start()
        self.wait_until_ready()

    def has_ended(self, seconds: float = _ENDING_SECONDS) -> bool:
        """Returns whether the server has ended, or ends within `seconds`.

        Only the process that started the server may call this.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def was_killed(self) -> bool:
        """Returns whether the server was ended by a signal, or ended without printing anything."""
        if not self.has_ended():
            return False
        code = self._process.returncode  # bubblewrap adds 128 to a signal's number
        return code < 0 or code > 128 or not self._words()

    def _start(self) -> None:
        self._launch: Launch | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - kept open
        self._printed = ""
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # pass the settings in a file, which is closed before workers are forked; arguments would
        # stay in the workers' memory
        settings = os.memfd_create("settings")
        try:
            environment = worker_environment(self._libraries.distributions)
            command = self._command(environment, far.fileno(), settings)
            self._process = subprocess.Popen(
                command,
                pass_fds=[far.fileno(), settings, *(self._launch.kept if self._launch else ())],
                start_new_session=True,  # only the grader handles Ctrl-C
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
            )
        except (OSError, LookupError) as error:
            raise SandboxError(f"the fork server can't be started: {error}") from error
        finally:
            far.close()
            os.close(settings)
        self._ready = False

    @property
    def pid(self) -> int:
        """The id of the process to kill as a last resort. The workers are its descendants."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Waits until torch is loaded in the sandbox; if that fails, raises `SandboxError`."""
        if self._ready:
            return
        if self._greeting() != b"R":
            kind = SandboxKilled if self.was_killed() else SandboxError
            text = self._printed_text()
            self.close()
            raise kind(f"the fork server of tier {self.tier} did not start:\n{text}")
        self._ready = True
        for batch in self._held.values():
            self._send_batch(batch)

    def _greeting(self) -> bytes:
        """Waits until the server says that it is ready; returns b"" if the server ends instead.

        Watches both the process and the socket: if bubblewrap is killed while it creates
        namespaces, its child waits forever and keeps the other end of the socket open.
        """
        with contextlib.suppress(OSError):
            end = os.pidfd_open(self._process.pid)
            try:
                events = select.poll()
                for descriptor in (self._control.fileno(), end):
                    events.register(descriptor, select.POLLIN)
                has_ended = end in dict(events.poll(_START_SECONDS * 1000))
            finally:
                os.close(end)
            if has_ended:
                self._kill_group()
            return self._control.recv(1, socket.MSG_DONTWAIT)
        return b""

    def _kill_group(self) -> None:
        """Kills the server and every process that it started before the sandbox was ready."""
        if self._process.returncode is None:  # not reaped, so its number is not reused
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def hold(self, batch: Batch) -> None:
        """Makes the server keep a batch, which workers that are forked after this call can use.

        Call this method before the grader is forked, because a forked grader knows only the batches
        that the server held at the time of the fork.
        """
        if batch.digest not in self._held:
            self._held[batch.digest] = batch
            if self._ready:
                self._send_batch(batch)

    def _send_batch(self, batch: Batch) -> None:
        with os.fdopen(os.memfd_create("batch"), "wb") as file:
            file.write(batch.frame)
            file.flush()
            try:
                request = json.dumps([batch.digest, batch.kernels]).encode()
                socket.send_fds(self._control, [request], [file.fileno()])
            except OSError as error:
                raise SandboxError(
                    f"the fork server is gone ({error}):\n{self._printed_text()}"
                ) from error

    def cpu_seconds(self) -> float:
        """Returns the CPU seconds that the fork server and all its workers have used so far."""
        return cpu_of_tree(self.pid)

    def open(self, limits: Limits, questions: int, batches: Collection[str] = ()) -> Session:
        """Requests a worker.

        The worker is forked in the background, so the first call to the worker waits for the fork.

        `batches` contains the digests of the held batches to which the worker has access.
        """
        from .session import Session

        self.wait_until_ready()
        request = {
            **asdict(limits),
            "cpu_seconds_in_all": max(2, math.ceil(limits.cpu_seconds * (questions + 2))),
            "batches": [digest for digest in batches if digest in self._held],
        }
        session, descriptors = Session.pair(limits)
        session.held = frozenset(request["batches"])
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            session.close()
            raise SandboxError(
                f"the fork server is gone ({error}):\n{self._printed_text()}"
            ) from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return session

    def close(self) -> None:
        self._control.close()
        if not self._ready:
            self._kill_group()  # otherwise, it would first load torch
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._words()
        self._errors.close()
        if self._launch is not None and self._launch.links is not None:
            self._launch.links.close()

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _printed_text(self) -> str:
        return self._words() or "(it printed nothing)"

    def _words(self) -> str:
        """Returns the end of the fork server's output, even if the server has been closed."""
        if not self._errors.closed:
            self._errors.seek(0)
            self._printed = self._errors.read()[-2000:].decode(errors="replace").strip()
        return self._printed

    def _command(self, environment: WorkerEnvironment, control: int, file: int) -> list[str]:
        """Returns the command that starts the fork server; writes its settings to `file`."""
        settings: dict[str, object] = {
            "control": control,
            "own_namespaces": LEVELS[self.tier].own_namespaces,
            "notebooks": self._libraries.notebooks,
            "modules": self._libraries.modules,
            **asdict(self._ahead),
            "listable": environment.listable(),
        }
        launch = self._launch = LEVELS[self.tier].launch(environment)
        settings["kept"] = launch.kept
        settings["readable"] = [*environment.readable(), str(launch.place)]
        os.write(file, json.dumps(settings).encode())
        return [*launch.command, *_python(environment, settings, launch), str(file)]


def _before_torch(settings: Mapping[str, object]) -> Iterator[str]:
    """Yields the code that runs before any package is imported."""
    if settings["notebooks"]:
        yield _FILES_FIRST
    if not (settings["second_device"] and settings["many_workers"]):
        yield _KERNELS_LATER


def _python(
    environment: WorkerEnvironment, settings: dict[str, object], launch: Launch
) -> list[str]:
    """Returns the Python command for the fork server; the caller adds the settings file."""
    boot = _BOOT.format(
        library=str(environment.standard_library),
        reached=str(launch.library),
        place=str(launch.place),
        first="\n".join(_before_torch(settings)),
    )
    return [str(environment.python), "-P", "-s", "-S", "-B", "-c", boot]
