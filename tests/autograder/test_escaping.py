"""Every output format shows any text literally, and only one module escapes text."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from autograder import escaping
from autograder.feedback.rendering import _environment

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
#: strings that some output format would interpret, alone or next to other strings
TELLING = st.sampled_from(
    [
        *("=cmd()", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "\ufeff=1", "\xa0=1", "－1"),
        *("<script>x</script>", "</title>", "&lt;", '" onload="x', "'", "]]>", "<!--", "&#60;"),
        *("\x1b[31m", "\x1b]0;x\x07", "\x9b2J", "\u202eabc", "\u2066", "\r", "\n", "\b", "\0"),
        *(
            "[red]",
            "[/]",
            "\\[red]",
            "\\",
            "[link=x]",
            ":warning:",
            "[@click=x]",
            "\\\\[b]",
            "\\[",
            "\\[r",
        ),
        *("# x", "- x", "1. x", "1) x", "*x*", "_x_", "`x`", "![x](y)", "[x](y)", "|", "http://x"),
        *("www.x.de", "a@b.de", "x.de", "~~x~~", "\\*", "---", "===", "<http://x>", "&amp;", "$x$"),
        *("..", ".", "...", "/", "\\", "a/b", "CON", "nul.txt", "com1", "lpt¹", "x.", " x", "x "),
        *(
            "a:b",
            "%41",
            "x" * 300,
            "字" * 100,
            "\ud800",
            "\udfff",
            "\u2028",
            "\ufffe",
            "",
            "{{ 1 }}",
        ),
    ]
)
TEXTS = st.lists(TELLING | st.text(max_size=8), max_size=4).map("".join)
#: with so many examples, each of these strings occurs many times
MANY = settings(max_examples=150, deadline=None, derandomize=True)  # the same in every run


@MANY
@given(st.lists(st.lists(TEXTS, min_size=2, max_size=3), min_size=1, max_size=3))
def test_a_table_is_read_back_and_holds_no_formula(rows: list[list[str]]) -> None:
    read = list(csv.reader(io.StringIO(escaping.for_csv(rows), newline="")))
    rows = [
        [re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", c) for c in row] for row in rows
    ]
    assert [[escaping.from_csv(cell) for cell in row] for row in read] == rows
    starts = [cell.lstrip(" \xa0\u200b\ufeff")[:1] for row in read for cell in row if cell != "-"]
    assert not [c for c in starts if unicodedata.normalize("NFKC", c) in set("=+-@\t\r\n") - {""}]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.tags = "", [("", "")]

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += [(tag, value or "") for _, value in attrs]


def _page_of(page: str) -> _Page:
    parser = _Page()
    parser.feed(page)
    parser.close()
    return parser


@MANY
@given(TEXTS)
def test_a_page_shows_the_text_and_no_element_of_it(text: str) -> None:
    shown = escaping.for_html(text)
    page = _page_of(f'<p title="{shown}">{shown}</p>')
    assert page.tags[1:] == [("p", escaping.printable(text))]
    assert page.text == escaping.printable(text)


@MANY
@given(TEXTS)
def test_a_template_shows_the_text_by_the_same_function(text: str) -> None:
    template = _environment().from_string('<p title="{{ text }}">{{ text }}</p>{{ number }}')
    shown = escaping.for_html(text)
    assert template.render(text=text, number=1) == f'<p title="{shown}">{shown}</p>1'


@MANY
@given(TEXTS, st.integers(20, 60))
def test_a_terminal_shows_the_line_and_is_not_steered(text: str, widest: int) -> None:
    shown = escaping.visible(text, widest)
    assert shown.isprintable() and len(shown) <= widest
    if text.isprintable() and len(text) <= widest:
        assert shown == text
    file = io.StringIO()
    console = Console(file=file, highlight=False, emoji=False, width=500, color_system="truecolor")
    console.print(f"[bold]a[/] {escaping.for_terminal(text, widest)} b", soft_wrap=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()) == f"a {shown} b\n"
    assert file.getvalue().count("\x1b") == 2


@MANY
@given(TEXTS)
def test_a_shell_reads_the_text_as_one_word(text: str) -> None:
    assert shlex.split(f"echo {escaping.for_shell(text)}") == ["echo", text]


@MANY
@given(TEXTS, st.sampled_from(["{}", "x {} y", "| a | b |\n|---|---|\n| {} | c |", "# {}"]))
def test_markdown_shows_the_text_and_nothing_else(text: str, place: str) -> None:
    made = MarkdownIt("gfm-like", {"linkify": False, "html": True})
    page = made.render(place.replace("{}", escaping.for_markdown(text)))
    plain = made.render(place.replace("{}", "z"))
    assert re.findall(r"<[^>]*>", page) == re.findall(r"<[^>]*>", plain) or not text.split()
    line = " ".join(escaping.printable(text).split())
    assert line in " ".join(_page_of(page).text.split())


@MANY
@given(TEXTS)
def test_xml_is_valid_and_is_read_back(text: str) -> None:
    element = ElementTree.Element("a", b=escaping.for_xml(text))
    element.text = escaping.for_xml(text)
    read = ElementTree.fromstring(ElementTree.tostring(element, encoding="utf-8"))
    assert (read.text or "") == escaping.printable(text)
    assert read.get("b") == escaping.printable(text)


@MANY
@given(TEXTS)
def test_json_is_read_back_and_ends_no_element(text: str) -> None:
    # JSON readers combine two surrogates in a row into one character
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    made = escaping.for_json({text: [text]})
    assert made.isascii()
    assert json.loads(made) == {whole: [whole]}
    script = escaping.for_script({text: [text]})
    assert json.loads(script) == {text: [text]}
    assert not set("<>&\u2028\u2029\n") & set(script)


def test_json_contains_only_numbers_that_the_format_allows() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="Out of range"):
            escaping.for_json(number)


#: reserved names, from the documentation of Windows
DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
DEVICES |= {f"{name}{number}" for name in ("COM", "LPT") for number in "0123456789¹²³"}


@MANY
@given(TEXTS, TEXTS, st.sampled_from(["", ".html", ".zip"]))
def test_a_file_name_is_one_on_any_system(text: str, other: str, suffix: str) -> None:
    name = escaping.for_file_name(text, suffix)
    assert name and len(name.encode()) <= 255
    assert not set('/\\<>:"|?*\0') & set(name)
    assert not any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in name)
    assert name.strip() == name and not name.endswith(".")
    assert name.partition(".")[0].rstrip(" ").upper() not in DEVICES
    if text != other:
        assert name != escaping.for_file_name(other, suffix)


@given(TEXTS)
def test_an_encoded_name_is_encoded_again(text: str) -> None:
    name = escaping.for_file_name(text)
    assume(name != text)
    assert escaping.for_file_name(name) != name


@pytest.mark.parametrize("name", ["ada", "Zoë", "名前", "a.b", "a b", "x" * 255, "-rf", "~root"])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert escaping.for_file_name(name) == name


#: functions that escape for one of the output formats
_WAYS = {
    *("html.escape", "xml.sax.saxutils", "markupsafe", "shlex.quote", "csv.writer"),
    *("csv.DictWriter", "rich.markup.escape", "urllib.parse.quote"),
}
#: packages that write what students wrote
_WRITERS: tuple[str, ...] = (
    *("cli", "collecting", "classroom", "exports", "feedback", "grading", "nbgrader"),
    *("operations", "results", "student", "submission"),
)
#: code that cleans text of control characters, surrogates or changes of direction
_CLEANS = re.compile("[\x1b\x7f\x9f\u202e\u2066\ud800\udfff]|&lt;|&#|u003c")
#: modules that exchange JSON with other programs, in those programs' formats or without students'
#: text
_JSON = {
    *("nbgrader/apart.py", "nbgrader/gradebook/released.py", "nbgrader/gradebook/autograded.py"),
    *("nbgrader/notebooks/execute.py", "student/hints.py", "grading/naming/table.py"),
    *("grading/validation/cases.py", "grading/cluster/packing.py", "grading/cluster/node.py"),
    "operations/expected.py",
}


def _escapes(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, _DOCUMENTED)}
    place = path.relative_to(PACKAGE).as_posix()
    for node in ast.walk(tree):
        found = ""
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
            found = ", ".join(names & _WAYS)
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            is_way = name in _WAYS or (name == "json.dumps" and place not in _JSON)
            found = name if is_way or name.endswith(".isprintable") else ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = (
                "a table of signs" if node.value not in docs and _CLEANS.search(node.value) else ""
            )
        if found:
            yield f"{place}:{getattr(node, 'lineno', 0)} {found}"


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_no_other_module_escapes() -> None:
    found = [
        text
        for package in _WRITERS
        for path in sorted((PACKAGE / package).rglob("*.py"))
        for text in _escapes(path)
    ]
    assert not found, f"take the function of autograder/escaping.py for the target: {found}"


def test_a_module_that_escapes_is_found() -> None:
    text = " ".join(_escapes(Path(escaping.__file__)))
    for way in ("html.escape", "csv.writer", "json.dumps", "isprintable", "a table of signs"):
        assert way in text
