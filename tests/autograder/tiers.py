"""Skips the tests of tiers that this machine can't support; fails the tests of broken tiers."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import NoReturn

import pytest

from autograder.records import Tier
from autograder.worker import landlock

#: a command that succeeds if bubblewrap and a fork server inside it can create their namespaces
_BUBBLEWRAP = [
    *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/"),
    *("--proc", "/proc", "--"),
]
_INSIDE = ["unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork"]


def without_tier(tier: Tier, reason: str) -> NoReturn:
    """Skips the test if this machine can't support the tier; otherwise fails the test."""
    if "the worker was allowed" in reason or "runs as root" in reason or _can_have(tier):
        pytest.fail(f"tier {tier} is broken: {reason[:1000]}")
    pytest.skip(f"this machine does not give tier {tier}: {reason[:300]}")


@cache
def _can_have(tier: Tier) -> bool:
    if landlock.abi() < 1:
        return False
    command = {Tier.A: [*_BUBBLEWRAP, *_INSIDE], Tier.B: _BUBBLEWRAP}.get(tier)
    if command is None:
        return True
    if not all(shutil.which(program) for program in ("bwrap", "unshare")):
        return False
    return subprocess.run([*command, "true"], capture_output=True).returncode == 0
