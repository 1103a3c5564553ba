"""Operations that every tier denies. The attack corpus tries them in whole submissions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Student

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
def test_a_student_can_not(student: Callable[[str], Student], attempt: str) -> None:
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


def test_an_honest_student_can(student: Callable[[str], Student]) -> None:
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
