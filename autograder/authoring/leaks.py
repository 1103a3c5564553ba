"""Finds a course's secrets in files for students."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ..course import Course
from ..errors import ContentError
from .compact import compact, readable_lines
from .computations import expressions_in_cells
from .secrets import Secret, SecretKind, code_of, computed_by, given_lines, secrets_of

#: a line of a solution with at least this many characters is found even inside other text; a
#: shorter one is found only as a whole line
_FOUND_ANYWHERE = 36
#: the number of characters at the beginning of a secret that are looked up before all of it
_START = 24


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret, and the line in a released file that contains it."""

    path: str
    line: int
    secret: Secret

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.secret.kind}, "
            f"from {self.secret.path}:{self.secret.line}"
        )


class LeakFinder:
    def __init__(self, course: Course) -> None:
        self._secrets = secrets_of(course)
        self._by_start: dict[str, list[int]] = {}
        for number, secret in enumerate(self._secrets):
            if _is_found_anywhere(secret):
                self._by_start.setdefault(secret.text[:_START], []).append(number)
        #: the other secrets: names of hidden tests, and whole lines of solutions
        self._whole = {
            (secret.kind, secret.text): number
            for number, secret in enumerate(self._secrets)
            if not _is_found_anywhere(secret)
        }
        self._computed = computed_by(course)
        self._given = {
            (assignment.name, exercise.name): given_lines(exercise)
            for assignment in course.assignments
            for exercise in assignment.exercises
        }
        #: the last wheel, and its leaks; a release gives every assignment the same wheel
        self._wheel: tuple[bytes, tuple[Leak, ...]] = (b"", ())

    def in_files(self, assignment: str, files: Mapping[str, bytes]) -> Iterator[Leak]:
        """Yields the leaks in an assignment's files, including the files in a wheel."""
        for name, content in files.items():
            path = f"{assignment}/{name}"
            if name.endswith(".whl"):
                yield from self._in_wheel(path, content)
            else:
                given = self._given.get((assignment, _exercise_of(name)), frozenset())
                found = self._in_text(path, content.decode("utf-8"), given)
                yield from (leak for leak in found if _matters(leak, assignment))
                if name.endswith(".ipynb"):
                    yield from self._in_cells(path, content.decode("utf-8"))

    def _in_cells(self, path: str, notebook: str) -> Iterator[Leak]:
        lines = notebook.splitlines()
        for key, code in expressions_in_cells(notebook):
            if key in self._computed:
                written = json.dumps(code)[1:-1]
                number = next(n for n, line in enumerate(lines, start=1) if written in line)
                yield Leak(path, number, self._computed[key])

    def _in_wheel(self, path: str, content: bytes) -> Iterator[Leak]:
        if self._wheel[0] != content:
            self._wheel = (content, tuple(self._in_archive(content)))
        for leak in self._wheel[1]:
            yield replace(leak, path=f"{path}/{leak.path}")

    def _in_archive(self, content: bytes) -> Iterator[Leak]:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                text = archive.read(name).decode("utf-8", errors="replace")
                yield from self._in_text(name, text, frozenset())

    def _in_text(self, path: str, text: str, given: frozenset[str]) -> Iterator[Leak]:
        readable = readable_lines(path, text)
        whole = compact(readable)
        lines = dict(_lines(readable))
        words = dict(_words(readable))
        # looking up the text's own parts is much faster than searching it for every secret
        found = {
            self._whole[key]: line
            for kind, parts in ((SecretKind.TEST_NAME, words), (SecretKind.SOLUTION, lines))
            for part, line in parts.items()
            if (key := (kind, part)) in self._whole
        }
        for start in self._starts_in(whole.text):
            for number in self._by_start[start]:
                if (at := whole.text.find(self._secrets[number].text)) >= 0:
                    found[number] = whole.lines[at]
        for number, line in sorted(found.items()):
            secret = self._secrets[number]
            if secret.kind is SecretKind.TEST_NAME or secret.text not in given:
                yield Leak(path, line, secret)

    def _starts_in(self, text: str) -> set[str]:
        """Returns the beginnings of secrets that are in a text."""
        parts = {text[at : at + _START] for at in range(len(text))}
        short = {start for start in self._by_start if len(start) < _START and start in text}
        return short | (parts & self._by_start.keys())


def _is_found_anywhere(secret: Secret) -> bool:
    """Returns whether a secret is also found inside a line or a word."""
    if secret.kind is SecretKind.SOLUTION:
        return len(secret.text) >= _FOUND_ANYWHERE
    return secret.kind is not SecretKind.TEST_NAME


def refuse_leaks(leaks: Iterable[Leak], root: Path) -> None:
    """Raises `ContentError` for the first leak; the message also lists other leaks."""
    found = list(leaks)
    if not found:
        return
    first = found[0]
    others = "".join(f"\n  also: {leak}" for leak in found[1:20])
    raise ContentError(
        root / first.path,
        first.line,
        f"{first.secret.kind} is visible: {first.secret.path}:{first.secret.line}" + others,
        "change the text, the public check or the hidden test",
    )


def _matters(leak: Leak, assignment: str) -> bool:
    """Returns whether a leak matters: code may be wrong in one assignment and right in another."""
    secret = leak.secret
    return secret.kind is not SecretKind.MISCONCEPTION or secret.path.parent.name == assignment


def _exercise_of(name: str) -> str:
    return PurePosixPath(name).stem.removeprefix("test_")


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yields each line as code, with and without a leading `#` or `>`, and inline code in it."""
    for number, line in enumerate(text.splitlines(), start=1):
        yield code_of(line), number
        yield code_of(line.strip().lstrip("#>-* ")), number
        for match in re.finditer(r"`+([^`]+)`+", line):
            yield code_of(match.group(1)), number


def _words(text: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.splitlines(), start=1):
        for match in re.finditer(r"\btest_\w+", line):
            yield match.group(), number
