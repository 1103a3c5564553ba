"""Provides the wheel of this package that a course gives to its students and graders.

For the course in this package's own repository, the wheel is built from that repository; for any
other course, it is made from the installed package.
"""

from __future__ import annotations

import tomllib
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ..errors import ContentError
from .bundle import build_wheel
from .student_wheel import wheel_bytes

PACKAGE = "attention-autograder"
_WHEEL = "Wheel-Version: 1.0\nGenerator: autograder\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_ABOUT = ("METADATA", "entry_points.txt")


def package_wheel(root: Path, out: Path) -> Path:
    """Writes the wheel for a course to a folder; raises `GraderError` if it can't be built."""
    if contains_package(root):
        return build_wheel(root, out)
    path = out / wheel_name(root)
    out.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_installed())
    return path


def contains_package(root: Path) -> bool:
    """Returns whether a course's folder is this package's own repository."""
    return _own_version(root) is not None and (root / "autograder").is_dir()


def wheel_name(root: Path) -> str:
    """Returns the name of a course's wheel; raises `ContentError` for an invalid pyproject.toml."""
    version = _own_version(root) or metadata.version(PACKAGE)
    return f"{PACKAGE.replace('-', '_')}-{version}-py3-none-any.whl"


def _own_version(root: Path) -> str | None:
    """Returns the version in the course's pyproject.toml, or None if it is for another project."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return None
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        return str(project["version"]) if project.get("name") == PACKAGE else None
    except (OSError, tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        raise ContentError(
            path,
            None,
            f"the package's name and version can't be read: {error!r}",
            "add both to [project]",
        ) from error


def _installed() -> bytes:
    """Builds a wheel from the installed package, even if it was installed in editable mode."""
    distribution = metadata.distribution(PACKAGE)
    folder = f"{PACKAGE.replace('-', '_')}-{distribution.version}.dist-info"
    files = _files(resources.files("autograder"), "autograder")
    files |= {f"{folder}/{name}": (distribution.read_text(name) or "").encode() for name in _ABOUT}
    return wheel_bytes({**files, f"{folder}/WHEEL": _WHEEL.encode()})


def _files(folder: Traversable, name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found |= _files(entry, f"{name}/{entry.name}")
        elif entry.is_file() and not entry.name.endswith(".pyc"):
            found[f"{name}/{entry.name}"] = entry.read_bytes()
    return found
