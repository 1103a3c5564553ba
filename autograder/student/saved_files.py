"""Detects when files are saved, so that `autograder watch` can check them immediately."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..course.manifest import read_manifest

_PAUSE = 0.4  # seconds between two checks of the files
_KINDS = (".py", ".ipynb")

#: the state of a file, which changes when it is saved
_State = tuple[int, int] | None


def saved_exercises(
    folder: Path,
    exercises: Sequence[str] = (),
    pause: Callable[[], None] = lambda: time.sleep(_PAUSE),
) -> Iterator[tuple[str, ...]]:
    """After each save, yields the exercises whose module or notebook was saved; never ends.

    Watches some exercises in an assignment's folder (default: all). A file that appears or
    disappears also counts as saved; an empty file does not, because some editors empty a file
    before they write it. `pause` waits between two checks of the files. Raises `UserError` if the
    folder is not an assignment.
    """
    names = tuple(Path(name).stem for name in exercises) or read_manifest(folder).exercises
    before = _look(folder, names)
    while True:
        pause()
        now = _look(folder, names)
        if any(state is not None and not state[1] for states in now.values() for state in states):
            continue
        saved = tuple(name for name in names if now[name] != before[name])
        before = now
        if saved:
            yield saved


def _look(folder: Path, names: Sequence[str]) -> dict[str, tuple[_State, ...]]:
    return {name: tuple(_state(folder / f"{name}{kind}") for kind in _KINDS) for name in names}


def _state(path: Path) -> _State:
    try:
        found = path.stat()
    except OSError:  # missing, or just being replaced by an editor
        return None
    return found.st_mtime_ns, found.st_size
