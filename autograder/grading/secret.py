"""The secret of a class and the seeds drawn from it: a suite alone does not reveal its inputs."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError

#: its place next to the results file
FILE_NAME = "secret.key"
_BYTES = 32
#: more is not a secret, but another file, or a device without an end
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of a class's inputs: the same on every machine that has the secret.

    `asked` maps the name of an assignment to the digest of what it asks. `fixed`, if given, is the
    seed of every attempt. All first attempts of a class are asked the same, so equal mistakes get
    equal points; what was learned from one attempt does not answer the next.
    """

    asked: Mapping[str, str]
    secret: bytes = b""
    fixed: int | None = None

    def of(self, assignment: str, attempt: int) -> int:
        """The seed of an attempt, counted from 1."""
        if self.fixed is not None:
            return self.fixed
        text = f"{self.asked[assignment]}/{attempt}".encode()
        return int.from_bytes(hmac.digest(self.secret, text, "sha256")[:6], "big")


def class_secret(path: Path) -> bytes:
    """The secret in a file, made at first use; raises `UserError` where there can't be one."""
    try:
        if not path.exists():
            _make(path)
        secret = _read(path)
    except OSError as error:
        raise UserError(
            f"{path}, the secret of the class, can't be read or made ({error.strerror}); "
            "say --secret FILE"
        ) from error
    if not _BYTES <= len(secret) <= _MOST_BYTES:
        size = len(secret) if len(secret) < _BYTES else f"more than {_MOST_BYTES}"
        raise UserError(
            f"{path} holds {size} bytes, which is not a secret of a class; restore it, "
            "or move it away: a new one gives all students other numbers"
        )
    return secret


def _read(path: Path) -> bytes:
    """The bytes of a file or of a shell's pipe; a pipe that nobody writes to is empty."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        os.set_blocking(descriptor, True)
        return file.read(_MOST_BYTES + 1).strip()


def named_secret(path: Path | str, results: Path | None = None) -> Path:
    """The place that somebody named for the secret; raises `UserError` where it must be another.

    A misspelt path would be made, and all students asked other numbers: so its folder must be
    there, and where the results file has lines already, the secret of these lines.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise UserError(f"{place.parent} is not there, so {place} can't be the class's secret")
    if not place.exists() and results is not None and _has_lines(results):
        raise UserError(
            f"{place} is not there, and {results} has results that were asked with another secret. "
            "Is its name misspelt? Name that secret (without --secret it is "
            f"{results.with_name(FILE_NAME)}), or give new results a place of their own (--results)"
        )
    return place


def _has_lines(results: Path) -> bool:
    return results.is_file() and results.stat().st_size > 0


def _make(path: Path) -> None:
    """Writes a new secret in one step: other shards may do the same at the same moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # of mode 600
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
