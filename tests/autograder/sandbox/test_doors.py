"""Every sandbox tier denies dangerous operations, which answers try one at a time."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.records import Tier
from autograder.sandbox import Budget, ForkServer, start_fork_server

from .conftest import LIMITS, Student

ATTEMPTS = [
    "open('/etc/passwd').read()",
    "open('/dev/tty')",
    "open('/tmp/x', 'w')",
    "open('/usr/lib/written', 'w')",
    "open('/proc/1/environ').read()",
    "open('/proc/self/mem', 'rb')",
    "os.listdir('/')",
    "os.listdir('/proc')",
    "os.fork()",
    "os.execv('/bin/true', ['true'])",
    "__import__('subprocess').run(['true'])",
    "__import__('socket').socket()",
    "__import__('socket').socketpair()",
    "__import__('socket').send_fds(__import__('socket').socket(fileno=os.dup(3)), [b'x'], [0])",
    "os.kill(1, 9)",
    "os.kill(os.getppid(), 15)",
    "os.chmod('/usr', 0o777)",
    "os.chown('/usr', os.getuid(), -1)",
    "os.utime('/usr')",
    "os.truncate(os.__file__, 0)",
    "os.open(os.__file__, os.O_RDONLY | os.O_TRUNC)",
    "os.setxattr('/usr', 'user.a', b'b')",
    "os.symlink('/etc', '/usr/lib/linked')",
    "fcntl.flock(open('/dev/null'), 2)",
    "fcntl.lockf(open('/dev/null', 'w'), 2)",
    "fcntl.flock(open(os.__file__), 2)",
    "fcntl.fcntl(3, fcntl.F_SETOWN, 1)",
    "fcntl.ioctl(3, 0x5452, bytes(4))",
    "__import__('resource').setrlimit(6, (99999, 99999))",
    "__import__('multiprocessing.shared_memory').shared_memory.SharedMemory('x', True, 9)",
    "__import__('mmap').mmap(-1, 4 << 30)",
    "os.memfd_create('x')",
    "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
    "os.sched_setaffinity(0, {0})",
    "os.setuid(0)",
    "__import__('socket').socket(fileno=os.dup(3)).getsockopt(1, 77, 4)",  # SO_PEERPIDFD
    "__import__('socket').socket(fileno=os.dup(3)).getsockopt(1, 17, 12)",  # SO_PEERCRED
    "syscall(206 if os.uname().machine == 'x86_64' else 0, 8, ctypes.byref(ctypes.c_ulong()))",
    "syscall(324 if os.uname().machine == 'x86_64' else 283, 1, 0, 0)",  # membarrier
]


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_sandbox_refuses_forbidden_operations(
    student: Callable[[str], Student], attempt: str
) -> None:
    text = (
        "import ctypes, fcntl, os\n"
        "def syscall(*args):\n"
        "    if ctypes.CDLL(None, use_errno=True).syscall(*args) < 0:\n"
        "        raise OSError(ctypes.get_errno(), 'refused')\n"
        "def answer():\n"
        "    try:\n"
        f"        {attempt}\n"
        "    except (OSError, ValueError) as error:\n"
        "        return type(error).__name__\n"
        "    return 'done'\n"
    )
    assert student(text).call("answer") != "done"


def test_a_workers_arguments_contain_no_path_of_the_machine(
    student: Callable[[str], Student],
) -> None:
    made = student("import sys, torch\ndef answer():\n    return sys.argv + sys.orig_argv")
    assert not any("/" in text for text in made.call("answer"))


def test_a_worker_keeps_no_right_and_no_descriptor(student: Callable[[str], Student]) -> None:
    made = student("def answer():\n    return 1\n")
    assert made.call("answer") == 1
    process = Path(f"/proc/{made.session._pid}")
    lines = (line.split(":\t") for line in (process / "status").read_text().splitlines())
    status = {name: value for name, value in lines if ":" not in name}
    assert not any(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    if os.getuid() == 0:  # only the owner's other processes may inspect the worker
        assert int(status["CapBnd"], 16) == 0
        owner = str((process / "environ").stat().st_uid)
        assert owner not in status["Uid"].split(), "other processes of this user may inspect it"
        kept = [os.readlink(path) for path in (process / "fd").iterdir()]
        assert sum(name.startswith("socket:") for name in kept) == 1, "more than its channel"
        kept = [name for name in kept if not name.startswith(("socket:", "pipe:", "/dev/null"))]
        assert all(Path(name).is_dir() for name in kept)
    else:
        with pytest.raises(PermissionError):
            (process / "environ").read_bytes()


def test_tier_a_hides_the_files_of_processes(
    parent: ForkServer, student: Callable[[str], Student]
) -> None:
    made = student("import os\ndef answer():\n    return os.path.lexists('/proc/self')\n")
    assert made.call("answer") is (parent.tier is not Tier.A)


def test_a_worker_ends_with_its_fork_server() -> None:
    """Without namespaces, a worker ends only because the kernel signals its parent's end."""
    with start_fork_server(Tier.C) as server:
        session = server.open(LIMITS, questions=1)
        session.ask(Budget.of(LIMITS), "load", "module", "def answer():\n    return 1\n", 7)
        assert session._pidfd is not None
        os.kill(server.pid, signal.SIGKILL)
        assert select.select([session._pidfd], [], [], 10)[0]
        session.close()


def test_the_sandbox_allows_harmless_operations(student: Callable[[str], Student]) -> None:
    made = student(
        "import os, torch, colorsys, encodings.utf_16\n"
        "def answer():\n"
        "    with open(os.devnull, 'w') as null:\n"
        "        print('quiet', file=null)\n"
        "    return torch.ones(2) * 2, 'x'.encode('utf-16').decode('utf-16')\n"
    )
    value, text = made.call("answer")
    assert value.tolist() == [2.0, 2.0]
    assert text == "x"
