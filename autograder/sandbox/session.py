"""Controls one sandboxed worker: calls it with a time budget, and reliably kills it."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any, NoReturn, TypeVar

from ..errors import (
    AnswerCrashed,
    AnswerOutputLimit,
    AnswerProtocol,
    AnswerTimeout,
    SandboxError,
    SandboxKilled,
)
from ..records import Limits
from ..worker import wire
from .clock import Budget, Clock, pid_of, threads_of
from .replies import Batch, RawReplies, RawReply, fault_of, report_in, value_of

T = TypeVar("T")
_LOOK_AT_CPU_SECONDS, _CONFINED_SECONDS, _ENDING_SECONDS = 0.1, 30.0, 0.5
_SOCKET_BUFFER = 1 << 20

#: a function that answers a worker's request to the grader: (operation, name, arguments) -> ("ok",
#: value) or an error
Substitute = Callable[[tuple[Any, ...]], tuple[str, Any]]
_GONE = "the fork server is gone"
_KILLED = "it was killed or stopped"
_FEW = "; if the limit on processes is too low (ulimit -u, or a container's), raise it"


class Session:
    """The channel to a worker, with the worker's output and exit status.

    Calls may raise an `AnswerFault`. If the worker itself reports the fault, the worker can be
    called again; after any other fault, the worker is dead, and `alive` is false.
    """

    def __init__(
        self, limits: Limits, channel: socket.socket, status: socket.socket, output: int
    ) -> None:
        self._limits = limits
        self._channel = channel
        self._status = status
        self._output = Output(output, limits.output_bytes)
        self._frame = self._pid = 0
        self._pidfd: int | None = None
        self._exit: list[float] | None = None
        self.alive = True
        self.substitute: Substitute | None = None
        self.held: Container[str] = ()  #: the digests of the worker's batches
        #: how many seconds an interrupted worker has to stop, and whether it was interrupted
        self.grace_seconds, self.interrupted = 0.0, False

    @classmethod
    def pair(cls, limits: Limits) -> tuple[Session, list[int]]:
        """Returns a session and the worker's descriptors (channel, status, output)."""
        channel, far_channel = socket.socketpair()
        status, far_status = socket.socketpair()
        output, far_output = os.pipe()
        for end in (channel, far_channel):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
        channel.setblocking(False)
        session = cls(limits, channel, status, output)
        return session, [far_channel.detach(), far_status.detach(), far_output]

    def ask(self, budget: Budget, operation: str, *args: Any) -> Any:
        """Calls one operation of the worker; returns the decoded value."""
        with self._asking(budget) as clock:
            self._send(clock, (operation, *args))
            reply = self._receive(clock)
            while self.substitute and isinstance(reply, tuple) and reply[:1] == ("substitute",):
                self._substitute(clock, reply)
                reply = self._receive(clock)
            return value_of(reply)

    def ask_several(self, budget: Budget, batch: Batch) -> list[RawReply]:
        """Sends all calls in a batch together; returns the replies, which are not decoded yet."""
        with self._asking(budget) as clock:
            limit = self._limits.reply_bytes
            replies = RawReplies(self._frame, batch.count, limit, self.substitute is not None)
            self._pump(clock, sending=memoryview(batch.asked(self._frame, self.held)))
            while not replies.complete:
                for header, data in replies.feed(self._some(clock)):
                    self._substitute(clock, wire.decode(header, bytearray(data), most_bytes=limit))
            return replies.found

    def _substitute(self, clock: Clock, request: tuple[Any, ...]) -> None:
        """Responds to a worker's request, which may be hostile."""
        if self.substitute is not None:
            self._check_time(clock)
            self._send(clock, self.substitute(request[1:]))

    @contextlib.contextmanager
    def _asking(self, budget: Budget) -> Iterator[Clock]:
        if not self.alive:
            raise AnswerCrashed("the submission's process has ended")
        self._wait_until_confined()
        self._frame = secrets.randbits(32)  # unknown to replies written in advance
        self.interrupted = False
        clock = Clock(budget, self._pid)
        try:
            yield clock
        except wire.BadFrame as error:
            self.kill()
            raise AnswerProtocol(f"the reply is not an answer: {error}") from None
        finally:
            clock.stop()

    @property
    def idle(self) -> bool:
        """Returns whether the worker is alive and the last call left no threads or unread data."""
        if not self.alive or self._pidfd is None:
            return self.alive
        return threads_of(self._pid) == 1 and not select.select([self._channel], [], [], 0)[0]

    def kill(self) -> None:
        """Kills the worker and, if it has its own pid namespace, everything in that namespace."""
        self.alive = False
        if self._exit is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """Kills the worker and releases the session's resources."""
        self.kill()
        self._channel.close()
        self._status.close()
        self._output.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _wait_until_confined(self) -> None:
        if self._pidfd is not None:
            return
        self._status.settimeout(_CONFINED_SECONDS)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._status, 4096, 1)
        except OSError as error:
            raise SandboxError(f"no worker was forked: {error}") from error
        if message[:1] == b"[":  # the worker ended before it sent anything
            raise SandboxKilled(f"a worker could not be confined: {_KILLED}")
        if message[:1] != b"P" or not descriptors:
            reason = message[1:].decode(errors="replace")
            raise SandboxError(f"no worker was forked: {reason + _FEW if reason else _GONE}")
        self._pidfd = descriptors[0]
        self._pid = pid_of(self._pidfd)
        readable, _, _ = select.select([self._channel], [], [], _CONFINED_SECONDS)
        # no student's code runs before this byte, so an error before it is the grader's fault
        if not readable or self._channel.recv(1) != b"C":
            time.sleep(0.05)  # its last output may arrive late
            self._drain()
            printed = self._output.end.decode(errors="replace")
            self.kill()
            # a fork server prints the reason if it fails, but nothing if it is killed
            kind = SandboxError if printed else SandboxKilled
            raise kind(f"a worker could not be confined: {printed or _KILLED}")

    def _send(self, clock: Clock, value: Any) -> None:
        for part in wire.encode(self._frame, value, layouts=True):
            self._pump(clock, sending=memoryview(part))

    def _receive(self, clock: Clock) -> Any:
        head = self._pump(clock, wanted=wire.HEAD.size)
        frame, header_size, data_size = wire.HEAD.unpack(head)
        if frame != self._frame or header_size > wire.MAX_HEADER_BYTES:
            raise wire.BadFrame("a frame that was not requested")
        if data_size > self._limits.reply_bytes:
            raise wire.BadFrame(f"{data_size} bytes; the limit is {self._limits.reply_bytes}")
        header = bytes(self._pump(clock, wanted=header_size))
        received = self._pump(clock, wanted=data_size)
        return wire.decode(header, received, most_bytes=self._limits.reply_bytes)

    def _pump(self, clock: Clock, sending: memoryview | None = None, wanted: int = 0) -> bytearray:
        """Sends all of `sending`, or receives `wanted` bytes; also reads the worker's output."""
        buffer = bytearray(wanted)
        view = sending if sending is not None else memoryview(buffer)
        while view:
            if sending is not None:
                done = self._tried(clock, select.POLLOUT, partial(self._channel.send, view))
            else:
                done = self._tried(clock, select.POLLIN, partial(self._channel.recv_into, view))
            if not done:
                self._ended()
            view = view[done:]
        return buffer

    def _some(self, clock: Clock) -> bytes:
        """Receives the bytes that are available; waits if there are none yet."""
        part = self._tried(clock, select.POLLIN, lambda: self._channel.recv(_SOCKET_BUFFER))
        if not part:
            self._ended()
        return part

    def _tried(self, clock: Clock, event: int, attempt: Callable[[], T]) -> T:
        """Repeats an operation until the channel is ready for it."""
        poll = None
        while True:
            try:  # don't wait first, because most calls are answered at once
                return attempt()
            except BlockingIOError:
                pass
            except ConnectionError:
                self._ended()
            if poll is None:
                poll = select.poll()
                poll.register(self._channel, event)
                poll.register(self._output.descriptor, select.POLLIN)
            self._wait(poll, clock)

    def _wait(self, poll: select.poll, clock: Clock) -> None:
        events = dict(poll.poll(_LOOK_AT_CPU_SECONDS * 1000))
        if self._output.descriptor in events and not self._drain():
            poll.unregister(self._output.descriptor)
        self._check_time(clock)

    def _check_time(self, clock: Clock) -> None:
        spent = clock.spent()
        if spent is not None and self.grace_seconds and not self.interrupted:
            self.interrupted = True
            self._signal(signal.SIGINT)
            clock.extend(self.grace_seconds)
        elif spent is not None:
            self.kill()
            raise AnswerTimeout(f"still running after {spent}; is there a loop that never ends?")

    def _drain(self) -> bool:
        """Reads the worker's printed output; returns whether the worker can print more."""
        open_still = self._output.drain()
        if self._output.size > self._limits.output_bytes:
            self.kill()
            raise AnswerOutputLimit(
                f"printed more than {self._limits.output_bytes} bytes: "
                "remove the print from the loop"
            )
        return open_still

    def _ended(self) -> NoReturn:
        """Raises the fault that describes how the worker ended; called when its channel closes."""
        self._drain()
        assert self._pidfd is not None
        if not select.select([self._pidfd], [], [], _ENDING_SECONDS)[0]:
            self.kill()
            raise AnswerProtocol("the submission closed the grader's channel")
        self._status.settimeout(_CONFINED_SECONDS)  # enough even for a busy fork server
        code, cpu, _ = self._exit = report_in(self._status)
        self.kill()
        raise fault_of(int(code), float(cpu), self._limits)


_END_BYTES = 2000
_PART_BYTES = 1 << 16


class Output:
    """The reading end of the pipe for a worker's output. Close it after use."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """`limit` is the number of bytes after which `drain` stops reading."""
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.size = 0
        self.end = b""
        self._limit = limit

    def drain(self) -> bool:
        """Reads the available output up to the limit; returns False if the other end is closed."""
        while self.size <= self._limit:
            try:
                part = os.read(self.descriptor, _PART_BYTES)
            except BlockingIOError:
                return True
            if not part:
                return False
            self.size += len(part)
            self.end = (self.end + part)[-_END_BYTES:]
        return True

    def close(self) -> None:
        os.close(self.descriptor)
