"""A seccomp filter for a worker: compute, read, write to what is open, start threads; little else.

Denied calls fail with EPERM, so that an honest mistake raises instead of killing. x86_64 and
aarch64; other machines raise OSError and have no tier.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_DENY = 0x50000 | errno.EPERM
_ABSENT = 0x50000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
_CLONE_THREAD = 0x10000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

#: denied system calls: (x86_64, aarch64); None where an architecture has no such call
DENIED: dict[str, tuple[int | None, int | None]] = {
    # network and other processes' ears
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    # other programs and processes
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "process_madvise": (440, 440),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # namespaces and mounts
    "mount": (165, 40),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "setns": (308, 268),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # kernel interfaces with a history
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    "vmsplice": (278, 75),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "inotify_init1": (294, 26),
    "inotify_init": (253, None),
    # memory and objects that no limit counts
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "mlock": (149, 228),
    "mlock2": (325, 284),
    "mlockall": (151, 230),
    # limits and priorities
    "setrlimit": (160, 164),
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    # what Landlock does not cover
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "flock": (73, 32),
}
#: fcntl commands that lock a file or watch it: visible to every other process
_FCNTL = (72, 25)
_FCNTL_DENIED = (6, 7, 37, 38, 1024, 1026)  # SETLK, SETLKW, OFD_SETLK, OFD_SETLKW, SETLEASE, NOTIFY
_CLONE, _CLONE3 = (56, 220), (435, 435)
_PRLIMIT, _TGKILL = (302, 261), (234, 131)


def install() -> None:
    """Puts the filter on the calling process and all its threads to come, for good."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no seccomp filter is written for {machine}")
    program = _program(machine)
    memory = ctypes.create_string_buffer(program)
    libc = ctypes.CDLL(None, use_errno=True)
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(memory))
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, head, 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _program(machine: str) -> bytes:
    i = 0 if machine == "x86_64" else 1
    steps = [
        _step(_LOAD, 0, 0, _ARCHITECTURE),
        _step(_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        _step(_RETURN, 0, 0, _KILL),
        _step(_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # the x32 numbers
        steps += [_step(_AT_LEAST, 0, 1, 0x40000000), _step(_RETURN, 0, 0, _KILL)]
    # clone3 hides its flags in memory: the C library falls back to clone
    steps += [_step(_EQUAL, 0, 1, _CLONE3[i]), _step(_RETURN, 0, 0, _ABSENT)]
    steps += _threads_only(i) + _prlimit_reads_only(i) + _signals_to_itself_only(i) + _no_locks(i)
    for numbers in DENIED.values():
        number = numbers[i]
        if number is not None:
            steps += [_step(_EQUAL, 0, 1, number), _step(_RETURN, 0, 0, _DENY)]
    steps.append(_step(_RETURN, 0, 0, _ALLOW))
    return b"".join(steps)


def _threads_only(i: int) -> list[bytes]:
    return [
        _step(_EQUAL, 0, 4, _CLONE[i]),
        _step(_LOAD, 0, 0, _ARGUMENT_0),
        _step(_ANY_BIT, 1, 0, _CLONE_THREAD),
        _step(_RETURN, 0, 0, _DENY),
        _step(_RETURN, 0, 0, _ALLOW),
    ]


def _prlimit_reads_only(i: int) -> list[bytes]:
    return [
        _step(_EQUAL, 0, 7, _PRLIMIT[i]),
        _step(_LOAD, 0, 0, _ARGUMENT_0 + 16),  # the new limit's address, low and high half
        _step(_EQUAL, 0, 3, 0),
        _step(_LOAD, 0, 0, _ARGUMENT_0 + 20),
        _step(_EQUAL, 0, 1, 0),
        _step(_RETURN, 0, 0, _ALLOW),
        _step(_RETURN, 0, 0, _DENY),
        _step(_RETURN, 0, 0, _DENY),
    ]


def _signals_to_itself_only(i: int) -> list[bytes]:
    return [
        _step(_EQUAL, 0, 4, _TGKILL[i]),
        _step(_LOAD, 0, 0, _ARGUMENT_0),
        _step(_EQUAL, 0, 1, os.getpid()),
        _step(_RETURN, 0, 0, _ALLOW),
        _step(_RETURN, 0, 0, _DENY),
    ]


def _no_locks(i: int) -> list[bytes]:
    steps = [
        _step(_EQUAL, 0, 2 * len(_FCNTL_DENIED) + 2, _FCNTL[i]),
        _step(_LOAD, 0, 0, _ARGUMENT_1),
    ]
    for command in _FCNTL_DENIED:
        steps += [_step(_EQUAL, 0, 1, command), _step(_RETURN, 0, 0, _DENY)]
    return [*steps, _step(_RETURN, 0, 0, _ALLOW)]


def _step(code: int, if_true: int, if_false: int, k: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, k & 0xFFFFFFFF)
