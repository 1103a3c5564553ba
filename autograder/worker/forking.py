"""Forks a worker for each request, and reports to the grader how the worker ended.

To request a worker, the grader sends a datagram on the control socket: a JSON object with the
worker's limits, and three descriptors (channel, status, output). To store a batch of requests that
any worker may use, the grader sends a JSON array and the descriptor of a file with the batch. On
the status socket, the worker sends `P` with its pidfd; later, the fork server sends the worker's
exit status as a JSON array. If no worker can be forked, the fork server sends `E` and the reason.
Once the worker is confined, it sends `C` on the channel.

Between two forks, the fork server runs as little code as possible: while workers share its memory,
the kernel must copy each page that the fork server changes, and split the huge page around it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import socket
import struct
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import answering, confine, heap, warming
from .answering import Request

_REQUEST_BYTES = 1 << 16
_ANCILLARY_BYTES = socket.CMSG_LEN(3 * struct.calcsize("i"))
#: the descriptor of a worker's channel
CHANNEL = 3

#: kept here, because an answer may change `os`
_exit = os._exit
#: `os.fork` would run handlers that modules have registered for locks, which are never held in a
#: process with one thread (`benchmarks/tricks.py` measures their cost). Without the handlers,
#: `random` has the same state in all forks
_fork = getattr(ctypes.PyDLL(None, use_errno=True), "_Fork", os.fork)

#: keeps an object alive even if nothing refers to it any more
_keep = ctypes.pythonapi.Py_IncRef
_keep.argtypes = (ctypes.py_object,)
_keep.restype = None

Operations = Mapping[str, Callable[..., Any]]


class Forking:
    def __init__(
        self,
        control: socket.socket,
        namespaces: int | None,
        rules: int,
        kept: list[int],
        others: Operations,
    ) -> None:
        self._control = control
        self._namespaces = namespaces
        self._rules = rules
        self._kept = kept
        self._others = others
        self._pid = os.getpid()
        #: whether memory has been prepared for a fork
        self._is_ready = False
        self._in_use = 0, 0
        self._poll = select.poll()
        #: the pid and status socket of each worker, by its pidfd
        self._workers: dict[int, tuple[int, int]] = {}
        #: the requests of each stored batch, by its digest
        self._batches: dict[str, Sequence[Request]] = {}

    def run(self) -> None:
        """Serves requests until the grader closes the connection.

        When this process ends, the kernel also ends the workers.
        """
        self._poll.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._workers:
                    self._report(descriptor)
                else:
                    self._answer()

    def _answer(self) -> None:
        request, ancillary, _, _ = self._control.recvmsg(_REQUEST_BYTES, _ANCILLARY_BYTES)
        if not request:
            os._exit(0)
        descriptors = memoryview(ancillary[0][2]).cast("i").tolist()
        if request[:1] == b"[":
            self._hold(*json.loads(request), *descriptors)
            return
        channel, status, output = descriptors
        try:
            self._ready_memory()
            if self._namespaces is not None:
                confine.next_child_apart(self._namespaces)
            pid = _fork()
            if pid < 0:
                raise OSError(ctypes.get_errno(), "no process can be forked")
            if pid == 0:
                self._become_worker(channel, status, output, json.loads(request))
            pidfd = os.pidfd_open(pid)
            self._workers[pidfd] = pid, status
            self._poll.register(pidfd, select.POLLIN)
        except OSError as error:
            _send(status, b"E" + str(error).encode())
        finally:
            os.close(channel)
            os.close(output)

    def _hold(self, digest: str, kernels: bool, descriptor: int) -> None:
        """Stores a batch of requests from the grader; no batch contains anything from students.

        If `kernels` is true, loads the delayed kernels of the second device, because correct
        answers need these kernels to execute the requests.
        """
        if kernels:
            warming.load_kernels()
        with open(descriptor, "rb") as file:
            file.seek(0)
            self._batches[digest] = heap.side_by_side(answering.requests_in(file.read()))
        self._is_ready = False

    def _keep_batches(self, digests: Sequence[str]) -> None:
        """In a worker, keeps the worker's batches, and drops every reference to all other batches.

        The memory of the other batches is not freed, because freeing it would make the kernel copy
        the pages that contain these batches.
        """
        _keep(self._batches)
        self._batches = {digest: self._batches[digest] for digest in digests}

    def _ready_memory(self) -> None:
        """Prepares the memory before the first fork, and again after each batch is stored."""
        if not self._is_ready:
            gc.freeze()  # otherwise, a worker's garbage collection would write to all pages
            gc.collect()  # frees blocks all over the heap that Python keeps for new objects
            heap.close_holes()
            self._in_use = confine.memory_in_use()
            self._is_ready = True

    def _report(self, pidfd: int) -> None:
        pid, status = self._workers.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, code, usage = os.wait4(pid, 0)
        _send(status, b"[%d, %f, %d]" % (code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))

    def _become_worker(
        self, channel: int, status: int, output: int, limits: dict[str, Any]
    ) -> None:
        try:
            self._keep_batches(limits.pop("batches"))
            _send_pidfd(status)
            if self._namespaces is not None:
                confine.show()
                confine.leave_namespaces()
            else:  # otherwise, its pid namespace ends it
                confine.die_with_parent(self._pid)
            os.dup2(channel, CHANNEL)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.dup2(os.open("/dev/null", os.O_RDWR), 0)
            _close_all_but({0, 1, 2, CHANNEL, self._rules, *self._kept})
            os.chdir("/")
            confine.limit_resources(limits, self._in_use)
            if self._namespaces is not None:
                confine.hide_processes()
            confine.drop_privileges()
            confine.lock_down(self._rules)
            own_channel = socket.socket(fileno=CHANNEL)
            own_channel.sendall(b"C")  # if it ends after this, it is the student's fault
            answering.Server(own_channel, self._others, self._batches).serve()
        except confine.LowLimit as error:
            os.write(2, str(error).encode())
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:  # a worker must never return from here, whatever the answer did
            _exit(1)


def _send(status: int, message: bytes) -> None:
    """Sends a message to the grader, and closes the status socket."""
    try:
        os.write(status, message)
    except BrokenPipeError:
        pass  # the grader has closed the connection
    finally:
        os.close(status)


def _send_pidfd(status: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the grader has closed the connection
        descriptor = os.pidfd_open(os.getpid())
        socket.send_fds(socket.socket(fileno=status), [b"P"], [descriptor])


def _close_all_but(kept: set[int]) -> None:
    edges = [*sorted(kept), 1 << 16]
    for low, high in zip(edges, edges[1:], strict=False):
        os.closerange(low + 1, high)
