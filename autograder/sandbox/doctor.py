"""Finds out which isolation tiers this machine gives, by trying each, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import AutograderError, IsolationUnavailable
from ..records import Limits, Tier
from .clock import Budget
from .environment import Libraries
from .parent import WorkerParent

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
            return _probe(parent)
    except AutograderError as error:
        return Finding(tier, False, str(error))


def start_parent(wanted: Tier | None = None, libraries: Libraries | None = None) -> WorkerParent:
    """A probed worker parent of the best tier that works here, or of the wanted one.

    Raises `IsolationUnavailable` with each tier's reason and remedy.
    """
    findings = []
    for tier in (wanted,) if wanted else (Tier.A, Tier.B, Tier.C):
        try:
            parent = WorkerParent(tier, libraries)
            finding = _probe(parent)
        except AutograderError as error:
            findings.append(Finding(tier, False, str(error)))
            continue
        if finding.works:
            return parent
        parent.close()
        findings.append(finding)
    reasons = "\n".join(
        f"  tier {f.tier}: {f.reason}\n    remedy: {REMEDY.get(f.tier, 'choose another tier')}"
        for f in findings
    )
    raise IsolationUnavailable(f"no isolation on this machine, so nothing is graded:\n{reasons}")


def _probe(parent: WorkerParent) -> Finding:
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
