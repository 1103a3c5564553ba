"""Starts a fork server, requests sandboxed workers from it, and communicates with them.

This package knows tensors, but not tests. A fork server can be started before torch is imported
here; `sandbox.session`, the channel to a worker, is imported with the first worker.
"""

from .clock import Budget
from .doctor import fork_server_ahead, start_fork_server
from .environment import ALLOWED, Libraries, Preparation
from .fork_server import ForkServer
from .temporary import temporary_folder
