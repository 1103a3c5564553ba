"""Calls Landlock, which lets a process read some paths, but not write or connect anywhere.

Source: the kernel's `Documentation/userspace-api/landlock.rst`. Landlock permits chmod, utime and
setxattr; `seccomp` denies them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from .c_library import check, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_READ = 0b1101  # execute, read file, read directory
_READ_FILE = 0b101  # the subset that applies to a file
_LIST = 0b1000
_READ_AND_WRITE = 0x4006  # a device that discards data: write, read, truncate
_FS_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}  # by ABI; 5 and later: 0xffff
_NO_TCP = 0b11  # bind, connect
_SCOPED = 0b11  # abstract sockets, signals


def abi() -> int:
    """Returns the kernel's Landlock version, or 0 if it does not have Landlock."""
    return max(0, int(syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def ruleset(readable: Sequence[str], listable: Sequence[str], forgetful: Sequence[str]) -> int:
    """Returns a descriptor of a ruleset, which any number of forks can use. May raise OSError.

    Paths in `readable` may be read, folders in `listable` may be listed, and devices in
    `forgetful`, such as /dev/null, may be read and written.
    """
    version = abi()
    if version < 1:
        raise OSError(errno.ENOSYS, "Landlock is not available")
    rights = _FS_RIGHTS.get(version, 0xFFFF)
    rules = _ruleset(version, rights)
    for path in readable:
        _allow(rules, path, _READ if os.path.isdir(path) else _READ_FILE)
    for path in listable:
        _allow(rules, path, _LIST)
    for path in forgetful:
        _allow(rules, path, _READ_AND_WRITE & rights)
    return rules


def restrict(rules: int) -> None:
    """Permanently restricts the calling process to a ruleset. May raise OSError."""
    check(syscall(_RESTRICT_SELF, rules, 0), "landlock_restrict_self")


def _ruleset(version: int, rights: int) -> int:
    attributes = struct.pack("QQQ", rights, _NO_TCP, _SCOPED)
    # Some distributions report version 6 without having scopes, so also try shorter structs.
    sizes = ([24] if version >= 6 else []) + ([16] if version >= 4 else []) + [8]
    for size in sizes:
        rules = syscall(_CREATE_RULESET, attributes[:size], ctypes.c_size_t(size), 0)
        if rules >= 0:
            return int(rules)
    raise OSError(ctypes.get_errno(), "landlock_create_ruleset")


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rule = struct.pack("=Qi", rights, place)
        check(syscall(_ADD_RULE, rules, 1, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(place)
