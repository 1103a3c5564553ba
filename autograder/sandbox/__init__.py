"""Starts a warm worker parent, asks it for sandboxed workers, and speaks with them.

Knows tensors, not tests.
"""

from .doctor import Finding, best_tier, examine
from .parent import WorkerParent
from .session import Budget, Session

__all__ = ["Budget", "Finding", "Session", "WorkerParent", "best_tier", "examine"]
