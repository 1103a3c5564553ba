"""One sandboxed worker, as the grader holds it: calls with a budget, faults by name, a sure kill."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any

from ..errors import (
    AnswerCrashed,
    AnswerMemory,
    AnswerMissing,
    AnswerNotImplemented,
    AnswerOutputLimit,
    AnswerProtocol,
    AnswerRaised,
    AnswerTimeout,
    SandboxError,
)
from ..inside import wire
from ..records import Limits

_LOOK_AT_CPU_SECONDS = 0.1
_CONFINED_SECONDS = 30.0
_SOCKET_BUFFER = 1 << 20


@dataclass(slots=True)
class Budget:
    """What is left of a question's wall and CPU seconds; only time inside calls counts."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, limits: Limits) -> Budget:
        """A full budget."""
        return cls(limits.wall_seconds, limits.cpu_seconds)


class Session:
    """A worker's channel, output and end. Every method may raise an `AnswerFault`.

    After a fault other than a raised exception the worker is dead: `alive` says so.
    """

    def __init__(
        self, limits: Limits, channel: socket.socket, status: socket.socket, output: int
    ) -> None:
        self._limits = limits
        self._channel = channel
        self._status = status
        self._output = output
        self._printed = 0
        self._last_words = b""
        self._frame = 0
        self._pidfd: int | None = None
        self._pid = 0
        self._exit: list[float] | None = None
        self.alive = True

    @classmethod
    def pair(cls, limits: Limits) -> tuple[Session, list[int]]:
        """A session, and the descriptors (channel, status, output) of its worker's side."""
        channel, far_channel = socket.socketpair()
        status, far_status = socket.socketpair()
        output, far_output = os.pipe()
        for end in (channel, far_channel):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
        channel.setblocking(False)
        os.set_blocking(output, False)
        session = cls(limits, channel, status, output)
        return session, [far_channel.detach(), far_status.detach(), far_output]

    def ask(self, budget: Budget, operation: str, *args: Any) -> Any:
        """One call of the worker; returns its decoded value."""
        if not self.alive:
            raise AnswerCrashed("the process of the submission has ended")
        self._wait_until_confined()
        self._frame += 1
        clock = _Clock(budget, self._pid)
        try:
            for part in wire.encode(self._frame, (operation, *args)):
                self._pump(clock, sending=memoryview(part))
            reply = self._receive(clock)
        except wire.BadFrame as error:
            self.kill()
            raise AnswerProtocol(f"the reply is no answer: {error}") from None
        finally:
            clock.stop()
        return _value(reply)

    def kill(self) -> None:
        """Ends the worker, and all of its namespace with it."""
        self.alive = False
        if self._pidfd is not None and self._exit is None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self) -> None:
        """Ends the worker and frees what the session holds."""
        self.kill()
        self._channel.close()
        self._status.close()
        os.close(self._output)
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _wait_until_confined(self) -> None:
        if self._pidfd is not None:
            return
        self._status.settimeout(_CONFINED_SECONDS)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._status, 4096, 1)
        except OSError as error:
            raise SandboxError(f"no worker came: {error}") from error
        if message[:1] != b"P" or not descriptors:
            reason = message[1:].decode(errors="replace") or "the worker parent is gone"
            raise SandboxError(f"no worker came: {reason}")
        self._pidfd = descriptors[0]
        self._pid = _pid_of(self._pidfd)
        readable, _, _ = select.select([self._channel], [], [], _CONFINED_SECONDS)
        # no student's code has run yet: what goes wrong until this byte is our own fault
        if not readable or self._channel.recv(1) != b"C":
            time.sleep(0.05)  # its last words are still on the way
            self._drain()
            said = self._last_words.decode(errors="replace")
            self.kill()
            raise SandboxError(f"a worker could not be confined:\n{said}")

    def _receive(self, clock: _Clock) -> Any:
        head = self._pump(clock, wanted=wire.HEAD.size)
        frame, header_size, data_size = wire.HEAD.unpack(head)
        if frame != self._frame or header_size > wire.MAX_HEADER_BYTES:
            raise wire.BadFrame("a frame that nobody asked for")
        if data_size > self._limits.reply_bytes:
            raise wire.BadFrame(f"{data_size} bytes; the limit is {self._limits.reply_bytes}")
        header = bytes(self._pump(clock, wanted=header_size))
        return wire.decode(header, self._pump(clock, wanted=data_size))

    def _pump(self, clock: _Clock, sending: memoryview | None = None, wanted: int = 0) -> bytearray:
        """Sends all of `sending`, or receives exactly `wanted` bytes; drains the output meanwhile."""
        buffer = bytearray(wanted)
        view = sending if sending is not None else memoryview(buffer)
        watched = select.EPOLLOUT if sending is not None else select.EPOLLIN
        poll = select.poll()
        poll.register(self._channel, watched)
        poll.register(self._output, select.POLLIN)
        while view:
            # first try without waiting: most calls are answered at once
            try:
                done = (
                    self._channel.send(view)
                    if sending is not None
                    else self._channel.recv_into(view)
                )
                if done == 0:
                    self._ended()
                view = view[done:]
                continue
            except BlockingIOError:
                pass
            except ConnectionError:
                self._ended()
            self._wait(poll, clock)
        return buffer

    def _wait(self, poll: select.poll, clock: _Clock) -> None:
        events = poll.poll(_LOOK_AT_CPU_SECONDS * 1000)
        if any(descriptor == self._output for descriptor, _ in events) and not self._drain():
            poll.unregister(self._output)
        spent = clock.spent()
        if spent is not None:
            self.kill()
            raise AnswerTimeout(f"still running after {spent}; is there a loop without an end?")

    def _drain(self) -> bool:
        """Reads what was printed; False when the output is closed."""
        while True:
            try:
                part = os.read(self._output, 1 << 16)
            except BlockingIOError:
                return True
            if not part:
                return False
            self._printed += len(part)
            self._last_words = (self._last_words + part)[-2000:]
            if self._printed > self._limits.output_bytes:
                self.kill()
                raise AnswerOutputLimit(
                    f"printed more than {self._limits.output_bytes} bytes: "
                    "remove the print from the loop"
                )

    def _ended(self) -> None:
        """The channel is closed: finds out how the worker ended, and raises it."""
        self._drain()
        self._status.settimeout(0.5)
        try:
            report = self._status.recv(4096)
        except OSError:
            report = b""
        self.kill()
        if not report:
            raise AnswerProtocol("the submission closed the grader's channel")
        code, cpu, _ = self._exit = json.loads(report)
        raise self._fault(int(code), float(cpu))

    def _fault(self, code: int, cpu: float) -> Exception:
        if os.WIFEXITED(code):
            status = os.WEXITSTATUS(code)
            return AnswerCrashed(f"the code ended its own process with exit status {status}")
        number = os.WTERMSIG(code)
        if number in (signal.SIGXCPU, signal.SIGKILL) and cpu >= self._limits.cpu_seconds:
            return AnswerTimeout(f"used {cpu:.0f} s of CPU time")
        if number == signal.SIGXFSZ:
            return AnswerCrashed("wrote a file larger than the limit")
        return AnswerCrashed(f"the process was ended by {signal.Signals(number).name}")


