"""What takes too long for the test run: 100,000 inputs for the readers twice over, and 60 kills.

    python tools/soak.py [--inputs 100000] [--fuzz 100000] [--kills 60] [--seed N]

The first 100,000 are drawn here; the others come from `tools/fuzz.py`, which looks for inputs
that reach new code. Every failure names the seed and number, or the file, that bring it back. Exit
code 1 after any failure.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.collecting.downloaded import Account, Entry  # noqa: E402 - found by the line above
from autograder.collecting.entries import contents_of, entries_of  # noqa: E402
from autograder.errors import SubmissionError  # noqa: E402
from autograder.results.file import read_results  # noqa: E402
from autograder.submission import module_of_notebook  # noqa: E402

NAMES = ("f", "A")
#: of `tools/fuzz.py`, which needs atheris to tell them itself
READERS = ("notebook", "cells", "module", "archive", "members", "reply")
#: seconds of the wall clock and MiB until an input counts as one that keeps its reader busy
_LIBFUZZER = ("-timeout=120", "-rss_limit_mb=4096", "-max_len=4096", "-len_control=0")
#: submissions that are graded again and again
_CLASS = 10
PIECES = (
    *("def f(x):", "class A:", "class A(A):", "    return x", "\treturn f", "@f", "f = g(f)", "f("),
    *("A.f = f", "f = lambda: A", "import f, A.b", "from f import *", "%magic", "!ls", "x = !ls"),
    *(
        "%%time",
        "%%bash",
        "f?",
        "return 3",
        "nonlocal f",
        "await f",
        "for f in A:",
        "try:",
        "del f",
    ),
    *("with f as A:", "    f = 1", "except f as A:", "f += 1", ")", "\\", '"""', "'", "\0", "\x0c"),
    *("# coding: utf-7", "from __future__ import annotations", "\u2028", "a = 1; def f(): 0"),
    *("if f:", "else:", "match f:", "    case A: 1", "setattr(A, 'f', f)", "𝕗 = 1", "global f"),
    *("async def f(): yield", "f: A = 1", "(yield)", "[f for f in A]", "f = f = A"),
)


def main() -> int:
    """Runs all parts; prints what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--fuzz", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failures = feed(options.inputs, options.seed) + fuzz(options.fuzz, options.seed)
    failures += kill(options.kills, options.seed)
    print(f"{failures} failures")
    return 1 if failures else 0


def feed(count: int, seed: int) -> int:
    """Random and damaged inputs for the notebook and archive readers; returns how many failed."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            chance = random.Random(f"{seed}/{number}")
            try:
                _one_input(chance, Path(folder) / "damaged.zip")
            except Exception:
                failures += 1
                print(f"input {number} of seed {seed}:\n{traceback.format_exc()}", flush=True)
            if (number + 1) % 10_000 == 0:
                print(f"{number + 1} inputs read, {failures} failed", flush=True)
    return failures


def _one_input(chance: random.Random, path: Path) -> None:
    if chance.random() < 0.3:
        path.write_bytes(_damaged(_archive(chance), chance))
        with entries_of(path) as found:
            for entry in found:
                if isinstance(entry, Entry):
                    list(contents_of(entry, Account()))
        return
    data = _notebook(chance)
    if chance.random() < 0.3:
        data = _damaged(data, chance)
    try:
        module = module_of_notebook(data, NAMES)
    except SubmissionError:
        return
    compile(module.text, "<module>", "exec")


def _notebook(chance: random.Random) -> bytes:
    cells = []
    for _ in range(chance.randrange(6)):
        end = chance.choice(["\n", "\r\n", "\n    ", ""])
        source = end.join(chance.choices(PIECES, k=chance.randrange(8)))
        kind = chance.choice(["code"] * 6 + ["markdown", "raw", "x", 3])
        cells.append({"cell_type": kind, chance.choice(["source", "source", "input"]): source})
    form = chance.randrange(5)
    document = {"worksheets": [{"cells": cells}]} if form == 0 else {"cells": cells}
    return json.dumps(document).encode(chance.choice(["utf-8", "utf-8-sig", "utf-16"]))


