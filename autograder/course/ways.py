"""Reads alternative correct answers to questions, and the sentences about known mistakes.

`source/<assignment>/ways.toml` names alternatives in `tests/alternatives/`. `validate` grades these
alternatives, so only code that gets all points is shown. Students see the alternatives after they
have submitted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ContentError
from ..records import Assignment
from .content import Course
from .rules import read_toml

FILE = "ways.toml"


@dataclass(frozen=True, slots=True)
class AlternativeSolution:
    """A correct answer other than the solution; `text` says what the code does and costs."""

    text: str
    code: str


def ways_of(course: Course, assignment: Assignment) -> dict[str, tuple[AlternativeSolution, ...]]:
    """Reads the alternative solutions of each question; returns {} if the file does not exist.

    Raises `ContentError` if a question or an alternative does not exist, or if an explanation is
    missing.
    """
    path = course.root / "source" / assignment.name / FILE
    if not path.is_file():
        return {}
    document: dict[str, Mapping[str, object]] = read_toml(path)
    exercises = {q.name: item for item in assignment.exercises for q in item.questions}
    for name in sorted(document.keys() - exercises.keys()):
        known = ", ".join(exercises)
        raise ContentError(path, None, f"no question is called {name!r}", f"use one of: {known}")
    found: dict[str, tuple[AlternativeSolution, ...]] = {}
    for name in (name for name in exercises if name in document):
        source = course.variants("alternatives", exercises[name])
        found[name] = tuple(
            AlternativeSolution(_text(path, way, text), _code(path, source, way, name))
            for way, text in document[name].items()
        )
    return found


def _text(path: Path, way: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ContentError(path, None, f"no text for {way}", f'add {way} = "..."')
    return " ".join(text.split())


def _code(path: Path, alternatives: Path, way: str, question: str) -> str:
    """Returns an alternative's code, renamed after the question, and preceded by its helpers."""
    source = alternatives.read_text(encoding="utf-8") if alternatives.is_file() else ""
    known = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    if way not in known:
        raise ContentError(
            path,
            None,
            f"{question}: {alternatives.name} has no {way!r}",
            "write the name of one of its alternatives",
        )
    lines = source.splitlines()
    texts = {
        name: "\n".join(lines[known[name].lineno - 1 : known[name].end_lineno])
        for name in _used(known, way)
    }
    # replace only the bare name: in an alternative called einsum, `torch.einsum` must stay
    own = re.sub(rf"(?<![\w.]){way}(?!\w)", question, texts.pop(way))
    return "\n\n\n".join([*texts.values(), own])


def _used(known: Mapping[str, ast.stmt], way: str) -> list[str]:
    """Returns the names of an alternative and its helpers, in file order."""
    wanted, waiting = {way}, [way]
    while waiting:
        for node in ast.walk(known[waiting.pop()]):
            name = getattr(node, "id", "")
            if name in known and name not in wanted:
                wanted.add(name)
                waiting.append(name)
    return [name for name in known if name in wanted]


def mistake_sentences(course: Course) -> Mapping[str, str]:
    """Returns the author's sentence for each mistake, keyed by `<assignment>/<exercise>.<name>`."""
    return {
        f"{assignment.name}/{exercise.name}.{name}": sentence
        for assignment in course.assignments
        for exercise in assignment.exercises
        for path in [course.variants("misconceptions", exercise)]
        if path.is_file()
        for name, sentence in _sentences(ast.parse(path.read_text(encoding="utf-8")))
    }


def _sentences(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for mark in node.decorator_list:
                for word in mark.keywords if isinstance(mark, ast.Call) else ():
                    if word.arg == "confuses" and isinstance(word.value, ast.Constant):
                        yield node.name, str(word.value.value)
