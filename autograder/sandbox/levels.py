"""Defines the isolation levels, strongest first: how to start each, and what to do if it fails.

A new level needs a row in `LEVELS` and a member of `records.Tier`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import SandboxError
from ..records import Tier
from .environment import WORKER, WorkerEnvironment
from .temporary import temporary_folder

_PLACE = Path("/worker")


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that starts a fork server's Python, and the folders that it uses.

    `library` is the path of the standard library inside the sandbox, and `place` is the folder that
    contains the packages for workers. Close `links` when the fork server has ended.
    """

    command: list[str]
    library: Path
    place: Path
    links: Links | None = None

    @property
    def kept(self) -> list[int]:
        """The descriptors that the fork server and its workers inherit."""
        return self.links.descriptors if self.links else []


@dataclass(frozen=True, slots=True)
class Level:
    """An isolation level; `launch` raises `SandboxError` if the machine lacks a requirement."""

    tier: Tier
    launch: Callable[[WorkerEnvironment], Launch]
    #: whether each worker gets its own user, pid, mount and ipc namespaces
    own_namespaces: bool
    remedy: str


def _in_bubblewrap(environment: WorkerEnvironment) -> Launch:
    if shutil.which("bwrap") is None:
        raise SandboxError("bubblewrap is not installed: apt-get install bubblewrap")
    return Launch(_bubblewrap(environment), environment.standard_library, _PLACE)


def _among_links(environment: WorkerEnvironment) -> Launch:
    links = Links(environment)
    return Launch([], links.library, links.folder, links)


#: the levels that `autograder doctor` tries, in this order
LEVELS = {
    level.tier: level
    for level in (
        Level(
            Tier.A,
            _in_bubblewrap,
            own_namespaces=True,
            remedy="install bubblewrap (apt-get install bubblewrap) and allow user namespaces",
        ),
        Level(
            Tier.B,
            _in_bubblewrap,
            own_namespaces=False,
            remedy="install bubblewrap (apt-get install bubblewrap)",
        ),
        Level(
            Tier.C,
            _among_links,
            own_namespaces=False,
            remedy="use Linux with Landlock (5.13 or newer) and a Python that all users can read",
        ),
    )
}


def _bubblewrap(environment: WorkerEnvironment) -> list[str]:
    command = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if os.getuid() == 0:  # all that it needs to become the user `nobody`
        for name in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            command += ["--cap-add", name]
    else:
        command += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    # older versions of torch need a temporary folder while they are imported; Landlock later hides
    # it from workers
    command += ["--tmpfs", "/tmp"]
    targets = [*environment.libraries, environment.standard_library, environment.python]
    for folder in sorted({parent for path in targets for parent in path.parents}):
        command += ["--dir", str(folder)]  # otherwise, only root could read them
    command += ["--dir", str(_PLACE)]
    for path in environment.libraries:
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        else:
            command += ["--ro-bind", str(path), str(path)]
    for path in (environment.standard_library, environment.python):
        command += ["--ro-bind", str(path), str(path)]
    for path in environment.hidden:
        command += ["--tmpfs", str(path)]
    for package in environment.packages:
        command += ["--ro-bind", str(package), f"{_PLACE}/{package.name}"]
    command += ["--ro-bind", str(WORKER), f"{_PLACE}/{WORKER.name}"]
    return [*command, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/"]


class Links:
    """A folder of links to a worker's packages, and a path to the standard library.

    If root starts the grader, its workers switch to a different user, who can't enter folders such
    as /root. The links therefore go through `descriptors` of folders that were opened earlier, and
    workers inherit these descriptors.
    """

    def __init__(self, environment: WorkerEnvironment) -> None:
        self._opened: dict[Path, int] = {}
        self._temporary = contextlib.ExitStack()
        self.folder = self._temporary.enter_context(temporary_folder())
        self.folder.chmod(0o755)
        for path in (*environment.packages, WORKER):
            (self.folder / path.name).symlink_to(self._reached(path))
        self.library = self._reached(environment.standard_library)

    @property
    def descriptors(self) -> list[int]:
        return list(self._opened.values())

    def close(self) -> None:
        self._temporary.close()
        for descriptor in self._opened.values():
            os.close(descriptor)
        self._opened = {}

    def _reached(self, path: Path) -> Path:
        if os.getuid() != 0:
            return path
        if path.parent not in self._opened:
            self._opened[path.parent] = os.open(path.parent, os.O_PATH)
        return Path(f"/proc/self/fd/{self._opened[path.parent]}/{path.name}")
