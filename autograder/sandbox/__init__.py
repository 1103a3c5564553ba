"""Starts a warm worker parent, asks it for sandboxed workers, and speaks with them.

Knows tensors, not tests.
"""

from .clock import Budget
from .doctor import Finding, examine, start_parent
from .environment import ALLOWED, Libraries
from .parent import WorkerParent
from .session import Session

__all__ = [
    "ALLOWED",
    "Budget",
    "Finding",
    "Libraries",
    "Session",
    "WorkerParent",
    "examine",
    "start_parent",
]
