"""Confines a worker before it gets any student's code; the order of the steps matters.

Namespaces and mounts are created first, because this needs privileges that later steps remove;
Landlock and seccomp are applied last.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Mapping
from typing import Any

from . import landlock, seccomp
from .c_library import check, mount, prctl, setns, syscall, unshare

_NEWNS, _NEWIPC = 0x20000, 0x8000000
_NEWUSER, _NEWPID = 0x10000000, 0x20000000
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
_PRIVATE_ALL_BELOW = 0x44000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAPSET = {"x86_64": 126, "aarch64": 91}
_LAST_CAPABILITY = 41
#: signals that can still end a worker, or that Python itself uses
_SIGNALS_LEFT = {
    *(signal.SIGKILL, signal.SIGSTOP, signal.SIGABRT, signal.SIGSEGV, signal.SIGXCPU),
    *(signal.SIGINT, signal.SIGCHLD),
}
_SIGNALS_IGNORED = sorted(signal.valid_signals() - _SIGNALS_LEFT)
_WAIT = "import os; os.wait()"
#: the user id and the group id of every worker: `nobody`
NOBODY = 65534
_IDS = f"{NOBODY} {NOBODY} 1".encode()
_ID_MAPS = (
    ("/proc/self/setgroups", b"deny"),
    ("/proc/self/uid_map", _IDS),
    ("/proc/self/gid_map", _IDS),
)
_SET_CAPABILITIES = _CAPSET.get(os.uname().machine, -1)
_OWN_CAPABILITIES, _NO_CAPABILITY = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()

#: the options of the shell's `ulimit` that correspond to a worker's limits
_FLAGS = {
    resource.RLIMIT_AS: "v",
    resource.RLIMIT_DATA: "d",
    resource.RLIMIT_CPU: "t",
    resource.RLIMIT_FSIZE: "f",
    resource.RLIMIT_NPROC: "u",
    resource.RLIMIT_NOFILE: "n",
    resource.RLIMIT_CORE: "c",
    resource.RLIMIT_MSGQUEUE: "q",
}


class LowLimit(Exception):
    """Raised if the grader's own limits are lower than a worker's. The message says what to do."""


def pid_namespaces() -> int:
    """Continues as the first process of new user and pid namespaces.

    The new process may create more namespaces. Returns the descriptor that `next_child_apart`
    needs. The original process executes a different program, so that the two processes share no
    memory. That program only waits until the new process ends.
    """
    show()
    check(unshare(_NEWUSER | _NEWPID), "unshare")
    _keep_ids()
    child = os.fork()
    if child:
        os.closerange(3, 1 << 16)
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", _WAIT])
    check(prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def next_child_apart(own: int) -> None:
    """Makes the next fork the first process of a new pid namespace."""
    # A process can request a new namespace only as long as its children would be created in its own
    # namespace.
    check(setns(own, _NEWPID), "setns")
    check(unshare(_NEWPID), "unshare")


def leave_namespaces() -> None:
    """Enters new user, mount and ipc namespaces, and keeps the user and group ids.

    The worker stays in the fork server's network namespace, which is empty, and the seccomp filter
    keeps it from opening a socket. Creating and removing a network namespace for each worker would
    take more time (see `benchmarks/tricks.py`).
    """
    check(unshare(_NEWUSER | _NEWNS | _NEWIPC), "unshare")
    _keep_ids()


def _keep_ids() -> None:
    for name, text in _ID_MAPS:
        file = os.open(name, os.O_WRONLY)
        os.write(file, text)
        os.close(file)


def drop_privileges() -> None:
    """Drops all capabilities permanently, and keeps other processes from inspecting this one."""
    empty_bounding_set()
    check(syscall(_SET_CAPABILITIES, _OWN_CAPABILITIES, _NO_CAPABILITY), "capset")
    check(prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    hide()


def empty_bounding_set() -> None:
    """Keeps programs that this process executes from gaining capabilities.

    Fails silently for ordinary users. Nothing depends on this step, because `no_new_privs` has the
    same effect.
    """
    for capability in range(_LAST_CAPABILITY):
        prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def hide() -> None:
    """Hides this process's /proc/<pid> from other processes, and prevents core dumps."""
    check(prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")


def show() -> None:
    """Reverts `hide`, because a process needs its own /proc files to map its ids."""
    check(prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable")


def die_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when its parent ends.

    Without a pid namespace, nothing else would end this process.
    """
    check(prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")
    if os.getppid() != parent:  # it ended before the call above
        os._exit(0)


def hide_processes() -> None:
    """Mounts an empty, read-only file system over /proc, to hide the namespace's processes."""
    _mount(b"none", b"/", None, _PRIVATE_ALL_BELOW, None)
    _mount(b"tmpfs", b"/proc", b"tmpfs", _NOSUID | _NODEV | _NOEXEC | _READ_ONLY, b"size=4k")


def ignore_signals() -> None:
    """Ignores most signals, so that workers behave in the same way in all tiers.

    The reason is that a worker with its own pid namespace can't end itself with a signal, whereas
    a worker without one could. The fork server calls this function once, and workers inherit the
    setting.
    """
    for number in _SIGNALS_IGNORED:
        signal.signal(number, signal.SIG_IGN)


def memory_in_use() -> tuple[int, int]:
    """Returns the sizes of this process's address space and private writable memory, in bytes."""
    return _status_bytes(b"VmSize"), _status_bytes(b"VmData")


def limit_resources(limits: Mapping[str, Any], in_use: tuple[int, int]) -> None:
    """Sets the resource limits; the memory that is already in use is not counted.

    `in_use` is measured only once, in the fork server, because every worker starts with the fork
    server's memory.
    """
    used, data = in_use
    memory, cpu = int(limits["memory_bytes"]), int(limits["cpu_seconds_in_all"])
    for kind, soft, hard in (
        (resource.RLIMIT_AS, used + memory, used + memory),
        (resource.RLIMIT_DATA, data + memory, data + memory),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NPROC, int(limits["processes"]), int(limits["processes"])),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        try:
            resource.setrlimit(kind, (soft, hard))
        except ValueError:
            there = resource.getrlimit(kind)[1]  # shells count some limits in blocks
            raise LowLimit(
                f"a worker needs a resource limit (ulimit -{_FLAGS[kind]}) of {hard}; the grader "
                f"was started with {there}\n    fix: start it without this limit, or raise it in "
                "the shell or the service that starts the grader"
            ) from None


def lock_down(rules: int) -> None:
    """Applies Landlock, then seccomp, before any of the student's code runs."""
    landlock.restrict(rules)
    os.close(rules)
    seccomp.install()


def _status_bytes(field: bytes) -> int:
    with open("/proc/self/status", "rb") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024


def _mount(
    source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes | None
) -> None:
    result = mount(source, target, kind, ctypes.c_ulong(flags), data)
    check(result, f"mount {target.decode()}")
