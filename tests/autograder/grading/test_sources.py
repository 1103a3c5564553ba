"""An endless line of a stream is cut off, and does not delay other lines."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from autograder.grading.stream import LONGEST_LINE, StreamedSubmissions

MANY = 6 << 20


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):  # the test may have closed this end
            os.close(end)


def _write(end: int, *parts: bytes) -> threading.Thread:
    def write() -> None:
        with open(end, "wb", closefd=False) as file:
            for part in parts:
                file.write(part)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_a_line_without_an_end_is_cut_off(
    pipe: tuple[int, int],
) -> None:
    lines: list[bytes] = []

    def task_of(line: bytes) -> Any:
        lines.append(line)

    source = StreamedSubmissions(pipe[0], task_of)
    thread = _write(pipe[1], b"x" * MANY, b"\nsubmitted/ada\n")
    calls = 0
    while len(lines) < 2:
        source.take()
        calls += 1
    thread.join()
    assert calls > 1, "others have their turn while the line comes"
    assert lines[0].startswith(b"x") and LONGEST_LINE < len(lines[0]) < LONGEST_LINE + (1 << 17)
    assert lines[1] == b"submitted/ada"


def test_each_byte_of_a_line_is_looked_at_once(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0

    class Counting(bytearray):
        def find(self, *args: Any) -> int:
            nonlocal looked
            looked += len(self) - args[1]
            return super().find(*args)

    source = StreamedSubmissions(pipe[0], lambda line: None)
    monkeypatch.setattr(source, "_buffer", Counting())
    thread = _write(pipe[1], b"x" * MANY)
    while looked < MANY:
        source.take()
    thread.join()
    os.close(pipe[1])
    while not source.has_ended:
        source.take()
    assert looked < MANY + 4 * LONGEST_LINE


def test_lines_are_read_whole_however_they_are_split(pipe: tuple[int, int]) -> None:
    lines: list[bytes] = []

    def task_of(line: bytes) -> Any:
        lines.append(line)

    source = StreamedSubmissions(pipe[0], task_of)
    for part in (b"a", b"b\nc\n\nd", b"e", b"\nlast"):
        os.write(pipe[1], part)
        source.take()
    assert lines == [b"ab", b"c", b"", b"de"]
    os.close(pipe[1])
    while not source.has_ended:
        source.take()
    assert lines[-1] == b"last"
