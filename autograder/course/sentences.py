"""Reads the sentence of each known mistake from its file, without running the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from .content import Course


def mistake_sentences(course: Course) -> Mapping[str, str]:
    """Returns the author's sentence for each mistake, by `<assignment>/<exercise>.<name>`."""
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
