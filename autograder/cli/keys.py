"""Single keys from the terminal while something else is waited for, on every operating system."""

from __future__ import annotations

import os
import sys
import time
from typing import Any


class Keys:
    """Reads keys as they are pressed; outside a terminal it only waits."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._before: Any = None

    def __enter__(self) -> Keys:
        if self._is_terminal and os.name != "nt":
            import termios  # not there on Windows
            import tty

            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def read(self, seconds: float) -> str:
        """The key pressed within some time, in lower case; empty if none was."""
        if not self._is_terminal:
            time.sleep(seconds)
            return ""
        return (_windows_key(seconds) if os.name == "nt" else _unix_key(seconds)).lower()


def _unix_key(seconds: float) -> str:
    import select

    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") if ready else ""


def _windows_key(seconds: float) -> str:
    import importlib

    console = importlib.import_module("msvcrt")  # there on Windows only
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if console.kbhit():
            return str(console.getwch())
        time.sleep(0.01)
    return ""
