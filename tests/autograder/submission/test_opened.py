"""Students' files are opened only with limits, and links are not followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.submission.opened import read_bytes


def test_a_file_has_a_limit_and_is_a_file(tmp_path: Path) -> None:
    giant = tmp_path / "giant"
    with open(giant, "wb") as file:
        file.truncate(1 << 40)
    assert len(read_bytes(giant, 1_000)) == 1_000
    (tmp_path / "link").symlink_to(giant)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "missing"):
        with pytest.raises(SubmissionError):
            read_bytes(tmp_path / name, 1_000)
