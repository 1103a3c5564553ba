"""System errors are reported with a remedy, and commands work even if a stream is closed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import autograder.cli
from autograder.cli import refusal

_CLOSING = """
import os, sys
for number in {closed}:
    os.close(number)
os.execv(sys.executable, [sys.executable, "-c", {code!r}])
"""
_OPENING = """
import os, sys
from autograder.cli import open_streams
open_streams()
print("shown")
own = os.open(os.devnull, os.O_RDONLY)
os._exit(10 + own if own < 3 else sys.stdout.isatty())
"""


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_closed_stream_is_never_replaced_by_a_file(closed: tuple[int, ...]) -> None:
    code = _CLOSING.format(closed=closed, code=_OPENING)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_command_whose_output_is_closed_does_its_job() -> None:
    command = "import sys; from autograder.cli import main; sys.argv[1:] = ['doctor', '--help'];"
    code = _CLOSING.format(closed=(1,), code=f"{command} main()")
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def _fails(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    def failing(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr(autograder.cli.cli, "main", failing)
    with pytest.raises(SystemExit) as ended:
        autograder.cli.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "free some space"), (errno.EMFILE, "ulimit -n"), (errno.EFBIG, "ulimit -f")],
)
def test_an_operation_refused_by_the_machine_names_a_remedy(
    number: int,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _fails(monkeypatch, OSError(number, os.strerror(number), "results.jsonl")) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert f"results.jsonl: {os.strerror(number)}" in message
    assert remedy in message
    assert "Traceback" not in message


def test_a_fault_of_our_own_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fails(monkeypatch, FileNotFoundError(errno.ENOENT, "gone", "own.py")) == 2
    assert "Traceback" in capsys.readouterr().err
    assert refusal(ValueError("no")) is None


@pytest.mark.parametrize("command", [("feedback",), ("report",), ("record",)])
def test_commands_that_write_into_a_class_require_its_folder(
    command: tuple[str], tmp_path: Path
) -> None:
    results = tmp_path / "results.jsonl"
    results.touch()
    called = [sys.executable, "-m", "autograder", *command, str(results), "--course", "."]
    done = subprocess.run(called, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is a file; expected the class folder" in " ".join(done.stderr.split())
