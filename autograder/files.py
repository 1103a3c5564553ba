"""Writes a file in one step: a reader sees the old text or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import UserError


def replace_file(path: Path, text: str) -> Path:
    """Makes `path` hold the text, and leaves it alone where it does; raises `UserError`."""
    return replace_bytes(path, text.encode("utf-8", "replace"))


def replace_bytes(path: Path, data: bytes) -> Path:
    """Makes `path` hold the bytes, and leaves it alone where it does; raises `UserError`."""
    try:
        if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
            return path
    except OSError as error:
        raise _refused(path, error) from error
    with replacing(path) as file:
        file.write(data)
    return path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` at the end; raises `UserError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: can't be written: {error.strerror or error}")
