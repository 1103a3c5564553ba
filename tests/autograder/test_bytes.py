"""Students' names, files and outputs that are not valid text never stop a run."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.errors import UserError
from autograder.results.file import iterate_results
from autograder.sandbox import clock

PACKAGE = Path(__file__).resolve().parents[2] / "autograder"
NO_TEXT = b"\xff\xfe\xfd) R 1\xc3"
_NAMED = (
    f"import ctypes; ctypes.CDLL(None).prctl(15, {NO_TEXT!r})\n"
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-S', '-c', 'input()'], stdin=subprocess.PIPE)\n"
    "import time\nwhile time.process_time() < 0.1: pass\n"
    "print(flush=True); input()\n"
)


def test_a_process_name_that_is_not_text_costs_a_figure() -> None:
    with subprocess.Popen(
        [sys.executable, "-S", "-c", _NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        assert NO_TEXT[:8] in Path(f"/proc/{process.pid}/stat").read_bytes()
        assert clock.cpu_of_tree(process.pid) > 0
        assert len(clock.descendants(process.pid)) == 1
        assert clock.waited_seconds(process.pid) >= 0
        process.stdin.write(b"\n")


@pytest.mark.parametrize("data", [bytes(400), NO_TEXT, b"{\0}", b"\0\0\0{"])
def test_a_torn_line_of_results_is_refused_as_no_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(data + b"\n")
    with pytest.raises(UserError, match="results.jsonl:1 is not a line of results") as raised:
        list(iterate_results(path))
    assert "utf-32" not in str(raised.value) and "utf-16" not in str(raised.value)


def _text_reads(tree: ast.AST) -> Iterator[ast.Call]:
    """Yields calls that decode a file or a program's output without handling invalid bytes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        if "errors" in words:
            continue
        name = ast.unparse(node.func)
        modes = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
        is_text = name == "open" and not any("b" in str(m) or "w" in str(m) for m in modes)
        if is_text or name.endswith(".read_text") or "text" in words and "subprocess" in name:
            yield node


def _readings() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in _text_reads(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def test_files_about_processes_are_read_as_bytes() -> None:
    found = [place for place, node in _readings() if "/proc/" in ast.unparse(node)]
    assert not found, f"a student's process has a name of any bytes there: {found}"


def test_text_is_never_read_in_the_encoding_of_the_locale() -> None:
    found = [
        f"{place} {ast.unparse(node)[:60]}"
        for place, node in _readings()
        if "encoding" not in {word.arg for word in node.keywords}
        if not ast.unparse(node).startswith("distribution.read_text(")
        if "'utf-8" not in ast.unparse(node)
    ]
    assert not found, f"say encoding=..., or read bytes: {found}"
