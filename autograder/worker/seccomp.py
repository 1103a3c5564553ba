"""A seccomp filter for a worker: compute, read, write to what is open, start threads; little else.

Denied calls fail with EPERM, so that an honest mistake raises instead of killing; calls newer than
this table do not exist. x86_64 and aarch64; other machines raise OSError and have no tier.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from functools import cache

from .system_calls import DENIED

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_DENY = 0x50000 | errno.EPERM
_ABSENT = 0x50000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32
_CLONE_THREAD = 0x10000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

#: the first number of which a worker sees nothing, whatever the kernel has there
_UNKNOWN = 450
#: calls of which some commands are denied: the number of the call, which argument, the commands.
#: Locks and owners of a file reach other processes; TIOCSTI types into a terminal.
_COMMANDS: dict[str, tuple[tuple[int, int], int, tuple[int, ...]]] = {
    # SETLK, SETLKW, SETOWN, SETSIG, SETOWN_EX, OFD_SETLK, OFD_SETLKW, SETLEASE, NOTIFY, SETPIPE_SZ
    "fcntl": ((72, 25), _ARGUMENT_1, (6, 7, 8, 10, 15, 37, 38, 1024, 1026, 1031)),
    # FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI
    "ioctl": ((16, 29), _ARGUMENT_1, (0x5452, 0x8901, 0x8902, 0x5412)),
    # PEERCRED, PEERGROUPS, PEERPIDFD: who the grader is
    "getsockopt": ((55, 209), _ARGUMENT_2, (17, 59, 77)),
    # PDEATHSIG, DUMPABLE
    "prctl": ((157, 167), _ARGUMENT_0, (1, 4)),
}
#: calls whose flags stand in memory, where a filter can't look: the C library does without
_CLONE3, _OPENAT2 = 435, 437
_CLONE, _PRLIMIT, _TGKILL = (56, 220), (302, 261), (234, 131)
_OPEN, _OPENAT = (2, None), (257, 56)
_ACCESS_MODE, _TRUNCATE = 0x3, 0x200


def install() -> None:
    """Puts the filter on the calling process and all its threads to come, for good."""
    program = prepared(platform.machine()) + _to_itself_only()
    memory = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(memory))
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, head, 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


@cache
def prepared(machine: str) -> bytes:
    """The filter but for its end, which is the process's own; OSError where none is written."""
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no seccomp filter is written for {machine}")
    i = 0 if machine == "x86_64" else 1
    steps = [
        _step(_LOAD, 0, 0, _ARCHITECTURE),
        _step(_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        _step(_RETURN, 0, 0, _KILL),
        _step(_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # the x32 numbers
        steps += [_step(_AT_LEAST, 0, 1, 0x40000000), _step(_RETURN, 0, 0, _KILL)]
    steps += _absent(_CLONE3) + _absent(_OPENAT2)
    steps += [_step(_AT_LEAST, 0, 1, _UNKNOWN), _step(_RETURN, 0, 0, _ABSENT)]
    steps += _case(_CLONE[i], _THREADS_ONLY) + _case(_PRLIMIT[i], _LOOKS_ONLY)
    steps += _case(_OPEN[i], _no_truncation(_ARGUMENT_1))
    steps += _case(_OPENAT[i], _no_truncation(_ARGUMENT_2))
    for call, argument, commands in _COMMANDS.values():
        steps += _case(call[i], _without(argument, commands))
    for numbers in DENIED.values():
        steps += _case(numbers[i], [_step(_RETURN, 0, 0, _DENY)])
    return b"".join(steps)


def _step(code: int, if_true: int, if_false: int, k: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, k & 0xFFFFFFFF)


def _case(number: int | None, steps: list[bytes]) -> list[bytes]:
    """These steps, which end in a decision, for one system call."""
    return [] if number is None else [_step(_EQUAL, 0, len(steps), number), *steps]


def _absent(number: int) -> list[bytes]:
    return _case(number, [_step(_RETURN, 0, 0, _ABSENT)])


_THREADS_ONLY = [
    _step(_LOAD, 0, 0, _ARGUMENT_0),
    _step(_ANY_BIT, 1, 0, _CLONE_THREAD),
    _step(_RETURN, 0, 0, _DENY),
    _step(_RETURN, 0, 0, _ALLOW),
]
_LOOKS_ONLY = [
    _step(_LOAD, 0, 0, _ARGUMENT_2),  # the new limit's address, low and high half
    _step(_EQUAL, 0, 3, 0),
    _step(_LOAD, 0, 0, _ARGUMENT_2 + 4),
    _step(_EQUAL, 0, 1, 0),
    _step(_RETURN, 0, 0, _ALLOW),
    _step(_RETURN, 0, 0, _DENY),
]


def _to_itself_only() -> bytes:
    """The end of the filter: signals to the process itself, and all calls not decided before."""
    steps = [
        _step(_LOAD, 0, 0, _ARGUMENT_0),
        _step(_EQUAL, 0, 1, os.getpid()),
        _step(_RETURN, 0, 0, _ALLOW),
        _step(_RETURN, 0, 0, _DENY),
    ]
    number = _TGKILL[0 if platform.machine() == "x86_64" else 1]
    return b"".join([*_case(number, steps), _step(_RETURN, 0, 0, _ALLOW)])


def _no_truncation(flags: int) -> list[bytes]:
    """A file that may be read only could be emptied before version 3 of Landlock."""
    return [
        _step(_LOAD, 0, 0, flags),
        _step(_AND, 0, 0, _ACCESS_MODE | _TRUNCATE),
        _step(_EQUAL, 0, 1, _TRUNCATE),
        _step(_RETURN, 0, 0, _DENY),
        _step(_RETURN, 0, 0, _ALLOW),
    ]


def _without(argument: int, commands: tuple[int, ...]) -> list[bytes]:
    steps = [_step(_LOAD, 0, 0, argument)]
    for command in commands:
        steps += [_step(_EQUAL, 0, 1, command), _step(_RETURN, 0, 0, _DENY)]
    return [*steps, _step(_RETURN, 0, 0, _ALLOW)]
