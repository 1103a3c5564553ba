"""Lists the system calls that a worker may make; `seccomp` builds a filter from this list.

The list was made by tracing answers to all assignments, and was then extended with the calls that
other versions of Python and the C library use for the same purposes; the tests grade all of the
course's correct answers under the filter. Other calls fail with EPERM, but the calls in `ABSENT`,
and newer calls, fail with ENOSYS, as if the kernel did not have them.
"""

from __future__ import annotations

#: the numbers on x86_64 and aarch64, or None if an architecture has no such call
Numbers = tuple[int | None, int | None]

#: calls that are allowed with any arguments
ALLOWED: dict[str, Numbers] = {
    # The worker's channel and output, and pipes; the number of descriptors is limited, and files
    # can't grow.
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "write": (1, 64),
    "writev": (20, 66),
    "lseek": (8, 62),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    # Modules that are imported late, and the standard library's data; Landlock limits which files
    # can be read.
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    # Memory for malloc; torch also writes machine code to pages that it then makes executable.
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "brk": (12, 214),
    # Threads that `clone` has created, and their end.
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "gettid": (186, 178),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # The worker's own signal handlers and timers, which affect no other worker.
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "pause": (34, None),
    "alarm": (37, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    # Clocks, random numbers and sizes; sorting asks for the size of the machine's memory.
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "getrandom": (318, 278),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    # The worker's identity: the user `nobody`.
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
}

#: calls that are allowed with certain arguments only, which `seccomp` checks
LOOKED_AT: dict[str, Numbers] = {
    "open": (2, None),
    "openat": (257, 56),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "madvise": (28, 233),
    "futex": (202, 98),
    "clone": (56, 220),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "getsockopt": (55, 209),
    "prctl": (157, 167),
    "arch_prctl": (158, None),
    "prlimit64": (302, 261),
    "tgkill": (234, 131),
}

#: calls whose flags are in memory, which a filter can't read; the C library works without these
#: calls
ABSENT: dict[str, Numbers] = {"clone3": (435, 435), "openat2": (437, 437)}
#: calls with this number or a higher one fail as if unknown, even if the kernel has them
UNKNOWN = 450
