"""Runs the core tests with other versions of Python, PyTorch and nbgrader.

    .venv/bin/python tools/versions.py [--only 3.13] [--keep FOLDER]

Each combination gets a separate environment, in which all packages are pinned except for those that
vary. Writes the table in docs/versions.md: a combination that is not available on this machine is
listed with the reason, and the row of a combination that was not chosen is kept. PyTorch's default
build takes about 7 GB of disk space while a combination is tried; PIP_EXTRA_INDEX_URL may name an
index with a smaller build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"

#: the tests to run, which cover the example class, the gradebook, a student's checks, the sandbox
#: and all suites
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


#: the page, and the lines with which the table begins; it ends at an empty line
PAGE = ROOT / "docs" / "versions.md"
HEAD = (
    "| Python | PyTorch | nbgrader | grader | core tests |",
    "|---|---|---|---|---|",
)

#: the versions of PyTorch that are newer than the pinned one, and the oldest supported one
NEWER_TORCH = ("2.14.1", "2.15.0")
OLDEST_TORCH = "2.6.0"
OLDER_NBGRADER = "0.9.5"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


class Unavailable(Exception):
    """Raised if a combination is not available on this machine; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Versions to test together; all packages other than these are pinned."""

    python: str
    torch: str
    nbgrader: str

    def __str__(self) -> str:
        return f"Python {self.python}, torch {self.torch}, nbgrader {self.nbgrader}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the tests for a combination, and the versions that were installed."""

    versions: tuple[str, str, str]
    summary: str
    is_good: bool = True
    was_run: bool = True

    @classmethod
    def not_run(cls, combination: Combination, why: str) -> Outcome:
        """Returns the outcome for a combination that is not available."""
        versions = (combination.python, combination.torch, combination.nbgrader)
        return cls(versions, f"not run: {why}", was_run=False)

    def row(self) -> str:
        grader = _version() if self.was_run else ""
        return f"| {' | '.join((*self.versions, grader, self.summary))} |"


def combinations() -> tuple[Combination, ...]:
    """Returns the pinned versions for each Python, the oldest ones, and newer ones of PyTorch."""
    torch, nbgrader = _pinned("torch"), _pinned("nbgrader")
    return (
        *(Combination(python, torch, nbgrader) for python in PYTHONS),
        Combination("3.11", OLDEST_TORCH, OLDER_NBGRADER),
        Combination("3.13", OLDEST_TORCH, OLDER_NBGRADER),
        *(Combination("3.13", newer, nbgrader) for newer in NEWER_TORCH),
    )


def main() -> None:
    """Tries the chosen combinations, and writes their rows into the page's table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="combinations whose text contains this")
    parser.add_argument("--keep", type=Path, help="keep the environments in this folder")
    options = parser.parse_args()
    chosen = [item for item in combinations() if options.only in str(item)]
    outcomes = {item: _tried(item, options.keep) for item in chosen}
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_table(page, outcomes), encoding="utf-8")
    print("\n".join((*HEAD, *(outcome.row() for outcome in outcomes.values()))))
    sys.exit(not all(outcome.is_good for outcome in outcomes.values()))


def with_table(page: str, outcomes: Mapping[Combination, Outcome]) -> str:
    """Returns the page with a row for each combination.

    If a combination is not available on this machine, the row from an earlier run is kept.
    """
    before, _, rest = page.partition(HEAD[0] + "\n")
    old_rows, _, after = rest.partition("\n\n")
    earlier = {_key(row): row for row in old_rows.splitlines()[1:]}
    rows = []
    for item in combinations():
        found, known = outcomes.get(item), earlier.get(item)
        if found is None or (not found.was_run and known and "not run" not in known):
            rows.append(known or Outcome.not_run(item, "not tried yet").row())
        else:
            rows.append(found.row())
    return before + "\n".join((*HEAD, *rows)) + "\n\n" + after


def _key(row: str) -> Combination:
    python, torch, nbgrader = (cell.strip() for cell in row.split("|")[1:4])
    return Combination(".".join(python.split(".")[:2]), torch.partition("+")[0], nbgrader)


def _tried(combination: Combination, keep: Path | None) -> Outcome:
    print(f"==> {combination}", file=sys.stderr, flush=True)
    with _place(combination, keep) as place:
        try:
            return _tested(_environment(combination, place))
        except Unavailable as error:
            return Outcome.not_run(combination, str(error))


@contextmanager
def _place(combination: Combination, keep: Path | None) -> Iterator[Path]:
    """Creates the folder for an environment, and removes it afterwards unless it should be kept."""
    if keep is not None:
        yield keep.resolve() / re.sub(r"[^0-9A-Za-z.]+", "-", str(combination))
        return
    # don't use /tmp, which may be in memory, because an environment needs several GB
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="versions-", dir=ROOT / "build") as folder:
        yield Path(folder)


def _environment(combination: Combination, place: Path) -> Path:
    """Returns the interpreter in a new environment with a combination's packages."""
    subprocess.run([_interpreter(combination.python), "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    _pip(python, "--upgrade", "pip")
    # PyTorch's own requirements are pinned only for the pinned PyTorch
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
    """Returns a working Python of this version, from the PATH or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [f"python{version}", *map(str, pyenv.glob(f"versions/{version}.*/bin/python3"))]
    for candidate in candidates:
        if shutil.which(candidate) and _runs(candidate, version):
            return candidate
    raise Unavailable(f"no python{version} on the PATH or among pyenv's")


def _runs(candidate: str, version: str) -> bool:
    """Returns whether a program is this version of Python, and can create environments."""
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


def _tested(python: Path) -> Outcome:
    command = [str(python), "-m", "pytest", "--implementation", "solutions", "-q", "--tb=short"]
    # nbgrader finds `alembic` on the PATH
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*command, *CORE_TESTS], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    last = (done.stdout.strip().splitlines() or ["no tests"])[-1]
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n", file=sys.stderr)
    summary = re.sub(r" in [0-9.]+s.*", "", last).strip("= ")
    return Outcome(_versions(python), summary, done.returncode == 0)


def _versions(python: Path) -> tuple[str, str, str]:
    program = (
        "import platform, importlib.metadata as m\n"
        "print(platform.python_version(), m.version('torch'), m.version('nbgrader'))"
    )
    printed = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    own, torch, nbgrader = printed.stdout.split()
    return own, torch, nbgrader


def _version() -> str:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version: str = settings["project"]["version"]
    return version


def _pins() -> Iterable[str]:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "==" in line and not line.startswith("#")]


def _pinned(name: str) -> str:
    return next(line.partition("==")[2] for line in _pins() if line.startswith(f"{name}=="))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
