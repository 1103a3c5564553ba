"""Reads a course's TOML files, and the rules for questions: calls and promised errors.

`source/<assignment>/rules.toml` declares the rules for each question, and `source/not_allowed.toml`
lists the calls of each kind. Hidden suites and public checks read the rules through this module,
and a release writes the rules into the docstring of each stub, and above each question's cell in
the notebook.
"""

from __future__ import annotations

import builtins
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import ContentError

RULES = "rules.toml"
CALLS = "not_allowed.toml"
_KEYS = {"not_allowed", "allows", "because", "allowed", "instead", "raises", "forward_raises"}
#: the sentence that follows any list of calls that are not allowed
_THREADS = "Threads and processes are not allowed either."
_AT = re.compile(r" \(at line (?P<line>\d+), column \d+\)$")
_HEADER = re.compile(r"""\s*\[+\s*["']?(?P<table>[^\]."'\s]+)""")
_KEY = re.compile(r"""\s*["']?(?P<key>[\w-]+)["']?\s*[.=]""")


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The calls that a question does not allow, and the explanation for students.

    `operators` contains the names under which torch dispatches these calls, and `names` contains
    the last parts of the calls' names in source code. `words` is the text for students in the
    docstring, and `instead` is the next step to suggest if an answer is rejected.
    """

    operators: frozenset[str]
    names: frozenset[str]
    words: str
    instead: str


@dataclass(frozen=True, slots=True)
class PromisedError:
    """An error that an answer must raise under a condition; in a class, `method` raises it."""

    error: str
    when: str
    method: str = ""


@dataclass(frozen=True, slots=True)
class QuestionRules:
    """A question's rules; `allows` is a sentence about calls that only seem to be forbidden."""

    not_allowed: NotAllowed | None = None
    promises: tuple[PromisedError, ...] = ()
    allows: str = ""

    @property
    def words(self) -> list[str]:
        """The sentences about calls that are forbidden or allowed."""
        forbidden = [self.not_allowed.words] if self.not_allowed else []
        return [*forbidden, *([self.allows] if self.allows else [])]

    @property
    def page(self) -> str:
        """The rules as a paragraph for the notebook."""
        raised = [f"Raise a `{item.error}` if {item.when}." for item in self.promises]
        return " ".join([*raised, *self.words])


def rules_beside(suite: Path) -> Mapping[str, QuestionRules]:
    """Reads the rules for an assignment, keyed by question, from the files next to its suites.

    In a course, reads the rules from `source/` instead. Returns an empty mapping if the assignment
    has no rules. Raises `ContentError` if a file is not valid.
    """
    if (suite.parent / RULES).is_file():
        return read_rules(suite.parent / RULES, suite.parent / CALLS)
    source = suite.parents[3] / "source" if len(suite.parents) > 3 else suite.parent
    return read_rules(source / suite.parent.name / RULES, source / CALLS)


def read_rules(path: Path, calls: Path) -> Mapping[str, QuestionRules]:
    """Reads the rules in `path`, keyed by question; looks up the kinds of calls in `calls`."""
    stamps = tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in (path, calls))
    return _read_rules(path, calls, stamps)


@lru_cache(maxsize=64)  # every suite of an assignment reads them
def _read_rules(path: Path, calls: Path, _: tuple[int, ...]) -> Mapping[str, QuestionRules]:
    kinds = _document(calls)
    return {name: _rules(path, name, table, kinds) for name, table in _document(path).items()}


def _document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    document = read_toml(path)
    for name, table in document.items():
        if not isinstance(table, dict):
            raise _error(path, name, name, f"{name} is not a table", f"write [{name}] above it")
    return document


