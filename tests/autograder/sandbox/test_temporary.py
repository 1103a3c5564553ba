"""Temporary folders of a killed run are removed by the next run, and folders in use are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.sandbox import temporary_folder

OLD = 1_000_000_000
_HOLDS = (
    "import os, sys\n"
    "from autograder.sandbox.temporary import temporary_folder\n"
    "with temporary_folder() as folder:\n"
    f"    (folder / 'file').touch(); os.utime(folder.parent, ({OLD}, {OLD}))\n"
    "    print(folder, flush=True); sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    command = [sys.executable, "-c", _HOLDS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_the_next_run_removes_the_folder_of_a_killed_run(
    holder: tuple[subprocess.Popen[str], Path],
) -> None:
    process, folder = holder
    with temporary_folder():
        assert (folder / "file").exists(), "a run that goes on keeps its folder"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / "file").exists()
    with temporary_folder() as own:
        assert own.is_dir() and not folder.parent.exists()
    assert not own.parent.exists()


def test_a_folder_that_this_grader_did_not_make_stays(place: Path) -> None:
    own = place / "autograder-course"
    own.mkdir()
    (own / "grades.csv").write_text("ada,100")
    os.utime(own, (OLD, OLD))
    with temporary_folder():
        assert (own / "grades.csv").read_text() == "ada,100"


def test_new_folders_and_files_stay(place: Path) -> None:
    (place / "autograder-young").mkdir()
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "file").touch()
    (place / "autograder-link").symlink_to("elsewhere")
    (place / "autograder-file").touch()
    for name in ("elsewhere", "autograder-file"):
        os.utime(place / name, (OLD, OLD))
    with temporary_folder():
        pass
    left = {path.name for path in place.iterdir()}
    assert left == {"autograder-young", "autograder-link", "autograder-file", "elsewhere"}
    assert (place / "elsewhere" / "file").exists()
