"""The time of a repository's last commit is read from its files, without starting a program."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.collecting import collect, commits
from autograder.collecting.commits import committed, is_repository

COURSE = {"simplified_attention": ("scores", "softmax")}
WHEN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def git(folder: Path, *arguments: str, day: int = 1) -> str:
    date = f"2026-03-{day:02}T12:00:00+02:00"
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date,
    }  # fmt: skip
    settings = ("-c", "user.name=Ada <x> L", "-c", "user.email=ada@example.org")
    command = ["git", *settings, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a repository with twenty commits, one per day.

    The commit messages are so long and similar that git packs the commits as deltas.
    """
    folder = tmp_path_factory.mktemp("made")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for day in range(20, 0, -1):
        (folder / "scores.py").write_text(f"day {day}\n")
        git(folder, "add", ".")
        text = "".join(f"line {i}\n" for i in range(400)) + f"{day}\n"
        git(folder, "commit", "--quiet", "--message", text, day=day)
    return folder


@pytest.fixture
def repository(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "repository")


def assert_every_commit_is_read(folder: Path) -> None:
    head = folder / ".git" / "HEAD"
    for line in git(folder, "log", "--format=%H %ct").split("\n")[:-1]:
        name, time = line.split()
        head.write_text(f"{name}\n")
        assert committed(folder) == datetime.fromtimestamp(int(time), UTC), name


def test_commits_are_read_from_loose_objects_and_from_packs(repository: Path) -> None:
    assert committed(repository) == WHEN
    git(repository, "gc", "--quiet", "--aggressive", "--prune=now")
    assert not list(repository.glob(".git/objects/??"))
    assert not (repository / ".git/refs/heads/main").exists()
    assert committed(repository) == WHEN
    (index,) = repository.glob(".git/objects/pack/*.idx")
    listed = git(repository, "verify-pack", "--verbose", str(index)).split("\n")
    assert any(" commit " in line and len(line.split()) == 7 for line in listed), "no delta"
    assert_every_commit_is_read(repository)