class _Clock:
    """Takes wall and CPU time from a budget while a call runs."""

    def __init__(self, budget: Budget, pid: int) -> None:
        self._budget = budget
        self._cpu_clock = (~pid << 3) | 2  # clock_getcpuclockid(3)
        self._wall_before = time.monotonic()
        self._cpu_before = self._cpu()

    def spent(self) -> str | None:
        """What is used up, if anything is."""
        if time.monotonic() - self._wall_before > self._budget.wall:
            return "the time limit (wall clock)"
        if self._cpu() - self._cpu_before > self._budget.cpu:
            return "the time limit (CPU)"
        return None

    def stop(self) -> None:
        """Books the time of the call."""
        self._budget.wall -= time.monotonic() - self._wall_before
        self._budget.cpu -= max(0.0, self._cpu() - self._cpu_before)

    def _cpu(self) -> float:
        try:
            return time.clock_gettime(self._cpu_clock)
        except OSError:
            return 0.0  # it has ended


def _pid_of(pidfd: int) -> int:
    with open(f"/proc/self/fdinfo/{pidfd}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def _value(reply: Any) -> Any:
    match reply:
        case ("ok", value):
            return value
        case ("missing", str(name)):
            raise AnswerMissing(f"{name} is not defined")
        case ("memory", str(text)):
            raise AnswerMemory(f"asked for more memory than the limit: {text[:300]}")
        case ("protocol", str(text)):
            raise AnswerProtocol(text[:500])
        case ("raised", str(kind), str(text), [*bases], str(where)):
            names = tuple(base for base in bases if isinstance(base, str))
            if "NotImplementedError" in names:
                raise AnswerNotImplemented("not implemented yet")
            raise AnswerRaised(f"{kind}: {text}\n{where}".strip(), kind, names)
    raise AnswerProtocol("the reply is no answer: not of the agreed form")
