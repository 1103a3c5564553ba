"""Replaces the old release by a finished new one, completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_tree(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Writes files to their paths below a new folder; returns the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def replace_all(
    folders: Mapping[Path, Path | None], bundles: Mapping[Path, bytes], attic: Path
) -> None:
    """Renames each new folder to its place, and writes the bundles.

    If the new folder is None, only removes the old one. `attic`, the folder for old folders, must
    be on the same file system. If an `OSError` is raised, all folders have been restored.
    """
    staged = _stage_bundles(bundles)
    parked: list[tuple[Path, Path | None]] = []
    try:
        for number, (place, new) in enumerate(folders.items()):
            place.parent.mkdir(parents=True, exist_ok=True)
            old = attic / f"old-{number}" if place.exists() else None
            if old is not None:
                os.rename(place, old)
            parked.append((place, old))
            if new is not None:
                os.rename(new, place)
        for place, new_bundle in staged.items():
            os.replace(new_bundle, place)
    except BaseException:
        _put_back(parked)
        raise
    finally:
        for new_bundle in staged.values():
            new_bundle.unlink(missing_ok=True)


def _stage_bundles(bundles: Mapping[Path, bytes]) -> dict[Path, Path]:
    staged: dict[Path, Path] = {}
    for place, content in bundles.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        staged[place] = place.with_name(f".{place.name}.new")
        staged[place].write_bytes(content)
    return staged


def _put_back(parked: Sequence[tuple[Path, Path | None]]) -> None:
    for place, old in reversed(parked):
        if place.exists():
            shutil.rmtree(place)
        if old is not None:
            os.rename(old, place)
