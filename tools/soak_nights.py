"""Grades a class under bad conditions, such as too little memory, CPU time or disk space.

Each disturbance is called a "night". A disturbed command must still end. A disturbance that is not
possible on this machine is skipped, and the reason is printed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.records import Tier
from tools.soak_class import (
    ASSIGNMENT,
    MOST_SECONDS,
    ROOT,
    ClassFolder,
    Disturbance,
    ImpossibleDisturbance,
    UndisturbedRun,
    children,
    disturb,
    ended,
)

_CGROUPS = Path("/sys/fs/cgroup")
_MEGABYTE = 1 << 20


def _graded_with(
    place: ClassFolder, whole: UndisturbedRun, prefix: Sequence[str], may_be_killed: bool = False
) -> str:
    """Grades with a command prefix that limits resources, and then completes the class."""
    code = ended(place.grader(prefix=prefix))
    usual = code in (0, 1, 2, 3) or (may_be_killed and code in (-9, 137))
    if not usual:
        return f"{' '.join(prefix)}: ended with {code}; {place.last_words()}"
    if code and not may_be_killed and "Traceback" in place.last_words():
        return f"{' '.join(prefix)}: {place.last_words()}"
    return place.completed(whole)


def few_descriptors(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Limits the number of open files: `ulimit -n`."""
    number = chance.choice((12, 24, 48, 64, 70, 96, 128))
    return _graded_with(place, whole, ["prlimit", f"--nofile={number}", "--"])


