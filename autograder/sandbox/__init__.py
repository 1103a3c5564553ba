"""Starts a fork server, asks it for sandboxed workers, and speaks with them.

Knows tensors, not tests. A parent can be started before torch is imported here; `sandbox.session`,
what one speaks with a worker through, is imported with the first worker.
"""

from .clock import Budget
from .doctor import Finding, examine, fork_server_ahead, start_fork_server
from .environment import ALLOWED, Ahead, Libraries
from .fork_server import ForkServer
from .temporary import temporary_folder

__all__ = [
    "ALLOWED",
    "Ahead",
    "Budget",
    "Finding",
    "Libraries",
    "ForkServer",
    "examine",
    "fork_server_ahead",
    "start_fork_server",
    "temporary_folder",
]
