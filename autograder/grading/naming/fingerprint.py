"""What a table of answers depends on, as a digest; and whether it is still what it was.

Files may change while a run goes on. What is then found out by code that was loaded before must not
be kept for the code that stands there now.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = ("suite", "grading", "worker", "parts")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Files as they were at one moment."""

    digest: str
    stamps: Mapping[Path, tuple[int, int] | None]

    @classmethod
    def of(cls, files: Iterable[Path]) -> Fingerprint:
        """Of files as they are now; one that is not there counts as such."""
        digest, stamps = hashlib.sha256(), {}
        for path in files:
            stamps[path] = _stamp(path)
            digest.update(path.read_bytes() if stamps[path] else b"")
            digest.update(b"\0")
        return cls(digest.hexdigest(), stamps)

    def holds(self) -> bool:
        """Whether no file was written since."""
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())

    def __add__(self, other: Fingerprint) -> Fingerprint:
        both = hashlib.sha256(f"{self.digest} {other.digest}".encode())
        return Fingerprint(both.hexdigest(), {**self.stamps, **other.stamps})


def _stamp(path: Path) -> tuple[int, int] | None:
    """When it was written, and its size."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _code() -> Fingerprint:
    files = [path for name in _FOLDERS for path in sorted((_PACKAGE / name).rglob("*.py"))]
    found = Fingerprint.of(files)
    versions = f"{found.digest} {platform.python_version()} {torch.__version__}"
    return Fingerprint(hashlib.sha256(versions.encode()).hexdigest(), found.stamps)


#: of the code that this process has: taken when it is loaded, as later other code may stand there
CODE = _code()
