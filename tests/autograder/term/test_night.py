"""If a step of the nightly script in docs/unattended.md fails, the other steps continue."""

from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import time
import zipfile
from functools import partial
from pathlib import Path

import pytest

from ..forks import commands_in
from .courses import REPOSITORY, nightly_script

RIGHT, WRONG = "simplified_attention", "causal_attention"
#: `make term` uses 30 students
STUDENTS = [f"student{n}" for n in range(int(os.environ.get("NIGHT_STUDENTS", "6")))]
#: the limit on a file's size that imitates a full disk; results and gradebook are larger
_FULL = 20_000


class Night:
    """A course with an inbox, whose nightly script can be run."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.commands = root, root / "course", root / "commands"
        others = {path.name for path in (REPOSITORY / "solutions").iterdir()} - {RIGHT, WRONG}
        ignored = shutil.ignore_patterns(*others, "__pycache__")
        tests = [f"tests/{name}" for name in ("hidden", "public", "misconceptions", "alternatives")]
        for kind in ("source", "solutions", "assignments", *tests):
            shutil.copytree(REPOSITORY / kind, root / kind, ignore=ignored)
        (root / "nightly.sh").write_text(nightly_script())
        for folder in (root / "inbox", self.folder, self.commands):
            folder.mkdir()

    def download(self, assignment: str, damaged: str = "") -> None:
        """Writes a download of everybody's files, and encrypts those of the student `damaged`."""
        answers = REPOSITORY / "examples" / "submitted" / "ada" / assignment
        with zipfile.ZipFile(self.root / "inbox" / f"{assignment}.zip", "w") as archive:
            for number, student in enumerate(STUDENTS):
                for path in sorted(answers.glob("*.py")):
                    info = zipfile.ZipInfo(f"{student}_{100 + number}_{200 + number}_{path.name}")
                    archive.writestr(info, path.read_bytes())
        if damaged:
            self._encrypt(self.root / "inbox" / f"{assignment}.zip", damaged)

    @staticmethod
    def _encrypt(path: Path, student: str) -> None:
        """Marks a student's files as encrypted in all headers of the archive."""
        data = bytearray(path.read_bytes())
        for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = 30 if head == b"PK\x03\x04" else 46
            at = data.find(head)
            while at >= 0:
                if data[at + start :].startswith(student.encode()):
                    data[at + flags] |= 1
                at = data.find(head, at + 4)
        path.write_bytes(bytes(data))

    def run(self, *, is_killed: bool = False, is_full: bool = False) -> tuple[int, str]:
        """Runs the script; returns its exit code and output.

        `is_killed` kills the script with all its processes after the first result. `is_full` sets a
        limit on file sizes that imitates a full disk.
        """
        limit = _FULL if is_full else resource.RLIM_INFINITY
        environment = {
            **os.environ,
            "COURSE": str(self.root),
            "PATH": f"{self.commands}:{os.environ['PATH']}",
        }
        log = self.root / "night.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                ["/bin/sh", str(self.root / "nightly.sh")], cwd="/", env=environment, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
            )  # fmt: skip
            while is_killed and process.poll() is None:
                if self.results():
                    os.killpg(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.02)
            status = process.wait()
        return status, log.read_text()

    def results(self) -> list[tuple[str, str, float]]:
        """Returns the student, assignment and score of each complete line."""
        path = self.folder / "results.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
        found = (json.loads(line) for line in lines)
        return [(line["student"], line["assignment"], line["score"]) for line in found]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Night, list[tuple[int, str]]]:
    """Runs the script four times; it is killed in the first run, and the disk is full in the next.

    The third run is undisturbed. Before the fourth, a due date is corrected.
    """
    night = Night(tmp_path_factory.mktemp("night"))
    night.download(RIGHT, damaged="student3")
    night.download(WRONG)
    (night.folder / "due.csv").write_text(f"assignment,section,date\n{WRONG},,01.02.2027\n")
    with commands_in(night.commands):
        runs = [night.run(is_killed=True), night.run(is_full=True), night.run()]
        (night.folder / "due.csv").write_text(
            f"assignment,section,date\n{WRONG},,2027-02-01 23:59 Europe/Berlin\n"
        )
        runs.append(night.run())
    return night, runs


def test_a_killed_night_is_completed_by_the_next_one(
    nights: tuple[Night, list[tuple[int, str]]],
) -> None:
    night, runs = nights
    assert runs[0][0] == -signal.SIGKILL
    graded = [student for student, name, _ in night.results() if name == RIGHT]
    assert sorted(graded) == sorted(set(STUDENTS) - {"student3"})
    assert {score for _, name, score in night.results() if name == RIGHT} == {100.0}


def test_one_bad_upload_and_due_date_wait_while_others_continue(
    nights: tuple[Night, list[tuple[int, str]]],
) -> None:
    _, runs = nights
    status, log = runs[2]
    assert status == 3
    assert "work by 'student3' was left out" in log
    assert "due.csv:2: due date" in log
    assert f"which assignment is it? {WRONG} can't be collected now" in log
    assert f"{len(STUDENTS) - 1} feedback pages" in log


def test_a_night_with_a_full_disk_ends_with_a_message(
    nights: tuple[Night, list[tuple[int, str]]],
) -> None:
    _, runs = nights
    status, log = runs[1]
    assert status == 2
    assert "File too large" in log and "Traceback" not in log


def test_after_the_correction_only_the_bad_upload_waits(
    nights: tuple[Night, list[tuple[int, str]]],
) -> None:
    night, runs = nights
    status, log = runs[3]
    assert status == 3
    assert "due date" not in log.partition("is due")[0]
    corrected = {student for student, name, _ in night.results() if name == WRONG}
    assert corrected == set(STUDENTS)
    with (night.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        assert [row["student"] for row in csv.DictReader(file)] == sorted(STUDENTS)
