"""For every system call, the filter decides correctly and a worker gets the right error."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from autograder.errors import AnswerCrashed
from autograder.worker import seccomp
from autograder.worker.system_calls import ALLOWED, LOOKED_AT, UNKNOWN

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HERE = platform.machine()
OWN_PID = 77
ALLOW, KILL = 0x7FFF0000, 0x80000000
DENY, ABSENT = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
#: allowed calls that a test can't make, because they end their caller or wait for a signal
NOT_CALLED = ("exit", "exit_group", "rt_sigreturn", "pause")
#: uretprobe and uprobe, which newer kernels do not filter, because they fail outside of a probe
NOT_FILTERED = (335, 336)
#: calls that would be a way out of the sandbox, or into another worker
NEVER: dict[str, tuple[int | None, int | None]] = {
    **{"socket": (41, 198), "connect": (42, 203), "sendmsg": (46, 211), "recvmsg": (47, 212)},
    **{"fork": (57, None), "execve": (59, 221), "execveat": (322, 281), "kill": (62, 129)},
    **{"ptrace": (101, 117), "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438)},
    **{"unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "chroot": (161, 51)},
    **{"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)},
    **{"io_uring_setup": (425, 425), "io_setup": (206, 0), "keyctl": (250, 219)},
    **{"memfd_create": (319, 279), "shmget": (29, 194), "msgget": (68, 186)},
    **{"truncate": (76, 45), "unlink": (87, None), "unlinkat": (263, 35), "fchmod": (91, 52)},
    **{"setrlimit": (160, 164), "seccomp": (317, 277), "landlock_restrict_self": (446, 446)},
    **{"mincore": (27, 232), "membarrier": (324, 283), "setuid": (105, 146)},
}


def decided(machine: str, number: int, args: Sequence[int] = (), where: int = 0) -> int:
    """Interprets the filter's program as the kernel does; returns its decision on a call."""
    full = [*args, *[0] * (6 - len(args))]
    data = struct.pack(
        "<iIQ6Q", number, where or ARCHITECTURES[machine], 0, *[arg & (1 << 64) - 1 for arg in full]
    )
    program = list(struct.iter_unpack("<HBBI", seccomp.program_of(machine, OWN_PID)))
    held = place = 0
    while True:
        code, if_true, if_false, k = program[place]
        place += 1
        match code:
            case 0x20:
                held = struct.unpack_from("<I", data, k)[0]
            case 0x54:
                held &= k
            case 0x06:
                return k
            case 0x15 | 0x35 | 0x45:
                true = {0x15: held == k, 0x35: held >= k, 0x45: bool(held & k)}[code]
                place += if_true if true else if_false
            case _:
                raise AssertionError(f"no instruction of the filter: {code:#x}")


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_only_what_is_listed_is_allowed(machine: str) -> None:
    column = list(ARCHITECTURES).index(machine)
    listed = {numbers[column] for numbers in ALLOWED.values()} - {None}
    looked_at = {numbers[column] for numbers in LOOKED_AT.values()} - {None}
    always = {number for number in range(UNKNOWN) if decided(machine, number) == ALLOW}
    assert listed <= always <= listed | looked_at
    rest = set(range(UNKNOWN)) - listed - looked_at - {435, 437}
    assert {decided(machine, number) for number in rest} == {DENY}
    beyond = [435, 437, *range(UNKNOWN, 600), (1 << 30) - 1]
    assert {decided(machine, number) for number in beyond} == {ABSENT}
    assert not (listed | looked_at) & {numbers[column] for numbers in NEVER.values()}


def test_another_way_to_call_the_kernel_ends_the_worker() -> None:
    assert decided("x86_64", 1, where=0x40000003) == KILL  # 32 bits: int 0x80
    assert decided("x86_64", 0x40000001) == KILL  # x32
    assert decided("aarch64", 4, where=0x40000028) == KILL  # 32 bits


