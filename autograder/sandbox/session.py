"""One sandboxed worker, as the grader holds it: calls with a budget, and a sure kill."""

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

from ..errors import AnswerCrashed, AnswerOutputLimit, AnswerProtocol, AnswerTimeout, SandboxError
from ..records import Limits
from ..worker import wire
from .batch import Batch, RawReplies, RawReply
from .clock import Budget, Clock, pid_of, threads_of
from .replies import fault_of, report_in, value_of

T = TypeVar("T")
_LOOK_AT_CPU_SECONDS, _CONFINED_SECONDS, _ENDING_SECONDS = 0.1, 30.0, 0.5
_SOCKET_BUFFER = 1 << 20

#: answers what a worker asks of the grader: operation, name, arguments -> ("ok", value) or error
Substitute = Callable[[tuple[Any, ...]], tuple[str, Any]]


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
        self._output = Output(output, limits.output_bytes)
        self._frame = self._pid = 0
        self._pidfd: int | None = None
        self._exit: list[float] | None = None
        self.alive = True
        self.substitute: Substitute | None = None
        self.held: Container[str] = ()  #: its fork server's batches, by digest
        #: what a worker whose time is up may take to stop by itself, and whether it was asked to
        self.grace_seconds, self.interrupted = 0.0, False

    @classmethod
    def pair(cls, limits: Limits) -> tuple[Session, list[int]]:
        """A session, and the descriptors (channel, status, output) of its worker's side."""
        channel, far_channel = socket.socketpair()
        status, far_status = socket.socketpair()
        output, far_output = os.pipe()
        for end in (channel, far_channel):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
        channel.setblocking(False)
        session = cls(limits, channel, status, output)
        return session, [far_channel.detach(), far_status.detach(), far_output]

    def ask(self, budget: Budget, operation: str, *args: Any) -> Any:
        """One call of the worker; returns its decoded value."""
        with self._asking(budget) as clock:
            self._send(clock, (operation, *args))
            reply = self._receive(clock)
            while self.substitute and isinstance(reply, tuple) and reply[:1] == ("substitute",):
                self._substitute(clock, reply)
                reply = self._receive(clock)
            return value_of(reply)

    def ask_several(self, budget: Budget, batch: Batch) -> list[RawReply]:
        """All calls of a batch at once; returns their replies as they came, not yet decoded."""
        with self._asking(budget) as clock:
            limit = self._limits.reply_bytes
            replies = RawReplies(self._frame, batch.count, limit, self.substitute is not None)
            self._pump(clock, sending=memoryview(batch.asked(self._frame, self.held)))
            while not replies.complete:
                for header, data in replies.feed(self._some(clock)):
                    self._substitute(clock, wire.decode(header, bytearray(data), most_bytes=limit))
            return replies.found

    def _substitute(self, clock: Clock, request: tuple[Any, ...]) -> None:
        """Answers what a worker asks; the request is hostile."""
        if self.substitute is not None:
            self._check_time(clock)
            self._send(clock, self.substitute(request[1:]))

    @contextlib.contextmanager
    def _asking(self, budget: Budget) -> Iterator[Clock]:
        if not self.alive:
            raise AnswerCrashed("the process of the submission has ended")
        self._wait_until_confined()
        self._frame = secrets.randbits(32)  # a reply that was written ahead does not know it
        self.interrupted = False
        clock = Clock(budget, self._pid)
        try:
            yield clock
        except wire.BadFrame as error:
            self.kill()
            raise AnswerProtocol(f"the reply is no answer: {error}") from None
        finally:
            clock.stop()

    @property
    def idle(self) -> bool:
        """Whether the worker lives, in one thread, and says nothing: its last call left nothing."""
        if not self.alive or self._pidfd is None:
            return self.alive
        return threads_of(self._pid) == 1 and not select.select([self._channel], [], [], 0)[0]

    def kill(self) -> None:
        """Ends the worker, and all of its namespace with it."""
        self.alive = False
        if self._exit is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """Ends the worker and frees what the session holds."""
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
            raise SandboxError(f"no worker came: {error}") from error
        if message[:1] != b"P" or not descriptors:
            reason = message[1:].decode(errors="replace") or "the fork server is gone"
            raise SandboxError(f"no worker came: {reason}")
        self._pidfd = descriptors[0]
        self._pid = pid_of(self._pidfd)
        readable, _, _ = select.select([self._channel], [], [], _CONFINED_SECONDS)
        # no student's code has run yet: what goes wrong until this byte is our own fault
        if not readable or self._channel.recv(1) != b"C":
            time.sleep(0.05)  # its last words are still on the way
            self._drain()
            said = self._output.end.decode(errors="replace")
            self.kill()
            raise SandboxError(f"a worker could not be confined:\n{said}")

    def _send(self, clock: Clock, value: Any) -> None:
        for part in wire.encode(self._frame, value, layouts=True):
            self._pump(clock, sending=memoryview(part))

    def _receive(self, clock: Clock) -> Any:
        head = self._pump(clock, wanted=wire.HEAD.size)
        frame, header_size, data_size = wire.HEAD.unpack(head)
        if frame != self._frame or header_size > wire.MAX_HEADER_BYTES:
            raise wire.BadFrame("a frame that nobody asked for")
        if data_size > self._limits.reply_bytes:
            raise wire.BadFrame(f"{data_size} bytes; the limit is {self._limits.reply_bytes}")
        header = bytes(self._pump(clock, wanted=header_size))
        received = self._pump(clock, wanted=data_size)
        return wire.decode(header, received, most_bytes=self._limits.reply_bytes)

    def _pump(self, clock: Clock, sending: memoryview | None = None, wanted: int = 0) -> bytearray:
        """Sends all of `sending` or receives `wanted` bytes; drains the output meanwhile."""
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
        """The next bytes that come, all that are there."""
        part = self._tried(clock, select.POLLIN, lambda: self._channel.recv(_SOCKET_BUFFER))
        if not part:
            self._ended()
        return part

    def _tried(self, clock: Clock, event: int, attempt: Callable[[], T]) -> T:
        """Does what the channel may not be ready for, waiting as often as it takes."""
        poll = None
        while True:
            try:  # first without waiting: most calls are answered at once
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
            raise AnswerTimeout(f"still running after {spent}; is there a loop without an end?")

    def _drain(self) -> bool:
        """Reads what was printed; False when the output is closed."""
        open_still = self._output.drain()
        if self._output.size > self._limits.output_bytes:
            self.kill()
            raise AnswerOutputLimit(
                f"printed more than {self._limits.output_bytes} bytes: "
                "remove the print from the loop"
            )
        return open_still

    def _ended(self) -> NoReturn:
        """The channel is closed: finds out how the worker ended, and raises it."""
        self._drain()
        assert self._pidfd is not None
        if not select.select([self._pidfd], [], [], _ENDING_SECONDS)[0]:
            self.kill()
            raise AnswerProtocol("the submission closed the grader's channel")
        self._status.settimeout(_CONFINED_SECONDS)  # however busy the fork server is
        code, cpu, _ = self._exit = report_in(self._status)
        self.kill()
        raise fault_of(int(code), float(cpu), self._limits)


_END_BYTES = 2000
_PART_BYTES = 1 << 16


class Output:
    """The reading end of a worker's output. Close it."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """`limit` is the number of bytes after which no more is read."""
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.size = 0
        self.end = b""
        self._limit = limit

    def drain(self) -> bool:
        """Reads what is there, until it is too much; False where the other end is closed."""
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
        """Closes the descriptor."""
        os.close(self.descriptor)
