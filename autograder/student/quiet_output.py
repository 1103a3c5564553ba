"""Runs a student's code quietly, and keeps the first lines that the code prints."""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from typing import Any

PRINTED_CHARACTERS, PRINTED_LINES = 2000, 10


class LimitedOutput(io.TextIOBase):
    """Keeps the first characters and lines written after a call to `start`, and drops the rest.

    Code that writes more than `most` characters gets an error, as during grading.
    """

    def __init__(self, limit: int = PRINTED_CHARACTERS, most: int | None = None) -> None:
        self._limit, self._most = limit, most
        self.text = ""
        self._length = 0

    def start(self) -> None:
        """Discards the text written so far."""
        self.text, self._length = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._length += len(text)
        if self._most is not None and self._length > self._most:
            raise RuntimeError(f"printed more than {self._most} characters")
        room, lines = self._limit - len(self.text), PRINTED_LINES - self.text.count("\n")
        if room > 0 and lines > 0:
            kept = "".join(text[:room].splitlines(keepends=True)[:lines])
            self.text += kept
            if len(kept) < len(text) or self.text.count("\n") == PRINTED_LINES:
                self.text += "...\n" * self.text.endswith("\n") or " ...\n"
        return len(text)


@contextlib.contextmanager
def quiet(output: LimitedOutput) -> Iterator[None]:
    """Sends printed text to `output`; drops warnings and everything on stderr.

    The code can't wait for the student: `input` raises `EOFError`, and a breakpoint does nothing.
    In a kernel, `exit()` ends only the current call, not the kernel.
    """
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(LimitedOutput(0)),
        warnings.catch_warnings(),
        _nobody_answers(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _nobody_answers() -> Iterator[None]:
    before = sys.stdin, builtins.input, sys.breakpointhook
    tracing = sys.gettrace()  # an answer that starts pdb replaces the trace function
    # a kernel has its own `input`, which would ask below the cell
    sys.stdin, builtins.input, sys.breakpointhook = io.StringIO(), _no_input, _no_breakpoint
    shell = _shell()
    if shell is not None:
        shell.ask_exit = sys.exit  # else, the kernel ends after the cell
    try:
        yield
    finally:
        if shell is not None:
            vars(shell).pop("ask_exit", None)
        sys.stdin, builtins.input, sys.breakpointhook = before
        if sys.gettrace() is not tracing:
            sys.settrace(tracing)


def _shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _no_input(prompt: object = "", /) -> str:
    raise EOFError(f"input({str(prompt)!r}) while checks run")


def _no_breakpoint(*arguments: Any, **named: Any) -> None:
    pass
