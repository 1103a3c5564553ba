"""Turns a student's answer into an entry in the catalog of known mistakes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...course import Course
from ...errors import UserError
from ...records import Exercise, QuestionResult, SubmissionResult
from ...sandbox import temporary_folder
from ...suite.variants import submissions_of
from ..engine import Scope
from ..jobs import Jobs
from ..sources import ListedSubmissions
from ..suite_engine import SuiteEngine
from .cases import Case, write_submissions

_HEAD = '"""What students write."""\n\nfrom autograder.suite import misconception\n'
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """A known mistake to add; `code` defines the answer and its helpers."""

    question: str
    name: str
    confuses: str
    hint: str
    code: str


def with_entry(catalogue: str, entry: Entry) -> str:
    """Returns a catalog's text with an entry added at the end.

    The answer's imports are added to the catalog's imports, and its helpers are renamed. Raises
    `UserError` if an import would replace a name that other entries use.
    """
    catalogue = catalogue or _HEAD
    body = ast.parse(entry.code).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    helpers = [n for n in body if n not in imports and not _defines(n, entry.question)]
    names = {name: f"_{entry.name}_{name}" for node in helpers for name in _bound(node)}
    names[entry.question] = entry.name
    definition = next(node for node in reversed(body) if _defines(node, entry.question))
    renamed = [ast.unparse(_Renamed(names).visit(node)) for node in (*helpers, definition)]
    mark = (
        f'@misconception(\n    "{entry.question}",\n    confuses={_quoted(entry.confuses)},\n'
        f"    hint={_quoted(entry.hint)},\n)\n"
    )
    renamed[-1] = mark + renamed[-1]
    lines = _with_imports(catalogue, [ast.unparse(node) for node in imports])
    return "\n\n\n".join([lines.rstrip("\n"), *renamed]) + "\n"


def graded_entry(
    course: Course, exercise: Exercise, entry: Entry, catalogue: str
) -> QuestionResult | None:
    """Grades an entry like a student's answer; returns the result, or None if there is none.

    `catalogue` is the text of a catalog that contains the entry. The entry's code is executed only
    in a sandboxed worker. If a different known mistake gives equal results, the result may contain
    that mistake's name.
    """
    solution = exercise.solution.read_text(encoding="utf-8")
    texts = {variant.name: text for variant, text in submissions_of(solution, catalogue)}
    case = Case("misconception", exercise, texts[entry.name], "module", entry.question, entry.name)
    assignment = replace(course.assignment(exercise.assignment), exercises=(exercise,))
    results: list[SubmissionResult] = []
    with temporary_folder() as folder:
        scope = Scope.of(SuiteEngine(course, seed=1), [assignment])
        source = ListedSubmissions(write_submissions(folder, [case], [assignment]))
        Jobs().grade(scope, source, results.append, ready=lambda tier: None)
    found = (q for result in results for _, q in result.questions() if q.question == entry.question)
    return next(found, None)


def _defines(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return [name.id for name in stored if isinstance(name.ctx, ast.Store)]


def _with_imports(catalogue: str, imports: list[str]) -> str:
    body = ast.parse(catalogue).body
    known = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    _require_no_other_meaning(body, imports)
    missing = [text for text in imports if text not in {ast.unparse(node) for node in known}]
    lines = catalogue.split("\n")
    last = known[-1].end_lineno if known else None
    return "\n".join([*lines[:last], *missing, *lines[last:]]) if last else catalogue


def _require_no_other_meaning(body: Sequence[ast.stmt], imports: Sequence[str]) -> None:
    there = {name: origin for node in body for name, origin in _origins(node)}
    for text in imports:
        for name, origin in _origins(ast.parse(text).body[0]):
            if name == "*" or there.get(name, origin) != origin:
                raise UserError(
                    f"`{text}` would give {name} another meaning in the catalog: write the entry "
                    "by hand without this import"
                )


def _origins(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yields each name that a statement defines at a file's top level, with the name's meaning."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, alias.name if alias.asname else top
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
    else:
        yield from ((name, f"{name} of this file") for name in _bound(node))


class _Renamed(ast.NodeTransformer):
    """Renames the definitions at the top level of the answer's file."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802 - ast's own name
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        return self._definition(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        return self._definition(node)

    def _definition(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)


def _quoted(text: str) -> str:
    """Returns `text` as short string literals in Python, one per line."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    parts = textwrap.wrap(escaped, _WIDTH, break_long_words=False) or [""]
    spaced = [f"{part} " for part in parts[:-1]] + parts[-1:]
    return "\n    ".join(f'"{part}"' for part in spaced)