def little_address_space(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Limits the address space: `ulimit -v`."""
    size = chance.randrange(800, 8_000) * _MEGABYTE
    return _graded_with(place, whole, ["prlimit", f"--as={size}", "--"])


def small_files(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Limits the sizes of files: `ulimit -f`."""
    size = chance.randrange(1_000, 400_000)
    return _graded_with(place, whole, ["prlimit", f"--fsize={size}", "--"])


def little_memory(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Grades in a cgroup with little memory, so that the kernel may kill the largest process."""
    size = chance.randrange(150, 1_500) * _MEGABYTE
    old = {"memory.limit_in_bytes": str(size)}
    new = {"memory.max": str(size), "memory.swap.max": "0"}
    with _group("memory", old, new) as prefix:
        return _graded_with(place, whole, prefix, may_be_killed=True)


def few_processes(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Allows only a few processes and threads."""
    limit = {"pids.max": str(chance.randrange(3, 40))}
    with _group("pids", limit, limit) as prefix:
        return _graded_with(place, whole, prefix)


def little_processor_time(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Allows only part of a processor's time."""
    part = chance.randrange(15, 50)
    old = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": f"{part}000"}
    with _group("cpu", old, {"cpu.max": f"{part}000 100000"}) as prefix:
        return _graded_with(place, whole, prefix)


def no_namespaces(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Runs as an ordinary user who can't create namespaces, so that only tier C works."""
    if shutil.which("bwrap") is None:
        raise ImpossibleDisturbance("bwrap is not installed")
    prefix = ["bwrap", "--unshare-user", "--disable-userns", "--uid", "1001", "--gid", "1001"]
    prefix += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    prefix += ["--ro-bind", str(ROOT), str(ROOT), "--bind", str(place.folder), str(place.folder)]
    place = replace(place, tier=Tier.C)
    problem = _graded_with(place, whole, [*prefix, "--"])
    tiers = {result.isolation.value for result in place.results()}
    return problem or ("" if tiers == {"C"} else f"graded in {sorted(tiers)}, not in tier C only")


def two_graders(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Grades the same class with two graders at the same time."""
    runs = [place.grader(), place.grader()]
    codes = [ended(run) for run in runs]
    if not {0} <= set(codes) <= {0, 1}:
        return f"they ended with {codes}; {place.last_words()}"
    if len(place.results()) != len(whole.scores):
        return f"{len(place.results())} lines for {len(whole.scores)} submissions"
    return place.completed(whole)


def swapped_files(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Repeatedly swaps two students' files while they are graded."""
    files = sorted(place.folder.glob(f"submitted/*/{ASSIGNMENT}/scores.*"))
    pairs = [chance.sample(files, 2) for _ in range(50)]
    before = {path: path.read_bytes() for path in files}
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            one, other = chance.choice(pairs)
            one.rename(one.with_name("aside"))
            other.rename(one)
            over.wait(chance.uniform(0.0, 0.3))
            one.rename(other)
            one.with_name("aside").rename(one)
            over.wait(chance.uniform(0.0, 0.3))

    thread = threading.Thread(target=swap)
    thread.start()
    code = ended(place.grader())
    over.set()
    thread.join()
    assert {path: path.read_bytes() for path in files} == before
    if code not in (0, 2, 3):
        return f"ended with {code}; {place.last_words()}"
    return place.completed(whole)


def full_disk(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Grades on a small disk, which becomes full in every step from `collect` to `export`."""
    if os.geteuid():
        raise ImpossibleDisturbance("only root may mount a small disk")
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "night", disk], stderr=-1)
        if done.returncode:
            raise ImpossibleDisturbance(f"no disk can be mounted: {done.stderr.decode().strip()}")
        try:
            return _on_a_full_disk(replace(place, folder=disk / "class"), place, whole, chance)
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)


def _on_a_full_disk(
    small: ClassFolder, place: ClassFolder, whole: UndisturbedRun, chance: random.Random
) -> str:
    small.folder.mkdir()
    ballast = small.folder.with_name("ballast")
    upload = str(place.folder / "submitted")
    stages = [
        ["collect", upload, "--into", str(small.folder), "--course", str(ROOT)],
        [*("grade", str(small.folder / "submitted"), "--resume"), "--tier", small.tier.value],
        *([name, str(small.folder), "--course", str(ROOT)] for name in ("record", "feedback")),
        ["report", str(small.folder)],
        ["export", "csv", str(small.folder)],
    ]
    for stage in stages:
        _fill(ballast, left=chance.choice((0, 4, 16, 64, 256, 1024)) << 10)
        code = ended(small.command(*stage))
        if code not in (0, 1, 2, 3) or "Traceback" in small.last_words():
            return f"{stage[0]} on a full disk ended with {code}; {small.last_words()}"
        ballast.unlink()
        code = ended(small.command(*stage))
        if code not in (0, 3):
            return f"{stage[0]} ended with {code} after a full disk; {small.last_words()}"
    return small.completed(whole)


def _fill(ballast: Path, left: int) -> None:
    """Fills a disk, except for `left` bytes."""
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, max(0, ballast.stat().st_size - left))


def a_stopped_reader(place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
    """Stops the child that reads students' files for the gradebook or the pages."""
    if code := ended(place.grader("--no-gradebook")):
        return f"grading ended with {code}; {place.last_words()}"
    stage = chance.choice(("record", "feedback"))
    run = place.command(stage, str(place.folder), "--course", str(ROOT))
    end = time.monotonic() + 60.0
    while run.poll() is None and time.monotonic() < end:
        if found := children(run.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(found[0], signal.SIGSTOP)
            break
        time.sleep(0.002)
    if (code := ended(run)) not in (0, 2, 3):
        return f"{stage} with a stopped reader ended with {code}; {place.last_words()}"
    return place.completed(whole)


@contextlib.contextmanager
def _group(controller: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Sequence[str]]:
    """Creates a cgroup (version 1 or 2), and yields a prefix that runs a command in this group."""
    folder, limits = _CGROUPS / controller / f"night-{os.getpid()}", old
    if not folder.parent.is_dir():
        folder, limits = _CGROUPS / folder.name, new
    try:
        folder.mkdir()
    except OSError as error:
        raise ImpossibleDisturbance(
            f"no group of processes can be made in {folder.parent}: {error}"
        ) from error
    try:
        try:
            for name, value in limits.items():
                (folder / name).write_text(value)
        except OSError as error:
            raise ImpossibleDisturbance(
                f"a group of processes has no such limit here: {error}"
            ) from error
        yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
    finally:
        for _ in range(50):  # a group can be removed only after its last process has ended
            for line in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line), signal.SIGKILL)
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


NIGHTS: tuple[Disturbance, ...] = (
    *(few_descriptors, little_address_space, small_files, little_memory, few_processes),
    *(little_processor_time, no_namespaces, two_graders, swapped_files, full_disk),
    a_stopped_reader,
)


def live_through(count: int, seed: int, first: int = 0) -> int:
    """Runs `count` bad nights, numbered from `first`; returns how many nights have failed."""
    named = {night.__name__.replace("_", " "): night for night in NIGHTS}
    return disturb("night", named, count, seed, first)


def many_at_once(count: int) -> int:
    """Grades `count` small submissions in one run; returns 1 if any result is wrong, otherwise 0.

    One submission in ten contains a correct or wrong answer; all others are empty files.
    """
    if not count:
        return 0
    solution = (ROOT / "solutions" / ASSIGNMENT / "softmax.py").read_text(encoding="utf-8")
    wrong = "def softmax(scores, dim=-1):\n    return scores\n"
    kinds = [solution, wrong, *[""] * 18]
    with tempfile.TemporaryDirectory() as name:
        place = ClassFolder(Path(name) / "class", Path(name) / "log.txt")
        for number in range(count):
            folder = place.folder / "submitted" / f"student{number:06}" / ASSIGNMENT
            folder.mkdir(parents=True)
            (folder / "softmax.py").write_text(kinds[number % len(kinds)], encoding="utf-8")
        began = time.monotonic()
        code = ended(place.grader(), seconds=max(MOST_SECONDS, 3.0 * count))
        found = place.scores()
        by_kind: list[set[float]] = [set() for _ in kinds]
        for student, score in found.items():
            by_kind[int(student[7:13]) % len(kinds)].add(score)
        is_right = code == 0 and len(found) == count == len(place.results())
        is_right = is_right and [len(one) for one in by_kind] == [1] * len(kinds)
        seconds = time.monotonic() - began
        print(f"{len(found)} of {count} in {seconds:.0f} s, exit code {code}, scores {by_kind[:3]}")
        problem = place.unfinished(found) if is_right else place.last_words()
        if problem:
            print(problem)
        return int(not is_right or bool(problem))