def _rules(
    path: Path, name: str, table: Mapping[str, Any], kinds: Mapping[str, Any]
) -> QuestionRules:
    for key in sorted(table.keys() - _KEYS):
        fix = f"use one of: {', '.join(sorted(_KEYS))}"
        raise _error(path, name, key, f"{name}: unknown key {key!r}", fix)
    for key in ("raises", "forward_raises"):
        if not isinstance(table.get(key, {}), dict):
            fix = f'write {key}.ValueError = "..."'
            raise _error(path, name, key, f"{name}: {key} names no error", fix)
    promises = [
        _promise(path, name, error, when, method)
        for key, method in (("raises", ""), ("forward_raises", "forward"))
        for error, when in table.get(key, {}).items()
    ]
    allows = _allows(path, name, table, kinds)
    return QuestionRules(_not_allowed(path, name, table, kinds), tuple(promises), allows)


def _allows(path: Path, name: str, table: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    chosen = _chosen(path, name, table.get("allows", []), kinds)
    for kind in chosen:
        if kind in table.get("not_allowed", []):
            problem = f"{name} both allows and forbids {kind!r}"
            raise _error(path, name, kind, problem, "remove one of the two")
    calls = " and ".join(kinds[kind]["words"] for kind in chosen)
    return f"Allowed: {calls}." if calls else ""


def _promise(path: Path, name: str, error: str, when: Any, method: str) -> PromisedError:
    kind = getattr(builtins, error, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        raise _error(
            path,
            name,
            error,
            f"{name}: Python has no error {error!r}",
            "use one of Python's exceptions, such as ValueError",
        )
    return PromisedError(error, _sentence(path, name, error, when).rstrip("."), method)


def _not_allowed(
    path: Path, name: str, table: Mapping[str, Any], kinds: Mapping[str, Any]
) -> NotAllowed | None:
    chosen = _chosen(path, name, table.get("not_allowed", []), kinds)
    if not chosen:
        return None
    because = _sentence(path, name, "because", table.get("because"))
    instead = _sentence(path, name, "instead", table.get("instead"))
    calls = " and ".join(kinds[kind]["words"] for kind in chosen)
    tables = [kinds[kind] for name in chosen for kind in (name, *kinds[name].get("also", ()))]
    sentences = (f"Not allowed: {calls}, because {because}.", table.get("allowed", ""), _THREADS)
    return NotAllowed(
        frozenset(name for table in tables for name in table["operators"]),
        frozenset(name for table in tables for name in table["names"]),
        " ".join(sentence for sentence in sentences if sentence),
        instead,
    )


def _chosen(
    path: Path, name: str, chosen: Sequence[str], kinds: Mapping[str, Any]
) -> Sequence[str]:
    for kind in chosen:
        if kind not in kinds:
            raise _error(
                path,
                name,
                kind,
                f"{name}: there is no kind of call named {kind!r}",
                f"add [{kind}] to {CALLS}, or use one of: {', '.join(kinds)}",
            )
    return chosen


def _sentence(path: Path, name: str, key: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise _error(path, name, key, f"{name}: {key} is missing", f'add {key} = "..."')
    return " ".join(text.split())


def _error(path: Path, name: str, word: str, problem: str, fix: str) -> ContentError:
    """Returns an error for the line with a word in a question's rules, or for their first line."""
    return ContentError(path, line_in(path, name, word), problem, fix)


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the document in a file; raises `ContentError`, with the line, if it is not valid."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found["line"]) if found else None
        problem = f"not valid TOML: {_AT.sub('', str(error))}"
        raise ContentError(path, line, problem, "fix the line") from error
    except UnicodeDecodeError as error:
        raise ContentError(path, None, "not UTF-8", "save it as UTF-8") from error


def line_in(path: Path, table: str, word: str = "") -> int | None:
    """Returns the first line that contains a word in a table, or else the table's first line.

    Returns None if the file does not contain the table.
    """
    first: int | None = None
    current = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if header := _HEADER.match(line):
            current = header["table"]
        key = None if current else _KEY.match(line)
        if table in (current, key and key["key"]):
            first = first or number
            if word and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line.partition("#")[0]):
                return number
    return first
