"""Starts a fork server, requests sandboxed workers from it, and communicates with them.

This package handles tensors, but knows nothing about tests. The grader can start a fork server
before it imports torch, because `sandbox.session`, the channel to a worker, is imported only when
the first worker is requested.
"""

from .clock import Budget
from .doctor import fork_server_ahead, start_fork_server
from .environment import ALLOWED, Libraries, Preparation
from .fork_server import ForkServer
from .temporary import temporary_folder
