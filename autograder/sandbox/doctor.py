"""Finds out which isolation tiers this machine gives, by trying each, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import AutograderError, IsolationUnavailable
from ..records import Limits, Tier
from .parent import WorkerParent
from .session import Budget

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
_EXPECTED = ["listing /", "reading /etc/passwd", "a new process", "a socket", "chmod"]
REMEDY = {
    Tier.A: "install bubblewrap (apt-get install bubblewrap) and allow user namespaces",
    Tier.B: "install bubblewrap (apt-get install bubblewrap)",
    Tier.C: "a kernel with Landlock (5.13 or newer), and a Python that every user may read",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a tier works here, and the reason if not."""

    tier: Tier
    works: bool
    reason: str


def examine(tier: Tier) -> Finding:
    """Starts a worker of that tier and lets it try what it must not be able to do."""
    try:
        with WorkerParent(tier) as parent:
            session = parent.open(Limits(), questions=1)
            try:
                budget = Budget.of(Limits())
                session.ask(budget, "load", "probe", _PROBE, 0)
                (_, user, denied), _ = session.ask(budget, "call", "probe", [])
            finally:
                session.close()
    except AutograderError as error:
        return Finding(tier, False, str(error))
    if user == 0:
        return Finding(tier, False, "the worker runs as root")
    allowed = [name for name in _EXPECTED if name not in denied]
    if allowed:
        return Finding(tier, False, f"the worker was allowed: {', '.join(allowed)}")
    return Finding(tier, True, "a worker was started and could do nothing of what it must not")


def best_tier(wanted: Tier | None = None) -> Tier:
    """The best tier that works here, or the wanted one; raises `IsolationUnavailable`."""
    findings = []
    for tier in (wanted,) if wanted else (Tier.A, Tier.B, Tier.C):
        finding = examine(tier)
        if finding.works:
            return tier
        findings.append(finding)
    reasons = "\n".join(
        f"  tier {f.tier}: {f.reason}\n    remedy: {REMEDY.get(f.tier, 'choose another tier')}"
        for f in findings
    )
    raise IsolationUnavailable(f"no isolation on this machine, so nothing is graded:\n{reasons}")
