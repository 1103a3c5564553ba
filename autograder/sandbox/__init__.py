"""Starts a warm worker parent, asks it for sandboxed workers, and speaks with them.

Knows tensors, not tests. A parent can be started before torch is imported here; `sandbox.session`,
what one speaks with a worker through, is imported with the first worker.
"""

from .clock import Budget
from .doctor import Finding, examine, parent_ahead, start_parent
from .environment import ALLOWED, Libraries
from .parent import WorkerParent

__all__ = [
    "ALLOWED",
    "Budget",
    "Finding",
    "Libraries",
    "WorkerParent",
    "examine",
    "parent_ahead",
    "start_parent",
]
