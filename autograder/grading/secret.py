"""Computes digests of assignments, and keeps the class secret; tests' inputs depend on both.

Therefore, a suite alone does not reveal the inputs of its tests. This module does not load torch or
start a sandbox.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import parts
from ..course.rules import CALLS, RULES
from ..errors import UserError
from ..records import Assignment
from ..submission import Submission, submission_digest

#: the version of judging. Developers increase it when an answer may get a different score although
#: the suite, the solution and the parts are the same. `--resume` then grades old submissions again,
#: so the changelog must say why
JUDGING = 4


def asked_digest(assignment: Assignment) -> str:
    """Returns a digest of the questions: hidden suites, rules, solutions, parts and limits.

    Tests' inputs depend on this digest, so the digest must not depend on anything else, such as the
    grader's own code, due dates or the catalog of known mistakes.
    """
    files: list[Path] = []
    for exercise in assignment.exercises:
        files += [exercise.solution, exercise.hidden_suite]
    source = assignment.exercises[0].source.parent
    files += [source / RULES, source.parent / CALLS]
    files += sorted(Path(parts.__file__).parent.glob("*.py"))
    return digest_of_files(files, repr(assignment.limits))


def suite_digest(assignment: Assignment) -> str:
    """Returns a digest of everything that a score depends on, except the submission."""
    return digest_of_files([], f"{JUDGING}/{asked_digest(assignment)}")


def digest_of_files(files: Iterable[Path], *texts: str) -> str:
    """Returns the SHA-256 of strings and named files; missing files count as empty."""
    digest = hashlib.sha256("\0".join(texts).encode())
    for path in files:
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return f"sha256:{digest.hexdigest()}"


def submitted_digest(submission: Submission, assignment: Assignment) -> str:
    """Returns the digest of a submission's files for an assignment that suites judge."""
    return submission_digest(submission.folder, assignment.exercises)


#: the default name of the secret's file, which is next to the results file
FILE_NAME = "secret.key"
_BYTES = 32
#: a longer file is not a secret, but a different file or an endless device
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds for a class's inputs; all machines that have the class secret use the same seeds.

    `asked` contains the digest of each assignment's questions. `fixed`, if given, is the seed for
    every attempt. All first attempts in a class get the same inputs, so equal mistakes get equal
    points. Knowing the inputs for one attempt does not help with the next attempt.
    """

    asked: Mapping[str, str]
    secret: bytes = b""
    fixed: int | None = None

    def of(self, assignment: str, attempt: int) -> int:
        """Returns the seed for an attempt; attempts are counted from 1."""
        if self.fixed is not None:
            return self.fixed
        text = f"{self.asked[assignment]}/{attempt}".encode()
        return int.from_bytes(hmac.digest(self.secret, text, "sha256")[:6], "big")


def class_secret(path: Path) -> bytes:
    """Returns the secret in a file, or creates one; raises `UserError` if the file is unusable."""
    try:
        if not path.exists():
            _make(path)
        secret = _read(path)
    except OSError as error:
        raise UserError(
            f"{path}, the class's secret, can't be read or created ({error.strerror}); "
            "use --secret FILE"
        ) from error
    if not _BYTES <= len(secret) <= _MOST_BYTES:
        size = len(secret) if len(secret) < _BYTES else f"more than {_MOST_BYTES}"
        raise UserError(
            f"{path} contains {size} bytes, so it is not the secret of a class; restore it, or "
            "move it elsewhere: with a new secret, all students get different inputs"
        )
    return secret


def _read(path: Path) -> bytes:
    """Returns the bytes in a file or in a shell's pipe; a pipe without a writer counts as empty."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        os.set_blocking(descriptor, True)
        return file.read(_MOST_BYTES + 1).strip()


def named_secret(path: Path | str, results: Path | None = None) -> Path:
    """Returns the path that a user gave for a secret; raises `UserError` if it looks wrong.

    If the user misspelled the path of an existing secret, a new secret would be created, and all
    students would get different inputs. Therefore, the folder must exist and, if the results file
    already has lines, so must the secret.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise UserError(f"{place.parent} does not exist, so {place} can't be the class's secret")
    if not place.exists() and results is not None and _has_lines(results):
        raise UserError(
            f"{place} does not exist, and {results} has results made with a different secret. "
            "Is its name misspelled? Use that secret (without --secret it is "
            f"{results.with_name(FILE_NAME)}), or write new results to a different file (--results)"
        )
    return place


def _has_lines(results: Path) -> bool:
    return results.is_file() and results.stat().st_size > 0


def _make(path: Path) -> None:
    """Writes a new secret in one step, because other shards may do so at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # created with mode 600
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
