"""Lessons fit a phone's screen, and teach before they name mistakes."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jupytext
import pytest

ROOT = Path(__file__).parents[3]
LESSONS = sorted((ROOT / "source").glob("*/**/*.md"))
#: the most letters of code in a heading at each level, because code in headings is never wrapped.
#: JupyterLab leaves 258 of a phone's 390 pixels for text. A letter takes 12.1 pixels in a level-3
#: heading, 14.6 in a level-2 heading, and 8.4 in code within text.
LONGEST = {"#": 11, "##": 16, "###": 20}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_names_in_headings_fit_a_phone(lesson: Path) -> None:
    headings = re.findall(r"^(#+) (.*)$", lesson.read_text(encoding="utf-8"), re.MULTILINE)
    wide = [
        text
        for level, text in headings
        for name in re.findall(r"`([^`]+)`", text)
        if len(name) > LONGEST.get(level, LONGEST["###"])
    ]
    assert not wide, "name the question in the text below"


#: the most letters of code without a space: in a paragraph, and in a list or a quotation
LONGEST_CODE, LONGEST_INDENTED = 29, 26


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_code_in_the_text_fits_a_phone(lesson: Path) -> None:
    text = re.sub(r"```.*?```", "", lesson.read_text(encoding="utf-8"), flags=re.DOTALL)
    wide = [
        word
        for line in text.splitlines()
        for code in re.findall(r"`([^`]+)`", line)
        for word in code.split()
        if len(word) > (LONGEST_INDENTED if re.match(r"[>*-]|  ", line) else LONGEST_CODE)
    ]
    assert not wide, "say it in words, or in two pieces of code"


#: the most letters of a formula inside a line: with 27, a page scrolled sideways by 14 pixels
LONGEST_FORMULA = 26


def letters_of(formula: str) -> int:
    """Estimates the number of letters in a formula; a command such as `\\alpha` counts as one."""
    drawn = re.sub(r"\\(?:text|math\w+|t?frac|sqrt|left|right|[!;, ])", "", formula)
    return len(re.sub(r"[{}\s^_]", "", re.sub(r"\\[a-zA-Z]+", "x", drawn)))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_formulas_in_the_text_fit_a_phone(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.DOTALL)
    formulas = re.findall(r"\$([^$\n]+)\$", text)
    assert [one for one in formulas if letters_of(one) > LONGEST_FORMULA] == []


def document(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "source" / path).read_text(encoding="utf-8"))


#: all assignments, in the order in which students meet them
WAY = [item["name"] for item in document("map.toml")["assignment"]]


def kinds_of(assignment: str) -> set[str]:
    """Returns the kinds of calls that an assignment's questions forbid."""
    rules = document(f"{assignment}/rules.toml").values()
    return {kind for rule in rules for kind in rule.get("not_allowed", [])}


@pytest.mark.parametrize("assignment", WAY)
def test_no_given_cell_shows_a_call_not_built_yet(assignment: str) -> None:
    place = WAY.index(assignment)
    not_built = {kind for name in WAY[place:] for kind in kinds_of(name)}
    not_built -= {kind for name in WAY[:place] for kind in kinds_of(name)}
    names = {name for kind in not_built for name in document("not_allowed.toml")[kind]["names"]}
    for lesson in sorted((ROOT / "source" / assignment).glob("*.md")):
        cells = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="md:myst").cells
        sources = [cell.source for cell in cells if cell.cell_type == "code"]
        nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
        shown = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert not shown & names, lesson.name


