"""Runs a student's code quietly, and keeps the first lines that it printed."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator

PRINTED_CHARACTERS = 2000


class Printed(io.TextIOBase):
    """Keeps the first characters written since `start`, and lets the rest go."""

    def __init__(self, limit: int = PRINTED_CHARACTERS) -> None:
        self._limit = limit
        self.text = ""

    def start(self) -> None:
        """Forgets what was written."""
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = self._limit - len(self.text)
        if room > 0:
            self.text += text if len(text) <= room else text[:room] + "...\n"
        return len(text)


@contextlib.contextmanager
def quiet(output: Printed) -> Iterator[None]:
    """What is printed goes to `output`; warnings and what goes to stderr are dropped."""
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(Printed(0)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield
