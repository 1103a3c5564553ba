"""Hostile archives write nothing outside their folder, and cost nobody else their work."""

from __future__ import annotations

import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.collecting import CollectReport, collect
from autograder.collecting.download_entries import file_reader, opened
from autograder.collecting.downloaded import DownloadEntry, ReadingAllowance, UnsafeFile
from autograder.errors import UserError

EXERCISES = {"scores": ["softmax"]}
HONEST = b"def softmax(x):\n    return x\n"


def _entry(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    return info


def _zip(*entries: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in entries:
            archive.writestr(info, data)
    return buffer.getvalue()


def _list(count: int) -> bytes:
    """Returns an archive whose list names `count` files that the archive does not contain."""
    record = struct.pack("<4s24xH16x", b"PK\x01\x02", 4)
    entries = b"".join(record + b"%04x" % (number & 0xFFFF) for number in range(count))
    return entries + struct.pack("<4s8xIIH", b"PK\x05\x06", len(entries), 0, 0)


def _tar(link: bytes, target: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("softmax.py")
        info.type, info.linkname = link, target
        archive.addfile(info)
    return buffer.getvalue()


def _nested(depth: int) -> bytes:
    inner = _nested(depth - 1) if depth else b"x = 1"
    return _zip(("inner.zip" if depth else "softmax.py", inner))


OWN = "mal/scores/softmax.py"
#: the files that mal adds to a download; zoe's file is honest
ATTACKS: dict[str, Callable[[], list[tuple[zipfile.ZipInfo | str, bytes]]]] = {
    "link": lambda: [(_entry(OWN, stat.S_IFLNK), b"/etc/passwd")],
    "link_to_a_neighbour": lambda: [(_entry(OWN, stat.S_IFLNK), b"../../zoe/scores/softmax.py")],
    "device": lambda: [(_entry(OWN, stat.S_IFCHR), b"")],
    "pipe": lambda: [(_entry(OWN, stat.S_IFIFO), b"")],
    "socket": lambda: [(_entry(OWN, stat.S_IFSOCK), b"")],
    "folder_with_the_name_of_a_file": lambda: [(_entry(OWN + "/", stat.S_IFDIR), b"")],
    "absolute": lambda: [("/tmp/left_by_attack/scores/softmax.py", b"x = 1")],
    "upwards": lambda: [("mal/../../left_by_attack/softmax.py", b"x = 1")],
    "upwards_to_a_neighbour": lambda: [("mal/../zoe/scores/softmax.py", b"x = 1")],
    "drive": lambda: [("C:\\left_by_attack\\scores\\softmax.py", b"x = 1")],
    "backslashes": lambda: [("mal\\..\\zoe\\scores\\softmax.py", b"x = 1")],
    "the_neighbours_file_twice": lambda: [("zoe/scores/softmax.py", b"x = 1")],
    "the_neighbour_in_capitals": lambda: [("ZOE/scores/softmax.py", b"x = 1")],
    "the_neighbour_with_a_dot": lambda: [("zoe./scores/softmax.py", b"x = 1")],
    "the_neighbour_in_an_archive": lambda: [
        ("mal/scores/a.zip", _zip(("../../zoe/scores/softmax.py", b"x = 1")))
    ],
    "controls_in_a_name": lambda: [("\x1b[2Jmal/scores/softmax.py", b"x = 1")],
    "turned_name": lambda: [("mal\u202e/scores/softmax.py", b"x = 1")],
    "half_a_character": lambda: [("mal\ufffd/scores/softmax.py", b"x = 1")],
    "long_name": lambda: [("m" * 3_000 + "/scores/softmax.py", b"x = 1")],
    "deep": lambda: [("mal/" + "a/" * 400 + "softmax.py", b"x = 1")],
    "many_files": lambda: [(f"mal/scores/{n}.py", b"") for n in range(2_500)],
    "bomb": lambda: [("mal/scores/softmax.py", bytes(150 << 20))],
    "list_of_no_files": lambda: [("mal/scores/a.zip", _list(220_000))],
    "archives_in_archives": lambda: [("mal/scores/a.zip", _nested(5))],
    "tar_with_a_hard_link": lambda: [
        ("mal/scores/a.tar.gz", _tar(tarfile.LNKTYPE, "../../../zoe/scores/softmax.py"))
    ],
    "tar_with_a_link": lambda: [("mal/scores/a.tgz", _tar(tarfile.SYMTYPE, "/etc/passwd"))],
    "time_of_its_own": lambda: [("mal/scores/timestamp.txt", b"1999-01-01"), (OWN, b"x")],
    "results_of_its_own": lambda: [("results.jsonl", b"{}"), ("gradebook.db", b"x"), (OWN, b"x")],
    "device_of_windows": lambda: [("CON/scores/softmax.py", b"x = 1")],
    "hidden_folder": lambda: [(".git/hooks/scores/softmax.py", b"x = 1"), (OWN, b"x")],
}

#: the reason that `collect` gives for refusing an attack's files, before any later step fails
REASONS = {
    **dict.fromkeys(("link", "link_to_a_neighbour"), "a link"),
    **dict.fromkeys(("device", "pipe", "socket"), "not a regular file"),
    **dict.fromkeys(("absolute", "drive"), "an absolute name"),
    **dict.fromkeys(
        ("upwards", "upwards_to_a_neighbour", "backslashes", "the_neighbour_in_an_archive"),
        "a name that points outside its folder",
    ),
    **dict.fromkeys(
        ("controls_in_a_name", "turned_name", "half_a_character"), "a name with control characters"
    ),
    "the_neighbours_file_twice": "the archive contains this name twice",
    "long_name": "a name longer than 255 bytes",
    "deep": "more than 100 folders deep",
    "many_files": "more than 1000 files in one submission",
    "bomb": "larger than 100 MB",
    "archives_in_archives": "an archive nested more than 3 levels deep",
}


def _collected(tmp_path: Path, attack: str, first: bool) -> tuple[CollectReport, Path]:
    honest: list[tuple[zipfile.ZipInfo | str, bytes]] = [("zoe/scores/softmax.py", HONEST)]
    added = ATTACKS[attack]()
    source = tmp_path / "download" / "submissions.zip"
    source.parent.mkdir()
    source.write_bytes(_zip(*(added + honest if first else honest + added)))
    submitted = tmp_path / "class" / "submitted"
    return collect([source], submitted, EXERCISES), submitted


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("first", [True, False], ids=["attack_first", "honest_first"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_changes_no_other_submission_and_escapes_no_folder(
    tmp_path: Path, attack: str, first: bool
) -> None:
    report, submitted = _collected(tmp_path, attack, first)
    found = submitted / "zoe" / "scores" / "softmax.py"
    if reason := REASONS.get(attack):
        assert any(item.reason.startswith(reason) for item in report.skipped)
    # `collect` does not guess whose file is the right one
    if attack in ("the_neighbours_file_twice", "the_neighbour_in_capitals"):
        assert "zoe" in report.missing and report.skipped
    else:
        assert found.read_bytes() == HONEST
    assert {path.name for path in tmp_path.iterdir()} == {"download", "class"}
    assert not Path("/tmp/left_by_attack").exists()
    for path in (tmp_path / "class").rglob("*"):
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), path
        assert not mode & (stat.S_ISUID | stat.S_ISGID) and os.fsencode(path)
    size = sum(path.stat().st_size for path in submitted.rglob("*") if path.is_file())
    assert size < 101 << 20


def test_links_and_pipes_of_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_bytes(b"secret")
    source, submitted = tmp_path / "download", tmp_path / "class" / "submitted"
    for student in ("zoe", "mal", "pip"):
        (source / student / "scores").mkdir(parents=True)
    (source / "zoe" / "scores" / "softmax.py").write_bytes(HONEST)
    (source / "mal" / "scores" / "softmax.py").symlink_to(tmp_path / "secret.key")
    os.mkfifo(source / "pip" / "scores" / "softmax.py")
    (source / "eve").symlink_to(source / "zoe")
    report = collect([source], submitted, EXERCISES)
    assert {item.path: item.reason for item in report.skipped} == {
        "eve": "a link: links are not followed",
        "mal/scores/softmax.py": "a link: links are not followed",
        "pip/scores/softmax.py": "not a regular file",
    }
    assert [path.read_bytes() for path in submitted.rglob("*.py")] == [HONEST]
    with pytest.raises(UnsafeFile, match="a link"):  # a link that was put there after collecting
        file_reader(source / "mal" / "scores" / "softmax.py")()


def test_an_endless_source_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    for source in (tmp_path / "pipe.zip", Path("/dev/zero")):
        with pytest.raises(UserError, match="neither a regular file nor a folder"):
            collect([source], tmp_path / "submitted", EXERCISES)
    assert not (tmp_path / "submitted").exists()


def test_files_of_one_submission_share_a_limit_of_bytes() -> None:
    allowance = ReadingAllowance(size=10)
    entry = DownloadEntry(("work.txt",), True, lambda: b"123456")
    assert allowance.read(entry) == b"123456"
    with pytest.raises(UnsafeFile, match="MB in one submission"):
        allowance.read(entry)


def test_an_endless_list_of_files_is_not_read() -> None:
    """Reading the list would take a gigabyte, although the archive that contains it is small."""
    assert len(opened(_list(20_000)).namelist()) == 20_000
    with pytest.raises(zipfile.BadZipFile, match="its list of files is larger than 10 MB"):
        opened(_list(220_000))
