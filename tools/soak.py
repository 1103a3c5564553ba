"""Runs tests that take too long for `make test`, such as those with 200,000 files.

    python tools/soak.py [--inputs 100000] [--fuzz 100000] [--kills 60] [--nights 33] [--many 2000]
                         [--seed N]

The first 100,000 files are random (`tools/soak_inputs.py`), and none may take more than 2 s of CPU
time or 1 GiB of memory; the others come from `tools/fuzz.py`, which looks for inputs that reach new
code. Then grading runs are killed, interrupted and stopped (`tools/soak_kills.py`), a class is
graded with too few resources (`tools/soak_nights.py`), and many submissions are graded in one run.
Every failure is printed with the seed and the number, or with the file, that reproduces it;
`--first-input`, `--first-kill` and `--first-night` continue an earlier run. The exit code is 1 if
there is any failure.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.soak_files import feed  # noqa: E402 - needs the line above
from tools.soak_kills import kill  # noqa: E402
from tools.soak_nights import live_through, many_at_once  # noqa: E402

#: the readers in `tools/fuzz.py`, which can't be imported without atheris
READERS = ("notebook", "cells", "module", "archive", "members", "reply")
#: among others, the limits for an input: seconds in real time, and MiB
_LIBFUZZER = ("-timeout=120", "-rss_limit_mb=4096", "-max_len=4096", "-len_control=0")


def main() -> int:
    """Runs all parts, and prints the failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first-input", type=int, default=0)
    parser.add_argument("--fuzz", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--first-kill", type=int, default=0)
    parser.add_argument("--nights", type=int, default=33)
    parser.add_argument("--first-night", type=int, default=0)
    parser.add_argument("--many", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failures = feed(options.inputs, options.seed, options.first_input)
    failures += fuzz(options.fuzz, options.seed)
    failures += kill(options.kills, options.seed, options.first_kill)
    failures += live_through(options.nights, options.seed, options.first_night)
    failures += many_at_once(options.many)
    print(f"{failures} failures")
    return 1 if failures else 0


def fuzz(count: int, seed: int) -> int:
    """Fuzzes all readers with equal shares of the inputs; returns how many readers have failed."""
    if not count:
        return 0
    if importlib.util.find_spec("atheris") is None:
        print(
            "atheris is not installed, so nothing was fuzzed, which counts as a failure: "
            "`make soak` installs it; --fuzz 0 leaves this part out",
            flush=True,
        )
        return 1
    failures = 0
    for reader in READERS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), reader]
            command += [f"-runs={-(-count // len(READERS))}", f"-seed={seed}", *_LIBFUZZER]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            failures += bool(run.returncode)
            printed = run.stdout + run.stderr
            if run.returncode:
                kept = [_kept(path) for path in Path(folder).iterdir()]
                print(f"fuzz.py {reader} failed on {kept}:\n{printed[-4000:]}", flush=True)
            else:
                done = [line for line in printed.splitlines() if "DONE" in line]
                print(f"{reader}: {' '.join(done)}", flush=True)
    return failures


def _kept(found: Path) -> str:
    """Copies an input that failed to the system's temporary folder; returns the copy's path."""
    return str(shutil.copy(found, Path(tempfile.gettempdir()) / found.name))


if __name__ == "__main__":
    sys.exit(main())
