"""Runs the core tests under other versions of Python, PyTorch and nbgrader.

    .venv/bin/python tools/versions.py [--only 3.13] [--keep FOLDER]

Each combination gets an environment of its own, with the pinned packages but for those that vary.
Prints a table, and says which combinations this machine can't give. PyTorch's default build takes
some 7 GB on the disk while a combination is tried; PIP_EXTRA_INDEX_URL may name an index with a
smaller one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"

#: the example class with its scores, the gradebook, a student's checks, the sandbox, all suites
CORE_TESTS = (
    "tests/autograder/test_instructors_page.py",
    "tests/autograder/nbgrader/gradebook",
    "tests/autograder/exports",
    "tests/autograder/feedback",
    "tests/autograder/student/test_folder.py",
    "tests/autograder/sandbox/test_doors.py",
    "tests/public",
    "tests/hidden",
    "tests/known_outputs",
)


class Unavailable(Exception):
    """This machine can't give a combination, and why."""


@dataclass(frozen=True, slots=True)
class Combination:
    """What varies; the other packages are the pinned ones."""

    python: str
    torch: str
    nbgrader: str

    def __str__(self) -> str:
        return f"Python {self.python}, torch {self.torch}, nbgrader {self.nbgrader}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one combination, with the versions that were really there."""

    combination: Combination
    versions: tuple[str, str, str]
    said: str
    is_good: bool = True


def combinations() -> tuple[Combination, ...]:
    """The corners: all oldest, all newest, and the oldest libraries under the newest Python."""
    torch, nbgrader = _pinned("torch"), _pinned("nbgrader")
    return (
        Combination("3.11", "2.6.0", "0.9.5"),
        Combination("3.11", torch, nbgrader),
        Combination("3.12", torch, nbgrader),
        Combination("3.13", "2.6.0", "0.9.5"),
        Combination("3.13", torch, nbgrader),
    )


def main() -> None:
    """Tries all combinations and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="combinations whose text holds this")
    parser.add_argument("--keep", type=Path, help="keep the environments in this folder")
    options = parser.parse_args()
    chosen = [item for item in combinations() if options.only in str(item)]
    outcomes = [_tried(item, options.keep) for item in chosen]
    print("| Python | PyTorch | nbgrader | core tests |\n|---|---|---|---|")
    for outcome in outcomes:
        print(f"| {' | '.join((*outcome.versions, outcome.said))} |")
    sys.exit(not all(outcome.is_good for outcome in outcomes))


def _tried(combination: Combination, keep: Path | None) -> Outcome:
    print(f"==> {combination}", file=sys.stderr, flush=True)
    asked = (combination.python, combination.torch, combination.nbgrader)
    with _place(combination, keep) as place:
        try:
            return _tested(combination, _environment(combination, place))
        except Unavailable as error:
            return Outcome(combination, asked, f"not to be had here: {error}")


@contextmanager
def _place(combination: Combination, keep: Path | None) -> Iterator[Path]:
    """The folder of an environment, gone afterwards unless it is to be kept."""
    if keep is not None:
        yield keep.resolve() / re.sub(r"[^0-9A-Za-z.]+", "-", str(combination))
        return
    # not in /tmp: that may be memory, and several GB are too much for it
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="versions-", dir=ROOT / "build") as folder:
        yield Path(folder)


def _environment(combination: Combination, place: Path) -> Path:
    """The interpreter of a new environment with the packages of a combination."""
    subprocess.run([_interpreter(combination.python), "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    _pip(python, "--upgrade", "pip")
    # the pinned packages that PyTorch needs belong to the pinned PyTorch
    is_pinned = combination.torch == _pinned("torch")
    constraints = ("--constraint", str(CONSTRAINTS)) if is_pinned else ()
    _pip(python, f"torch=={combination.torch}", *constraints)
    chosen = {"torch", "nbgrader", *_installed(python)}
    rest = place / "constraints.txt"
    rest.write_text("\n".join(line for line in _pins() if line.partition("==")[0] not in chosen))
    _pip(python, "hatchling", "editables", "--constraint", str(rest))
    wanted = (f"nbgrader=={combination.nbgrader}", "--no-build-isolation", "--editable")
    _pip(python, *wanted, f"{ROOT}[instructor,dev]", "--constraint", str(rest))
    return python


def _interpreter(version: str) -> str:
    """A Python of this version that runs: from the PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [f"python{version}", *map(str, pyenv.glob(f"versions/{version}.*/bin/python3"))]
    for candidate in candidates:
        if shutil.which(candidate) and _runs(candidate, version):
            return candidate
    raise Unavailable(f"no python{version} on the PATH or among pyenv's")


def _runs(candidate: str, version: str) -> bool:
    """Whether a program is this Python, with what makes environments; a shim may be neither."""
    program = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([candidate, "-c", program], capture_output=True, text=True)
    return done.stdout.strip() == version


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["pip failed"]
        raise Unavailable(lines[-1].removeprefix("ERROR: "))


def _installed(python: Path) -> set[str]:
    command = [str(python), "-m", "pip", "list", "--format", "freeze"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {_normal(line.partition("==")[0]) for line in lines}


def _tested(combination: Combination, python: Path) -> Outcome:
    command = [str(python), "-m", "pytest", "--implementation", "solutions", "-q", "--tb=short"]
    # nbgrader starts `alembic` by its name
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*command, *CORE_TESTS], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    last = (done.stdout.strip().splitlines() or ["no tests"])[-1]
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n", file=sys.stderr)
    summary = re.sub(r" in [0-9.]+s.*", "", last).strip("= ")
    return Outcome(combination, _versions(python), summary, done.returncode == 0)


def _versions(python: Path) -> tuple[str, str, str]:
    program = (
        "import platform, importlib.metadata as m\n"
        "print(platform.python_version(), m.version('torch'), m.version('nbgrader'))"
    )
    said = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    own, torch, nbgrader = said.stdout.split()
    return own, torch, nbgrader


def _pins() -> Iterable[str]:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "==" in line and not line.startswith("#")]


def _pinned(name: str) -> str:
    return next(line.partition("==")[2] for line in _pins() if line.startswith(f"{name}=="))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
