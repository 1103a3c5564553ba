"""Builds the seccomp filter that lets workers compute, read, write and start threads.

System calls that `system_calls` does not list fail with EPERM, so that an honest mistake raises an
error instead of killing the process. However, the calls in `system_calls.ABSENT`, and calls that
are newer than the list, fail with ENOSYS. The filter supports x86_64 and aarch64; on other
machines, an OSError is raised, and no tier works.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache
from typing import Any

from .c_library import check, prctl
from .system_calls import ABSENT, ALLOWED, LOOKED_AT, UNKNOWN

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_DENY = 0x50000 | errno.EPERM
_ABSENT = 0x50000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENT = (16, 24, 32, 40, 48, 56)
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
MACHINE = os.uname().machine

#: the flags that thread libraries pass to `clone`, and the one that makes the child a thread
_THREAD_FLAGS, _CLONE_THREAD = 0x7D0F00, 0x10000
_FUTEX_PRIVATE, _FUTEX_COMMAND = 0x80, 0x7F
#: WAIT, WAIT_BITSET
_WAITS = (0, 9)
#: flags for receiving and sending messages
_PEEK, _DONTWAIT, _WAITALL, _NOSIGNAL = 0x2, 0x40, 0x100, 0x4000
#: NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP, and
#: GUARD_INSTALL and GUARD_REMOVE, which newer C libraries use for thread stacks
_ADVICES = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 102, 103)
_ACCESS_MODE, _TRUNCATE = 0x3, 0x200


def install() -> None:
    """Permanently installs the filter for the calling process and all its future threads."""
    _, head = filter_of(MACHINE, os.getpid())
    check(prctl(_PR_SET_SECCOMP, _MODE_FILTER, head, 0, 0), "seccomp")


@cache
def filter_of(machine: str, pid: int) -> tuple[Any, bytes]:
    """Returns the filter for a process as a buffer, and the header that points to this buffer.

    Workers in pid namespaces all have the same process id, so their filter is made only once,
    before the first fork.
    """
    program = program_of(machine, pid)
    memory = ctypes.create_string_buffer(program)
    return memory, struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(memory))


def program_of(machine: str, pid: int) -> bytes:
    """Returns the filter for a process; the last steps let the process send signals to itself."""
    signals_itself = _case(LOOKED_AT["tgkill"][_column(machine)], _only(0, (pid,)))
    return b"".join([prepared(machine), *signals_itself, _step(_RETURN, 0, 0, _DENY)])


@cache
def prepared(machine: str) -> bytes:
    """Returns the part of the filter that is the same for all processes.

    Raises OSError if there is no filter for the machine.
    """
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"there is no seccomp filter for {machine}")
    steps = [
        _step(_LOAD, 0, 0, _ARCHITECTURE),
        _step(_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        _step(_RETURN, 0, 0, _KILL),
        _step(_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # x32 call numbers
        steps += [_step(_AT_LEAST, 0, 1, 0x40000000), _step(_RETURN, 0, 0, _KILL)]
    steps += [_step(_AT_LEAST, 0, 1, UNKNOWN), _step(_RETURN, 0, 0, _ABSENT)]
    column = _column(machine)
    for numbers in ABSENT.values():
        steps += _case(numbers[column], [_step(_RETURN, 0, 0, _ABSENT)])
    for name, decision in _decisions().items():
        steps += _case(LOOKED_AT[name][column], decision)
    for numbers in ALLOWED.values():
        steps += _case(numbers[column], [_step(_RETURN, 0, 0, _ALLOW)])
    return b"".join(steps)


def _decisions() -> dict[str, list[bytes]]:
    """Returns the filter steps that check system calls' arguments, keyed by the call's name."""
    return {
        # Landlock before version 3 lets a process truncate a file that it opens read-only.
        "open": _no_truncation(_ARGUMENT[1]),
        "openat": _no_truncation(_ARGUMENT[2]),
        # only to the other end of the channel, not to an address
        "sendto": [*_is_zero(4), *_only(3, (0, _NOSIGNAL))],
        # no out-of-band bytes, and no errors from other sockets
        "recvfrom": _only(3, (0, _PEEK, _DONTWAIT, _WAITALL, _NOSIGNAL)),
        # no merging of pages with those of other workers, and no reclaiming of pages
        "madvise": _only(2, _ADVICES),
        # Waking needs no write access, and could reach other processes that wait at an address in a
        # shared library. Waiting is allowed, because the C library joins threads in this way.
        "futex": [
            _step(_LOAD, 0, 0, _ARGUMENT[1]),
            _step(_ANY_BIT, 0, 1, _FUTEX_PRIVATE),
            _step(_RETURN, 0, 0, _ALLOW),
            _step(_AND, 0, 0, _FUTEX_COMMAND),
            *_one_of(_WAITS),
        ],
        # only threads, not processes or namespaces
        "clone": [
            _step(_LOAD, 0, 0, _ARGUMENT[0]),
            _step(_ANY_BIT, 0, 1, ~_THREAD_FLAGS),
            _step(_RETURN, 0, 0, _DENY),
            _step(_ANY_BIT, 1, 0, _CLONE_THREAD),
            _step(_RETURN, 0, 0, _DENY),
            _step(_RETURN, 0, 0, _ALLOW),
        ],
        # DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC; no locks, owners or larger pipes
        "fcntl": _only(1, (0, 1, 2, 3, 4, 1030)),
        # TCGETS, TCGETS2, TIOCGWINSZ (which ask about a terminal), FIONREAD, FIONBIO, FIONCLEX,
        # FIOCLEX
        "ioctl": _only(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
        # TYPE, ERROR, PROTOCOL, DOMAIN, but not the identity of the grader
        "getsockopt": _only(2, (3, 4, 38, 39)),
        # SET_NAME, GET_NAME, SET_VMA, for names of threads and memory
        "prctl": _only(0, (15, 16, 0x53564D41)),
        # GET_XCOMP_SUPP, GET_XCOMP_PERM, REQ_XCOMP_PERM, for torch's matrix tiles
        "arch_prctl": _only(0, (0x1021, 0x1022, 0x1023)),
        # A worker may read its own limits, but not change them or read those of others.
        "prlimit64": [*_is_zero(0), *_is_zero(2), _step(_RETURN, 0, 0, _ALLOW)],
    }


def _column(machine: str) -> int:
    return list(_ARCHITECTURES).index(machine)


def _step(code: int, if_true: int, if_false: int, k: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, k & 0xFFFFFFFF)


def _case(number: int | None, steps: list[bytes]) -> list[bytes]:
    """Returns steps that apply `steps`, which must end with a decision, to one system call only."""
    return [] if number is None else [_step(_EQUAL, 0, len(steps), number), *steps]


def _only(argument: int, values: tuple[int, ...]) -> list[bytes]:
    """Returns steps that allow a call if a 32-bit argument is one of `values`."""
    return [_step(_LOAD, 0, 0, _ARGUMENT[argument]), *_one_of(values)]


def _one_of(values: tuple[int, ...]) -> list[bytes]:
    """Returns steps that allow a call if the loaded value is one of `values`."""
    steps = []
    for value in values:
        steps += [_step(_EQUAL, 0, 1, value), _step(_RETURN, 0, 0, _ALLOW)]
    return [*steps, _step(_RETURN, 0, 0, _DENY)]


def _is_zero(argument: int) -> list[bytes]:
    """Returns steps that deny a call unless all 64 bits of an argument are zero."""
    steps = []
    for half in (0, 4):
        steps += [
            _step(_LOAD, 0, 0, _ARGUMENT[argument] + half),
            _step(_EQUAL, 1, 0, 0),
            _step(_RETURN, 0, 0, _DENY),
        ]
    return steps


def _no_truncation(flags: int) -> list[bytes]:
    return [
        _step(_LOAD, 0, 0, flags),
        _step(_AND, 0, 0, _ACCESS_MODE | _TRUNCATE),
        _step(_EQUAL, 0, 1, _TRUNCATE),
        _step(_RETURN, 0, 0, _DENY),
        _step(_RETURN, 0, 0, _ALLOW),
    ]
