"""Docstrings, help, messages and docs use ordinary English words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: the text of parts decides which inputs are drawn, so it changes only with the code of parts
_OTHERS = ("tests/known_outputs", "tools")
MODULES = sorted(
    path
    for folder in ("autograder", "benchmarks", "tests/alternatives", "tests/autograder", *_OTHERS)
    for path in (ROOT / folder).rglob("*.py")
    if path.parent.name != "parts" and "solutions" not in path.parts
)

#: a docstring that begins with one of these has a clause as its subject
CLAUSE = re.compile(r"(What|Whether|Who|Whose|Which|Of|As|Where|How|That|Those|To be|Less than)\b")
#: patterns of unusual words, by the usual words that replace them
HABITS = {
    "American spelling": r"\b\w*(?:colour|neighbour|(?<!`)behaviour(?!`)|normalis)",
    "say, report or raise": r"\b(?:is|are) told\b",
    "is": r"\bstands?\b(?! for\b)",
    "instead of": r"\bin (?:the )?place of\b",
    "for which, whose": r"\bof (?:which|whom)\b",
    "again": r"\b(?:anew|once more)\b",
    "is not a": r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|more\b)",
    "should": r"\bshall\b",
    "itself": r"\bby (?:itself|themselves)\b",
    "its own": r"\b(?:an?|no|one) \w+ of (?:its|their) own\b|\bnumbers of their own\b",
    "belongs in": r"\bbelongs? into\b",
    "different": r"\b(?:with|in|of|has) another (?:dtype|form|language|order|shape|sign|size)\b",
    "already or always before the verb": r"\b(?:are|is|was|were|been) \w+ed (?:already|always)\b",
    "altogether": r": in all, ",
    "feedback page": r"\bpages? of feedback\b",
    "what ... by, what ... to": r"\b(?:[Bb]y|[Tt]o) what (?:are|do|does|must)\b|\bby what is\b",
    "replace it with": r"\b[Rr]eplaces? [^.;:]{2,40}? by (?!hand\b|name\b)",
}


#: phrases that a pattern finds although they are ordinary English
ORDINARY = ("a pronoun stands for", "a stand-in")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "autograder/**/*.md", "autograder/**/*.jinja")
    for path in ROOT.glob(pattern)
    # generated from messages and from lessons, which have their own tests
    if path.name != "messages.md" and "lessons" not in path.parts
)


@cache
def _texts() -> tuple[dict[str, str], dict[str, str]]:
    """Returns the docstrings, and all other strings in the program, by file and line."""
    docstrings: dict[str, str] = {}
    messages: dict[str, str] = {}
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for path in MODULES:
        is_read = path.is_relative_to(ROOT / "autograder") and "parts" not in path.parts
        texts = messages if is_read else {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
            if isinstance(node, documented):
                docstrings[place] = ast.get_docstring(node) or ""
            elif isinstance(value := getattr(node, "value", None), str) and " " in value:
                texts[place] = f"{texts.get(place, '')} {value}"
    return docstrings, messages


@cache
def _catalogue() -> dict[str, str]:
    """Returns the sentences that students read about known mistakes, by file and line."""
    return {
        f"{path.relative_to(ROOT)}:{word.value.lineno}": str(ast.literal_eval(word.value))
        for path in ROOT.glob("tests/misconceptions/**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg in {"confuses", "hint"}
    }


def _docstrings() -> dict[str, str]:
    return _texts()[0]


def _messages() -> dict[str, str]:
    """Returns messages, help texts and the words on pages, by file and line."""
    return _texts()[1]


@cache
def _lines() -> dict[str, str]:
    """Returns all lines of the documentation without their code, by file and line."""
    return {
        f"{path.relative_to(ROOT)}:{number}": re.sub(r"`[^`]*`|\w+-\w+-\w+", "", line)
        for path in PAGES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    }


def test_a_docstring_begins_with_a_sentence() -> None:
    odd = [
        f"{place} {text.splitlines()[0]}"
        for place, text in _docstrings().items()
        if CLAUSE.match(text)
    ]
    assert not odd, f"name the thing, then say what it does: {odd[:20]}"


@pytest.mark.parametrize("better", sorted(HABITS))
def test_docstrings_use_ordinary_words(better: str) -> None:
    habit = re.compile(HABITS[better])
    odd = [
        f"{place} {found[0]}"
        for place, text in _docstrings().items()
        if (found := habit.search(text))
    ]
    assert not odd, f"{len(odd)}; write {better!r}: {odd[:20]}"


@pytest.mark.parametrize(
    "texts", [_messages, _lines, _catalogue], ids=["messages", "docs", "catalogue"]
)
@pytest.mark.parametrize("better", sorted(HABITS))
def test_messages_and_docs_use_ordinary_words(
    better: str, texts: Callable[[], dict[str, str]]
) -> None:
    habit = re.compile(HABITS[better])
    odd = [
        f"{place} {text[max(0, found.start() - 30) : found.end() + 30]!r}"
        for place, text in texts().items()
        if (found := habit.search(text)) and not any(words in text for words in ORDINARY)
    ]
    assert not odd, f"{len(odd)}; write {better!r}: {odd[:20]}"


def test_a_tests_name_has_at_most_ten_words() -> None:
    # the inputs of hidden and public tests depend on the tests' names, which are therefore kept
    names = [
        f"{path.relative_to(ROOT)} {node.name}"
        for path in [*ROOT.glob("tests/autograder/**/*.py"), *ROOT.glob("tests/known_outputs/*.py")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    long = [name for name in names if len(name.split()[1].split("_")) > 11]
    assert not long, f"say only what should happen: {long[:20]}"


def _is_there(reference: str) -> bool:
    """Returns whether a dotted name in the package is a module, or occurs in a module."""
    place, *names = reference.split(".")
    path = ROOT / "autograder" / place
    while names and (path / names[0]).is_dir():
        path /= names.pop(0)
    if names and (path / f"{names[0]}.py").exists():
        path = path / f"{names.pop(0)}.py"
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
    return not names or re.search(rf"\b{names[0]}\b", text) is not None


def test_docstrings_refer_to_modules_that_exist() -> None:
    packages = {path.parent.name for path in ROOT.glob("autograder/*/__init__.py")}
    lost = [
        f"{place} {reference}"
        for place, text in _docstrings().items()
        for reference in re.findall(
            r"`(?:autograder\.)?((?:\w+\.)+(?!csv|json|txt|zip)\w+)[`(]", text
        )
        if reference.split(".")[0] in packages and not _is_there(reference)
    ]
    assert not lost, f"the module was moved or renamed: {lost}"
