"""Finds the files that a worker may see: Python, torch with its requirements, and worker code."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

#: distributions that an answer may import besides the standard library, if they are installed
ALLOWED = ("torch", "numpy", "einops")
WORKER = Path(__file__).resolve().parent.parent / "worker"
_SYSTEM_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True)
class Libraries:
    """The libraries that workers may import besides the standard library.

    The fork server imports `modules` in advance. If `notebooks` is true, workers can run notebook
    cells.
    """

    distributions: tuple[str, ...] = ALLOWED
    modules: tuple[str, ...] = ALLOWED
    notebooks: bool = False


@dataclass(frozen=True, slots=True)
class Preparation:
    """The work that the fork server does in advance, so that workers need not do it.

    If `second_device` is false, a layer whose operators have no C++ kernel for the meta device
    costs a worker a third of a second. If `many_workers` is false, such a layer also costs a third
    of a second, and every worker takes ten milliseconds longer, but the fork server is ready half a
    second earlier.
    """

    second_device: bool = True
    many_workers: bool = True


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    """Paths on the grader's machine that a worker's Python needs."""

    python: Path
    standard_library: Path
    libraries: tuple[Path, ...]
    hidden: tuple[Path, ...]
    packages: tuple[Path, ...]

    def readable(self) -> list[str]:
        """Returns the paths that Landlock lets a worker read, except the hidden folders."""
        paths = [self.python, self.standard_library, *self.libraries]
        parts = {part for path in paths for part in self._around(path.resolve())}
        return [*map(str, (*sorted(parts), *self.packages, WORKER)), "/dev/null", "/dev/urandom"]

    def listable(self) -> list[str]:
        """Returns the parents of hidden folders, because Python lists them to find modules."""
        roots = [path.resolve() for path in (self.standard_library, *self.libraries)]
        above = {parent for path in self.hidden for parent in path.parents}
        return sorted(
            str(path) for path in above if any(path.is_relative_to(root) for root in roots)
        )

    def _around(self, path: Path) -> list[Path]:
        if path in self.hidden:
            return []
        if not any(hidden.is_relative_to(path) for hidden in self.hidden):
            return [path]
        return [part for child in path.iterdir() for part in self._around(child)]


def worker_environment(distributions: Sequence[str] = ALLOWED) -> WorkerEnvironment:
    """Returns the environment for workers that use the running interpreter.

    The environment includes the packages of the installed `distributions`, and all their
    requirements. Raises `LookupError` if torch is required but not installed.
    """
    base = Path(sys.base_prefix).resolve()
    standard_library = Path(sysconfig.get_path("stdlib")).resolve()
    libraries = [Path(path) for path in _SYSTEM_LIBRARIES if Path(path).exists()]
    if not base.is_relative_to("/usr") or base == Path("/usr/local"):
        libraries += sorted(
            path for path in (base / "lib").glob("lib*.so*") if not path.is_symlink()
        ) + sorted(path for path in (base / "lib").glob("lib*.so*") if path.is_symlink())
    hidden = [
        standard_library / "site-packages",
        standard_library / "dist-packages",
        Path("/usr/lib/python3/dist-packages"),
    ]
    return WorkerEnvironment(
        python=Path(sys.executable).resolve(),
        standard_library=standard_library,
        libraries=tuple(libraries),
        hidden=tuple(path for path in hidden if path.is_dir()),
        packages=tuple(_packages(distributions)),
    )


def _packages(distributions: Sequence[str]) -> list[Path]:
    """Returns the top-level folders and files of distributions and of all their requirements."""
    waiting, seen, paths = list(distributions), set(), set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name == "torch":
                raise LookupError("torch is not installed in the grader's environment") from None
            continue
        paths.update(_top_level(distribution))
        waiting += [_required(text) for text in distribution.requires or () if _applies(text)]
    return sorted(paths)


def _top_level(distribution: metadata.Distribution) -> set[Path]:
    site = Path(str(distribution.locate_file(""))).resolve()
    names = _first_parts(distribution) - {"..", "__pycache__", ""}
    return {site / name for name in names if (site / name).exists()}


def _first_parts(distribution: metadata.Distribution) -> set[str]:
    """Returns the first component of the path of each file in a distribution."""
    record = distribution.read_text("RECORD")
    if record is None:  # not installed by pip
        return {file.parts[0] for file in distribution.files or ()}
    # read the text, because `distribution.files` creates an object for each of torch's ten thousand
    # files
    paths = (line.partition(",")[0].strip('"') for line in record.splitlines())
    return {path.partition("/")[0] for path in paths}


def _required(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return match.group() if match else ""


def _applies(requirement: str) -> bool:
    return "extra ==" not in requirement