def _archive(chance: random.Random, depth: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", chance.choice([0, 8, 12, 14])) as archive:
        for number in range(chance.randrange(4)):
            name = chance.choice(
                ["ada/x.py", "../x", "/x", "b_1_2_x.py", "x" * 300, "é/\u202e", "C:x"]
            )
            if depth < 5 and chance.random() < 0.3:
                archive.writestr(f"{number}.zip", _archive(chance, depth + 1))
            else:
                archive.writestr(f"{number}{name}", os.urandom(chance.randrange(200)))
    return buffer.getvalue()


def _damaged(data: bytes, chance: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(chance.randrange(1, 12)):
        if raw:
            raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.3 else raw)


def fuzz(count: int, seed: int) -> int:
    """Coverage-guided inputs, the same number for each reader; returns how many readers failed."""
    if not count:
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not there for this Python: nothing is fuzzed by coverage", flush=True)
        return 0
    failures = 0
    for reader in READERS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), reader]
            command += [f"-runs={-(-count // len(READERS))}", f"-seed={seed}", *_LIBFUZZER]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            failures += bool(run.returncode)
            said = run.stdout + run.stderr
            if run.returncode:
                kept = [_kept(path) for path in Path(folder).iterdir()]
                print(f"fuzz.py {reader} failed on {kept}:\n{said[-4000:]}", flush=True)
            else:
                done = [line for line in said.splitlines() if "DONE" in line]
                print(f"{reader}: {' '.join(done)}", flush=True)
    return failures


def _kept(found: Path) -> str:
    """Where the input that failed can be looked at."""
    return str(shutil.copy(found, Path(tempfile.gettempdir()) / found.name))


def kill(count: int, seed: int) -> int:
    """Kills graders, fork servers and jobs in turn; returns how often scores came out other."""
    if not count:
        return 0
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = sorted((ROOT / "examples" / "submitted").glob("*/*"))
        for work in random.Random(seed).sample(examples, min(_CLASS, len(examples))):
            shutil.copytree(work, folder / "submitted" / work.parent.name / work.name)
        began = time.monotonic()
        _grader(folder, "whole.jsonl").wait()
        whole, seconds = _scores(folder / "whole.jsonl"), time.monotonic() - began
        print(f"{len(whole)} submissions in {seconds:.0f} s, uninterrupted", flush=True)
        for number in range(count):
            chance = random.Random(f"{seed}/kill/{number}")
            victim = ("grader", "parent", "job")[number % 3]
            problem = _one_kill(folder, victim, chance.uniform(0, seconds), whole)
            failures += bool(problem)
            print(f"kill {number + 1}, of a {victim}: {problem or 'same scores'}", flush=True)
    return failures


def _one_kill(folder: Path, victim: str, delay: float, whole: dict[str, float]) -> str:
    """What was wrong after a kill and, where it ended the run, a second run with --resume."""
    results = folder / "results.jsonl"
    results.unlink(missing_ok=True)
    grader = _grader(folder, results.name)
    time.sleep(delay)
    targets = [grader.pid] if victim == "grader" else list(_children(grader.pid, victim))
    for pid in targets[:1]:
        os.kill(pid, signal.SIGKILL)
    code = grader.wait()
    if victim == "grader":
        _grader(folder, results.name).wait()
    elif code:
        return f"the run ended with exit code {code}"
    for line in results.read_bytes().splitlines():
        json.loads(line)
    found = _scores(results)
    return "" if found == whole else f"scores differ: {set(found.items()) ^ set(whole.items())}"


def _grader(folder: Path, results: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "autograder", "grade", str(folder / "submitted"), "--resume"]
    command += ["--jobs", "2", "--no-gradebook", "--results", str(folder / results)]
    with open(folder / "log.txt", "ab") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def _children(pid: int, kind: str) -> Iterator[int]:
    own = _command(pid)
    try:
        pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, pids):
        is_job = _command(child) == own
        if is_job == (kind == "job"):
            yield child


def _command(pid: int) -> bytes:
    read: Callable[[], bytes] = Path(f"/proc/{pid}/cmdline").read_bytes
    try:
        return read()
    except OSError:
        return b""


def _scores(path: Path) -> dict[str, float]:
    return {f"{r.student}/{r.assignment}": r.score for r in read_results(path)}


if __name__ == "__main__":
    sys.exit(main())
