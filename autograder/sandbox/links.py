"""Where nothing can be mounted (tier C): a folder of links to what a worker may import."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .environment import WORKER, WorkerEnvironment


class Links:
    """Such a folder, and where a worker finds the standard library. Close it.

    Root's worker changes its user and may then not pass through folders like /root, so its links
    go through `descriptors` of folders that were opened before; a worker keeps these.
    """

    def __init__(self, environment: WorkerEnvironment) -> None:
        self._opened: dict[Path, int] = {}
        self._temporary = tempfile.TemporaryDirectory(prefix="autograder-")
        self.folder = Path(self._temporary.name)
        self.folder.chmod(0o755)
        for path in (*environment.packages, WORKER):
            (self.folder / path.name).symlink_to(self._reached(path))
        self.library = self._reached(environment.standard_library)

    @property
    def descriptors(self) -> list[int]:
        """What a fork server and its workers inherit."""
        return list(self._opened.values())

    def close(self) -> None:
        """Removes the folder and closes the descriptors."""
        self._temporary.cleanup()
        for descriptor in self._opened.values():
            os.close(descriptor)
        self._opened = {}

    def _reached(self, path: Path) -> Path:
        if os.getuid() != 0:
            return path
        if path.parent not in self._opened:
            self._opened[path.parent] = os.open(path.parent, os.O_PATH)
        return Path(f"/proc/self/fd/{self._opened[path.parent]}/{path.name}")
