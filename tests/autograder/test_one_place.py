"""Each decision, such as how a time is read, is made in one module, so modules can't disagree."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
DECISION = ROOT / "docs" / "decisions" / "0006-facts-stand-once.md"

#: the only modules that may mention these names, in code or in strings
ONLY_IN = {
    "fromisoformat": {"classroom/times.py", "deadlines.py"},
    "strptime": set[str](),
    "parsedate_to_datetime": set[str](),
    "ZoneInfo": {"deadlines.py"},
    "utf-8-sig": {
        "classroom/review_requests.py",  # decodes what it can of a student's text
        "classroom/tables.py",
        "classroom/times.py",
        "submission/notebook.py",
    },
    "csv.reader": {"classroom/tables.py"},
    "csv.DictReader": set[str](),
    "rules.toml": {"course/rules.py"},
    "tomllib": {
        "authoring/package_wheel.py",  # pyproject.toml
        "classroom/dates.py",  # class.toml, which belongs to a class
        "course/rules.py",
        # tables of the package itself
        *("grading/naming/families/words.py", "grading/naming/where.py"),
        "grading/validation/computing.py",
    },
    "Ledger": {"grading/run.py", "grading/stream.py"},
}

#: file names that two modules contain, each with the reason
NAMED_TWICE = {
    "README.md": "one of an assignment, one of a bundle, one that students upload with their work",
    "*.ipynb": "a pattern",
    "*.py": "a pattern",
    ".gitlab-ci.yml": "made for students, and left out of what nbgrader gets",
    "constraints.txt": "of a course, of a bundle, and in a new course",
    "requirements.txt": "made for students, and ignored in their repositories",
    "secret.key": "of a class, in a node's own folder, and in a sentence",
    "submission_secret.txt": "nbgrader's; ignored in what was uploaded",
    "timestamp.txt": "nbgrader's; ignored in what was uploaded",
    "assignment.toml": "content of a course, which `autograder new` writes",
    "hints.toml": "content of a course, which `autograder new` writes",
    "afterwards.toml": "content of a course, which `autograder new` writes",
}

_FILE = re.compile(r"(?:\*|\.?[\w-]+)\.(?:py|toml|csv|jsonl?|db|txt|ipynb|md|yml|key|html|npz)")


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "templates" not in path.parts:
            name = path.relative_to(PACKAGE).as_posix()
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def _mentioned(tree: ast.Module) -> Iterator[str]:
    """Yields the names, attributes and strings in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
            if isinstance(node.value, ast.Name) and node.value.id == "csv":
                yield f"csv.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def mentioned() -> dict[str, set[str]]:
    """Returns, for each name or string, the modules that mention it."""
    places = defaultdict(set)
    for module, tree in _modules():
        for name in _mentioned(tree):
            places[name].add(module)
    return places


@pytest.mark.parametrize("name", ONLY_IN)
def test_only_one_module_decides(name: str, mentioned: dict[str, set[str]]) -> None:
    others = mentioned.get(name, set()) - ONLY_IN[name]
    assert not others, f"{sorted(others)}: ask {sorted(ONLY_IN[name])} instead"
    assert not ONLY_IN[name] - mentioned.get(name, set()), "these no longer decide it"


def test_only_one_function_writes_plurals() -> None:
    ends = [
        f"{module}:{node.lineno}"
        for module, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp | ast.BinOp)
        for part in ast.iter_child_nodes(node)
        if isinstance(part, ast.Constant) and part.value == "s"
    ]
    assert not ends, f"call `number_of`: {ends}"


def test_pages_take_titles_and_plurals_from_functions() -> None:
    pages = {page.name: page.read_text("utf-8") for page in PACKAGE.rglob("*.jinja")}
    own = re.compile(r"assignment \| readable|\}\} (?:student|submission|pair|score)s\b")
    found = {name: own.findall(text) for name, text in pages.items() if own.search(text)}
    assert len(pages) > 3
    assert not found, "call `title_of` or `number_of`"


def test_a_files_name_is_written_in_one_module(mentioned: dict[str, set[str]]) -> None:
    twice = {
        name: sorted(modules)
        for name, modules in mentioned.items()
        if len(modules) > 1 and _FILE.fullmatch(name)
    }
    assert {name: twice[name] for name in twice.keys() - NAMED_TWICE} == {}
    assert NAMED_TWICE.keys() <= twice.keys(), "these are written once now"


def test_each_question_names_its_module_and_a_test() -> None:
    rows = re.findall(r"^\| .*\? \| `(.*)` \| (.*) \|$", DECISION.read_text("utf-8"), re.M)
    tests = ROOT / "tests" / "autograder"
    missing = [module for module, _ in rows if not (PACKAGE / module).is_file()]
    missing += [
        t for _, row in rows for t in re.findall("`(.*?)`", row) if not (tests / t).is_file()
    ]
    assert len(rows) >= 16
    assert missing == []