def test_a_pack_with_deltas_by_hash_is_read(repository: Path) -> None:
    git(repository, "config", "repack.usedeltabaseoffset", "false")
    git(repository, "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
    assert_every_commit_is_read(repository)


def test_a_repository_with_long_hashes_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "work")
    assert committed(tmp_path) == WHEN
    git(tmp_path, "gc", "--quiet")
    assert committed(tmp_path) == WHEN


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Replaces `git` with a script that logs its calls; returns a function that reads the log."""
    programs, log = tmp_path / "programs", tmp_path / "called"
    programs.mkdir(exist_ok=True)
    for name in ("git", "hook"):
        (programs / name).write_text(f'#!/bin/sh\necho "$0 $*" >> {log}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return lambda: log.read_text() if log.exists() else ""


def _hostile(repository: Path, place: Path) -> None:
    """Gives a repository settings that would make git start `place/programs/hook`."""
    program, bundle = place / "programs" / "hook", place / "bundle"
    git(repository, "bundle", "create", str(bundle), "main")
    for key, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "remote.origin.url": f"ext::{program}",
        "remote.origin.uploadpack": program, "fetch.bundleURI": bundle.as_uri(),
        "core.fsmonitor": program, "core.hooksPath": program.parent, "core.pager": program,
        "core.sshCommand": program, "core.gitProxy": program,
        "include.path": place / "more", "includeIf.gitdir:/.path": place / "more",
        "core.worktree": place, "core.alternateRefsCommand": program,
        "uploadpack.packObjectsHook": program,
    }.items():  # fmt: skip
        git(repository, "config", key, str(value))
    for name in ("reference-transaction", "post-index-change"):
        (program.parent / name).symlink_to(program)


def _take_objects_away(repository: Path) -> None:
    """Deletes the objects, so that git would have to fetch the last commit."""
    for folder in (repository / ".git/objects").iterdir():
        shutil.rmtree(folder)


def test_no_setting_of_a_repository_starts_a_program(
    repository: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "programs").mkdir()
    _hostile(repository, tmp_path)
    # from here on, `git` is a program that records its calls
    called = request.getfixturevalue("called")
    assert committed(repository) == WHEN
    _take_objects_away(repository)
    assert committed(repository) is None
    (report,) = collect([repository.parent / "repository"], tmp_path / "class/submitted",
                        COURSE).collected  # fmt: skip
    assert report.time is None
    assert called() == ""


_VERSION = tuple(int(part) for part in git(Path.cwd(), "version").split()[2].split(".")[:2])


@pytest.mark.skipif(_VERSION < (2, 40), reason="git fetches from a bundle since version 2.40")
def test_a_newer_git_runs_a_hook_in_a_malicious_folder(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    log, hook = tmp_path / "called", tmp_path / "programs" / "hook"
    hook.write_text(f'#!/bin/sh\necho "$0" >> {log}\n')
    hook.chmod(0o755)
    _hostile(repository, tmp_path)
    _take_objects_away(repository)
    environment = {"PATH": os.environ["PATH"], "GIT_ALLOW_PROTOCOL": "none"}
    subprocess.run(["git", "rev-list", "--max-count=1", "HEAD"], cwd=repository, env=environment)
    assert "reference-transaction" in log.read_text()


def _alternates(git_folder: Path, other: Path) -> None:
    for objects in list((git_folder / "objects").iterdir()):
        objects.rename(other / objects.name)
    (git_folder / "objects/info").mkdir()
    (git_folder / "objects/info/alternates").write_text(f"{other}\n")


def _linked(name: str) -> Callable[[Path, Path], None]:
    def make(git_folder: Path, other: Path) -> None:
        (git_folder / name).rename(other / "moved")
        (git_folder / name).symlink_to(other / "moved")

    return make


def _pipe(name: str) -> Callable[[Path, Path], None]:
    def make(git_folder: Path, other: Path) -> None:
        (git_folder / name).unlink()
        os.mkfifo(git_folder / name)

    return make


def _head(text: str) -> Callable[[Path, Path], None]:
    def make(git_folder: Path, other: Path) -> None:
        (git_folder / "HEAD").write_text(text)

    return make


def _loop_of_refs(git_folder: Path, other: Path) -> None:
    for name, to in (("a", "b"), ("b", "a")):
        (git_folder / "refs/heads" / name).write_text(f"ref: refs/heads/{to}\n")
    (git_folder / "HEAD").write_text("ref: refs/heads/a\n")


def _bomb(git_folder: Path, other: Path) -> None:
    folder = git_folder / "objects/aa"
    folder.mkdir()
    with open(folder / ("b" * 38), "wb") as file:
        file.write(zlib.compress(b"commit 9\0" + bytes(50 << 20)))
    (git_folder / "HEAD").write_text("aa" + "b" * 38)


def _bomb_in_one_block(git_folder: Path, other: Path) -> None:
    """Stores a commit whose compressed data contains a megabyte of zeros."""
    folder = git_folder / "objects/aa"
    folder.mkdir()
    data = zlib.compress(b"commit 9\0" + bytes(3 << 20), 9)
    at = data.index(bytes(1000))
    (folder / ("b" * 38)).write_bytes(data[:at] + bytes(1 << 20) + data[at:])
    (git_folder / "HEAD").write_text("aa" + "b" * 38)


def _pack(data: bytes, at: int = 0) -> Callable[[Path, Path], None]:
    def make(git_folder: Path, other: Path) -> None:
        name = b"\xaa" * 20
        counts = b"".join(struct.pack(">I", i >= 0xAA) for i in range(256))
        index = b"\xfftOc\0\0\0\2" + counts + name + bytes(4) + struct.pack(">I", 12 + at)
        (git_folder / "objects/pack/p.idx").write_bytes(index)
        (git_folder / "objects/pack/p.pack").write_bytes(b"PACK" + bytes(8) + data)
        (git_folder / "HEAD").write_text("aa" * 20)

    return make


def _delta(base: bytes, steps: bytes) -> Callable[[Path, Path], None]:
    """Returns a function that stores a commit as a delta with these steps."""
    commit = b"\x10" + zlib.compress(base)
    assert len(commit) < 0x80
    delta = b"\x60" + bytes([len(commit)]) + zlib.compress(b"\0\0" + steps)
    return _pack(commit + delta, len(commit))


def _packed_refs(line: bytes) -> Callable[[Path, Path], None]:
    def make(git_folder: Path, other: Path) -> None:
        (git_folder / "refs/heads/main").unlink()
        (git_folder / "packed-refs").write_bytes(line * ((8 << 20) // len(line)))

    return make


def _huge_index(git_folder: Path, other: Path) -> None:
    (git_folder / "HEAD").write_text("aa" * 20)
    with open(git_folder / "objects/pack/p.idx", "wb") as file:
        file.write(b"\xfftOc\0\0\0\2" + b"\xff" * 1024)
        file.truncate(1 << 40)


def _worktree(git_folder: Path, other: Path) -> None:
    """Turns the folder into a worktree, whose objects and refs are in another folder."""
    for name in ("objects", "refs"):
        (git_folder / name).rename(other / name)
    (git_folder / "commondir").write_text(f"{other}\n")


@pytest.mark.parametrize(
    "change",
    [
        _alternates,
        *map(_linked, ("objects", "refs", "HEAD")),
        *map(_pipe, ("HEAD", "refs/heads/main")),
        _head(""),
        _head("ref: ../../other"),
        _head("ref: refs/../../../other/HEAD"),
        _head("ref: refs/heads/nobody"),
        _head("ref: " + "refs/" * 100_000),
        _head("\udcff".encode("utf-8", "surrogateescape").decode("latin-1")),
        _loop_of_refs,
        _bomb,
        _bomb_in_one_block,
        _worktree,
        _huge_index,
        *map(_packed_refs, (b"\n", b"a\n", b" refs/heads/main\n")),
        _delta(b"x", b"\x90\1" * (1 << 19)),
        _pack(b"\x60\x80" + b"\x80" * 100),
        _pack(b"\x60\x00" + zlib.compress(b"\1\1\x80")),
        _pack(b"\x70" + b"\xaa" * 20 + zlib.compress(b"\1\1\x80")),
        _pack(b"\x10" + zlib.compress(b"committer x 5\n" * (1 << 20))),
        _pack(b"\x10" + zlib.compress(b"committer x> 999999999999999999999 +0000\n")),
        _pack(b"\x10" + zlib.compress(b"committer x> 253402300799 +0000\n")),
        _pack(b"\x10" + zlib.compress(b"committer x> -62135596800 +0000\n")),
        _pack(b"\x10" + zlib.compress(b"committer " + bytes(100))),
        _pack(b""),
    ],
)
def test_a_hostile_git_folder_has_no_time_and_costs_little(
    repository: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "HEAD").write_text(git(repository, "rev-parse", "HEAD"))
    change(repository / ".git", other)
    tracemalloc.start()
    before = os.times()
    assert committed(repository) is None
    assert sum(os.times()[:2]) - sum(before[:2]) < 2
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_a_delta_that_copies_nothing_is_refused() -> None:
    with pytest.raises(commits._UnknownTime):
        commits._applied(b"\0\0\x80", b"")


def test_only_a_limited_number_of_packs_is_read(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (repository / f".git/objects/pack/{number}.idx").touch()
    (repository / ".git/HEAD").write_text("aa" * 20)
    read: list[bytes] = []
    monkeypatch.setattr(commits._Index, "find", lambda _, name: read.append(name))
    monkeypatch.setattr(commits, "_MOST_FILES", 5)
    assert committed(repository) is None
    assert len(read) == 5


def test_a_git_file_naming_another_repository_is_not_followed(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "mal").mkdir()
    (tmp_path / "mal/.git").write_text("gitdir: ../repository/.git\n")
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve/.git").symlink_to(repository / ".git")
    assert is_repository(repository)
    for name in ("mal", "eve"):
        assert not is_repository(tmp_path / name)
        assert committed(tmp_path / name) is None


def test_an_endless_stream_is_not_read_to_its_end(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read, pread = repository / ".git/objects/aa", [], os.pread
    folder.mkdir()
    empty_blocks = b"\x78\x01" + b"\0\0\0\xff\xff" * 2_000_000
    (folder / ("b" * 38)).write_bytes(empty_blocks)
    (repository / ".git/HEAD").write_text("aa" + "b" * 38)

    def counted(file: int, size: int, at: int) -> bytes:
        data = pread(file, size, at)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    assert committed(repository) is None
    assert sum(read) < 4 << 20
