"""The English of docstrings, help and docs: the habits that CONTRIBUTING.md names stay out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: the text of parts decides which inputs are drawn, so their words change with their code only
MODULES = sorted(
    path for path in (ROOT / "autograder").rglob("*.py") if path.parent.name != "parts"
)

#: a docstring that begins with one of these has a clause as its subject
CLAUSE = re.compile(r"(What|Whether|Who|Whose|Which|Of|As|Where|How|That|Those|To be|Less than)\b")
#: habits, and the usual words to use instead
HABITS = {
    "say, report or raise": r"\b(?:is|are) told\b",
    "is": r"\bstands?\b",
    "instead of": r"\bin (?:the )?place of\b",
    "for which, whose": r"\bof (?:which|whom)\b",
    "again": r"\b(?:anew|once more)\b",
    "is not a": r"\b(?:is|are) no (?!longer\b|more\b)",
    "should": r"\bshall\b",
    "itself": r"\bby (?:itself|themselves)\b",
}


def _docstrings() -> Iterator[tuple[str, str]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                line = getattr(node, "lineno", 1)
                yield f"{path.relative_to(ROOT)}:{line}", text


def test_a_docstring_begins_with_a_sentence() -> None:
    odd = [f"{place} {text.splitlines()[0]}" for place, text in _docstrings() if CLAUSE.match(text)]
    assert not odd, f"name the thing, then say what it does: {odd[:20]}"


@pytest.mark.parametrize("better", sorted(HABITS))
def test_docstrings_use_ordinary_words(better: str) -> None:
    habit = re.compile(HABITS[better])
    odd = [f"{place} {found[0]}" for place, text in _docstrings() if (found := habit.search(text))]
    assert not odd, f"{len(odd)}; write {better!r}: {odd[:20]}"
