"""Finds a course's secrets in files for students."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..course import Course
from ..errors import ContentError
from .compact import compact, readable_lines
from .computations import expressions_in_cells
from .secrets import Secret, SecretKind, code_of, computed_by, given_lines, secrets_of

#: a line of a solution with at least this many characters is found even inside other text; a
#: shorter one is found only as a whole line
_FOUND_ANYWHERE = 36


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
        self._computed = computed_by(course)
        self._given = {
            (assignment.name, exercise.name): given_lines(exercise)
            for assignment in course.assignments
            for exercise in assignment.exercises
        }

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
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                text = archive.read(name).decode("utf-8", errors="replace")
                yield from self._in_text(f"{path}/{name}", text, frozenset())

    def _in_text(self, path: str, text: str, given: frozenset[str]) -> Iterator[Leak]:
        readable = readable_lines(path, text)
        whole = compact(readable)
        lines = dict(_lines(readable))
        words = dict(_words(readable))
        for secret in self._secrets:
            if secret.kind is SecretKind.TEST_NAME:
                if secret.text in words:
                    yield Leak(path, words[secret.text], secret)
            elif secret.kind is SecretKind.SOLUTION and len(secret.text) < _FOUND_ANYWHERE:
                if secret.text in lines and secret.text not in given:
                    yield Leak(path, lines[secret.text], secret)
            elif secret.text in whole.text and secret.text not in given:
                yield Leak(path, whole.lines[whole.text.index(secret.text)], secret)


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