@pytest.mark.parametrize(
    "lesson", sorted((ROOT / "source").glob("*/*.md")), ids=lambda path: path.stem
)
def test_no_given_cell_shows_what_its_notebook_forbids(lesson: Path) -> None:
    cells = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="md:myst").cells
    asked = {cell.metadata["question"] for cell in cells if "question" in cell.metadata}
    rules = document(f"{lesson.parent.name}/rules.toml")
    forbidden = [rules[name].get("not_allowed", []) for name in asked & rules.keys()]
    kinds = document("not_allowed.toml")
    names = {
        name
        for kind in {kind for chosen in forbidden for kind in chosen}
        for part in (kind, *kinds[kind].get("also", []))
        for name in kinds[part]["names"]
    }
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    assert {node.attr for node in nodes if isinstance(node, ast.Attribute)} & names == set()


#: the most numbers with two or more decimals in a cell; tables of them are in the package
MOST_NUMBERS = 8


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_no_cell_holds_a_table_of_numbers(lesson: Path) -> None:
    cells = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="md:myst").cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    typed = [re.findall(r"(?<![\w.])\d+\.\d{2,}", source) for source in sources]
    assert [numbers for numbers in typed if len(numbers) > MOST_NUMBERS] == []


#: words that announce a mistake before a student has made it
NAMED_MISTAKES = re.compile(
    r"\btraps?\b|[Ww]hat (?:can go|goes) wrong\n|\bpitfalls?\b"
    r"|\bnot by the size\b|\bmust be cut\b|\bnot at position 0\b|run without an error"
)
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "assignments").glob("*/*.ipynb")), ids=lambda path: path.stem
)
def test_no_mistake_is_named_before_it_can_be_made(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    shown = [FOLDED.sub("", text) for text in texts]
    assert [text for text in shown if NAMED_MISTAKES.search(text)] == []
    ids = [cell["id"] for cell in cells]
    folded = [name for name in ids if name.startswith("mistakes_")]
    assert all(ids[ids.index(name) - 1] == name.replace("mistakes", "check") for name in folded)


@pytest.mark.parametrize(
    "lesson", sorted((ROOT / "source").glob("*/*.md")), ids=lambda path: path.stem
)
def test_a_lesson_says_how_difficult_it_is(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    assert re.search(r"^# .+\n\n\*(Easy|Easy to medium|Medium|Medium to hard|Hard)\.", text, re.M)


@pytest.mark.parametrize(
    "lesson", sorted((ROOT / "source").glob("*/*.md")), ids=lambda path: path.stem
)
def test_a_guess_is_not_worked_out_in_its_cell(lesson: Path) -> None:
    cells = jupytext.reads(lesson.read_text(encoding="utf-8"), fmt="md:myst").cells
    for cell in (cell for cell in cells if "predict(guess" in cell.source):
        (asked,) = re.findall(r"^guess = None  # (.*)$", cell.source, re.MULTILINE)
        calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
        (call,) = [node for node in calls if ast.unparse(node.func) == "predict"]
        shown = list(ast.walk(call.args[1]))
        code = ast.get_source_segment(cell.source, call.args[1]) or ""
        is_asked = code.removeprefix("lambda: ") in asked
        assert is_asked or not any(
            isinstance(node, ast.BinOp) for node in shown if not _is_at(node)
        )


def _is_at(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


#: British spellings of words that American English spells differently
BRITISH = re.compile(
    r"\b(?:\w*(?:colour|neighbour|behaviour|favour|flavour|labelled|modelling|travell|"
    r"cancelled)\w*|\w*(?:normal|real|general|summar|organ|optim|initial|minim|maxim|recogn)"
    r"is(?:e|ed|es|ing|ation)|"
    r"cent(?:re|red)|grey|analys(?:e|ed|ing)|catalogue|learnt|spelt|whilst|full stop)\b",
    re.IGNORECASE,
)
TEXTS = sorted(
    [*(ROOT / "source").rglob("*.md"), *(ROOT / "source").rglob("*.toml")]
    + [*(ROOT / "autograder" / "authoring" / "templates").glob("*.md")]
    + [*(ROOT / "tests" / "public").rglob("*.py")]
)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_students_read_american_spelling(path: Path) -> None:
    assert BRITISH.findall(path.read_text(encoding="utf-8")) == []