#: calls, with their arguments and whether they are allowed
ARGUMENTS: list[tuple[str, Sequence[int], bool]] = [
    ("openat", (0, 0, 0), True),
    ("openat", (0, 0, 0o1000), False),  # O_RDONLY | O_TRUNC
    ("openat", (0, 0, 0o1001), True),  # Landlock decides which files may be written
    ("sendto", (3, 1, 1, 0, 0, 0), True),
    ("sendto", (3, 1, 1, 0, 1 << 32, 16), False),
    ("sendto", (3, 1, 1, 0x4000, 0, 0), True),  # NOSIGNAL
    ("sendto", (3, 1, 1, 0x1, 0, 0), False),  # OOB
    ("sendto", (3, 1, 1, 0x4001, 0, 0), False),
    ("recvfrom", (3, 1, 1, 0, 0, 0), True),
    ("recvfrom", (3, 1, 1, 0x100, 0, 0), True),  # WAITALL
    ("recvfrom", (3, 1, 1, 0x1, 0, 0), False),  # OOB
    ("recvfrom", (3, 1, 1, 0x2000, 0, 0), False),  # ERRQUEUE
    ("madvise", (0, 4096, 4), True),  # DONTNEED, with which the C library returns memory
    ("madvise", (0, 4096, 102), True),  # GUARD_INSTALL, for stacks of threads in newer libraries
    ("madvise", (0, 4096, 12), False),  # MERGEABLE
    ("madvise", (0, 4096, 21), False),  # PAGEOUT
    ("madvise", (0, 4096, 100), False),  # HWPOISON
    ("futex", (1, 128), True),  # WAIT, private
    ("futex", (1, 129), True),  # WAKE, private
    ("futex", (1, 0), True),
    ("futex", (1, 9 | 256), True),  # how pthread_join waits
    ("futex", (1, 1), False),  # WAKE of other waiting processes
    ("futex", (1, 3), False),  # REQUEUE
    ("clone", (0x3D0F00,), True),  # pthread_create
    ("clone", (0x11,), False),  # fork
    ("clone", (0x3D0F00 & ~0x10000,), False),
    ("clone", (0x3D0F00 | 0x20000000,), False),  # a thread in a new pid namespace
    ("fcntl", (3, 3), True),
    ("fcntl", (3, 6), False),  # SETLK
    ("fcntl", (3, 8), False),  # SETOWN
    ("fcntl", (3, 1031), False),  # SETPIPE_SZ
    ("ioctl", (0, 0x5401), True),
    ("ioctl", (0, 0x5412), False),  # TIOCSTI
    ("ioctl", (0, 0xC0C4FF0B), False),  # PIDFD_GET_INFO
    ("getsockopt", (3, 1, 3), True),
    ("getsockopt", (3, 1, 17), False),  # PEERCRED
    ("getsockopt", (3, 1, 77), False),  # PEERPIDFD
    ("prctl", (15,), True),
    ("prctl", (4, 1), False),  # SET_DUMPABLE
    ("prctl", (22, 2), False),  # SET_SECCOMP
    ("prlimit64", (0, 7, 0, 1), True),
    ("prlimit64", (0, 7, 1 << 32), False),
    ("prlimit64", (1, 7, 0, 1), False),  # of another process
    ("tgkill", (OWN_PID, 1, 9), True),
    ("tgkill", (OWN_PID + 1, 1, 9), False),
]


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(("name", "args", "allowed"), ARGUMENTS)
def test_arguments_decide_whether_a_call_is_allowed(
    machine: str, name: str, args: Sequence[int], allowed: bool
) -> None:
    number = LOOKED_AT[name][list(ARCHITECTURES).index(machine)]
    assert number is not None
    assert decided(machine, number, args) == (ALLOW if allowed else DENY)


CALLS = """
import ctypes
def errors(numbers):
    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for number in numbers:
        ctypes.set_errno(0)
        failed = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6) < 0
        found.append(ctypes.get_errno() if failed else 0)
    return found
"""


def test_a_worker_gets_the_errors_that_the_filter_decides(student: Callable[[str], Any]) -> None:
    column = list(ARCHITECTURES).index(HERE)
    left_out = {*(ALLOWED[name][column] for name in NOT_CALLED), *NOT_FILTERED}
    numbers = [number for number in (*range(600), (1 << 30) - 1) if number not in left_out]
    expected = {number: decided(HERE, number, [-1] * 6) for number in numbers}
    errors = dict(zip(numbers, student(CALLS).call("errors", numbers), strict=True))
    # with arguments of -1, an allowed call fails in the kernel with a different error
    wrong = {
        number: errno.errorcode.get(error, error)
        for number, error in errors.items()
        if (error == errno.EPERM if expected[number] == ALLOW else error != expected[number] & 511)
    }
    assert not wrong


@pytest.mark.skipif(HERE != "x86_64", reason="x86_64 alone has two more ways to call its kernel")
@pytest.mark.parametrize(
    "way",
    [
        "ctypes.CDLL(None).syscall(ctypes.c_long(0x40000027))",
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()",
    ],
    ids=["x32", "int_0x80"],
)
def test_a_worker_ends_where_it_calls_another_way(student: Callable[[str], Any], way: str) -> None:
    made = student(
        "import ctypes, mmap\n"
        "def call():\n"
        "    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        "    code.write(bytes.fromhex('b814000000cd80c3'))  # getpid by int 0x80\n"
        f"    return {way}\n"
    )
    with pytest.raises(AnswerCrashed):
        made.call("call")
