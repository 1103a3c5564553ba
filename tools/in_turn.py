"""Runs several `autograder` commands in one process, which loads every package only once.

    .venv/bin/python tools/in_turn.py grade course/submitted --resume + feedback course

The commands are separated by `+`. If a command ends with status 3 (something waits for a person),
the following commands still run, and the overall status is 3; any other status except 0 ends the
run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from autograder.cli import main

_WAITS_FOR_A_PERSON = 3


def status_of(command: Sequence[str]) -> int:
    """Runs one command, and returns its exit status."""
    print(f"==> autograder {' '.join(command)}", flush=True)
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def commands_in(words: Sequence[str]) -> Iterator[list[str]]:
    """Yields the commands that are separated by `+`."""
    command: list[str] = []
    for word in (*words, "+"):
        if word != "+":
            command.append(word)
        elif command:
            yield command
            command = []


def run(words: Sequence[str]) -> int:
    """Runs all commands, and returns the overall status."""
    waits = 0
    for command in commands_in(words):
        status = status_of(command)
        if status == _WAITS_FOR_A_PERSON:
            waits = status
        elif status:
            return status
    return waits


if __name__ == "__main__":
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # each command has registered a function that would end with its own status
