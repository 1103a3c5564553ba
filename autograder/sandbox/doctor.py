"""Tries each isolation tier on this machine, and reports why a tier does not work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import (
    AnswerCrashed,
    AnswerTimeout,
    AutograderError,
    IsolationUnavailable,
    SandboxKilled,
)
from ..records import Limits, Tier
from .clock import Budget
from .environment import Libraries, Preparation
from .fork_server import ForkServer
from .levels import LEVELS

_PROBE = """
import os, torch

def probe():
    import colorsys, wave  # loaded by nothing else: the library must be readable for a worker
    denied = []
    for name, attempt in (
        ("listing /", lambda: os.listdir("/")),
        ("reading /etc/passwd", lambda: open("/etc/passwd").read()),
        ("a new process", lambda: os.fork()),
        ("a socket", lambda: __import__("socket").socket()),
        ("chmod", lambda: os.chmod("/", 0o777)),
    ):
        try:
            attempt()
        except OSError:
            denied.append(name)
    return torch.ones(1), os.getuid(), denied
"""
#: how many times to try to start a tier that is killed meanwhile, for example by the kernel when
#: memory is short
_ATTEMPTS = 2
#: the errors that the probe may raise if its worker was killed or stopped from outside
_STRUCK = (SandboxKilled, AnswerCrashed, AnswerTimeout)
#: the text with which a remedy begins, if the reason already includes one
_FIX = "\n    fix: "
_EXPECTED = ["listing /", "reading /etc/passwd", "a new process", "a socket", "chmod"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of trying a tier on this machine: whether the tier works, and the reason."""

    tier: Tier
    works: bool
    reason: str
    #: whether the tier was killed from outside, so that another try may succeed
    was_killed: bool = False

    @property
    def remedy(self) -> str:
        """The remedy for a tier that does not work, or "" if the reason already includes one."""
        return "" if _FIX in self.reason else f"\n    remedy: {remedy_of(self.tier)}"


def examine(tier: Tier) -> Finding:
    """Starts a worker in a tier, and lets the worker try the operations that must be denied."""
    try:
        parent = ForkServer(tier)
    except AutograderError as error:
        return Finding(tier, False, str(error))
    with parent:
        return _examined(parent)


def examine_all() -> tuple[Finding, ...]:
    """Examines all tiers, the strongest first."""
    return tuple(examine(tier) for tier in LEVELS)


def remedy_of(tier: Tier) -> str:
    return LEVELS[tier].remedy if tier in LEVELS else "choose another tier"


def start_fork_server(wanted: Tier | None = None, libraries: Libraries | None = None) -> ForkServer:
    """Starts and probes a fork server in the given tier, or in the strongest tier that works here.

    If no tier works, raises `IsolationUnavailable` with each tier's reason and remedy.
    """
    return _best(wanted, lambda tier: ForkServer(tier, libraries))


@contextlib.contextmanager
def fork_server_ahead(
    wanted: Tier | None = None, ahead: Preparation | None = None
) -> Iterator[Callable[[Tier | None], ForkServer]]:
    """Launches a fork server without waiting for it; yields a function that completes the start.

    Meanwhile, the caller can do other work, such as importing torch. The function works like
    `start_fork_server`, but uses the server that is already starting if it has the requested tier.
    """
    begun: dict[Tier, ForkServer] = {}
    tier = wanted or next(iter(LEVELS))
    with contextlib.suppress(AutograderError):  # the yielded function will try again
        begun[tier] = ForkServer(tier, ahead=ahead)
    try:
        yield lambda wanted: _best(
            wanted, lambda tier: begun.pop(tier, None) or ForkServer(tier, ahead=ahead)
        )
    finally:
        for parent in begun.values():
            parent.close()


def _best(wanted: Tier | None, start: Callable[[Tier], ForkServer]) -> ForkServer:
    """Returns a fork server in the first tier that works; tries again if the server was killed."""
    reasons: list[str] = []
    for tier in (wanted,) if wanted else LEVELS:
        for attempt in range(1, _ATTEMPTS + 1):
            found, was_killed = _tried(tier, start)
            if isinstance(found, ForkServer):
                found.passed_over = tuple(reasons)
                return found
            if not was_killed or attempt == _ATTEMPTS:
                break
        assert isinstance(found, Finding)
        again = " (tried twice)" if was_killed else ""
        reasons.append(f"  tier {tier}: {found.reason.rstrip()}{again}{found.remedy}")
    text = "\n".join(reasons)
    raise IsolationUnavailable(f"no isolation on this machine, so nothing is graded:\n{text}")


def _tried(tier: Tier, start: Callable[[Tier], ForkServer]) -> tuple[ForkServer | Finding, bool]:
    """Returns a working fork server or the problem, and whether the server was killed."""
    try:
        parent = start(tier)
    except AutograderError as error:
        return Finding(tier, False, str(error)), isinstance(error, SandboxKilled)
    finding = _examined(parent)
    if finding.works and not parent.has_ended(0):
        return parent, False
    was_killed = finding.was_killed or parent.was_killed()
    parent.close()
    return finding, was_killed


def _examined(parent: ForkServer) -> Finding:
    try:
        return _probe(parent)
    except AutograderError as error:
        return Finding(parent.tier, False, str(error), isinstance(error, _STRUCK))


def _probe(parent: ForkServer) -> Finding:
    session = parent.open(Limits(), questions=1)
    try:
        budget = Budget.of(Limits())
        session.ask(budget, "load", "probe", _PROBE, 0)
        (_, user, denied), _ = session.ask(budget, "call", "probe", [])
    finally:
        session.close()
    if user == 0:
        return Finding(parent.tier, False, "the worker runs as root")
    allowed = [name for name in _EXPECTED if name not in denied]
    if allowed:
        return Finding(parent.tier, False, f"the worker was allowed: {', '.join(allowed)}")
    reason = "a worker was started, and everything that it must not do was denied"
    return Finding(parent.tier, True, reason)
