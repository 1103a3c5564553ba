"""`readers.toml` says who controls what each module reads, starts, executes or changes.

Outside the sandbox, an attack is possible where the grader obeys, decodes or follows something that
a student chose. The table lists these modules. docs/security.md names the protection and the test
for everything that a student can choose.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
#: packages that the table leaves out, each with the reason
_ELSEWHERE = {
    "attention": "pictures of the course's own examples",
    "authoring": "an author's course",
    "course": "the course",
    "parts": "questions of the course",
    "student": "a student's own machine: docs/security.md says that `check` executes the file",
    "worker": "the sandbox",
}
#: patterns of the dotted names of functions, by mechanism
_MECHANISMS = {
    "starts": (
        *("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_*"),
        *("os.exec*", "os.spawn*", "os.posix_spawn*", "os.system", "os.popen", "os.fork*"),
        *("pty.*", "asyncio.create_subprocess*", "*.Process"),
    ),
    "environment": (
        *("os.environ*", "os.getenv*", "os.path.expand*", "*.expanduser", "getpass.*"),
        *("tempfile.gettempdir", "shutil.which", "*jupyter_config_path", "locale.*"),
    ),
    "decodes": (
        *("json.load*", "*.json", "read_untrusted_json", "tomllib.load*", "yaml.load*"),
        *("pickle.*", "marshal.*", "shelve.*"),
        *("configparser.*", "csv.*eader", "zipfile.ZipFile", "tarfile.open", "gzip.*", "bz2.*"),
        *(
            "lzma.*",
            "zlib.decompress*",
            "torch.load",
            "xml.etree*",
            "xml.dom*",
            "ast.literal_eval",
            "plistlib.*",
        ),
        *("nbformat.read*", "reads", "shutil.unpack_archive", "base64.b*decode", "*.frombuffer"),
        *("struct.unpack*", "*.unpack_from", "tokenize.*", "html.parser.*", "zoneinfo.ZoneInfo"),
    ),
    "lists": (
        *("os.walk", "os.fwalk", "os.scandir", "os.listdir", "glob.glob", "glob.iglob"),
        *("*.rglob", "*.glob", "*.iterdir"),
    ),
    "opens": (
        *("open", "io.open", "os.open", "*.open", "*.read_text", "*.read_bytes"),
        *("shutil.copy*", "shutil.move", "os.read", "os.pread", "os.readlink"),
        *("*.recv", "*.recv_into", "*.recv_bytes", "socket.recv_fds"),
    ),
    "executes": (
        *("exec", "eval", "compile", "__import__", "importlib.*", "runpy.*"),
        *("*.exec_module", "*.load_config_file"),
    ),
    "changes": (
        *("shutil.rmtree", "os.rename", "os.replace", "os.remove", "os.unlink", "os.link"),
        *("os.symlink", "os.chmod", "os.chown", "os.utime", "os.mkfifo"),
        *("*.unlink", "*.rename", "*.chmod", "*.touch", "*.symlink_to", "*.hardlink_to"),
        *("*.write_bytes", "*.write_text", "*.extractall"),
    ),
}
#: how an entry of the table begins if students, or others except the instructor, are in control
_STUDENTS = "students'"
_OTHERS = (_STUDENTS, "a platform's", "the results")


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value) or ''}.{node.attr}"
    return None


def _does(text: str) -> Iterator[str]:
    """Yields the mechanisms that a module uses, even if it imports them under different names."""
    tree = ast.parse(text)
    real: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            real.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            real.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and (name := _dotted(node)):
            first, dot, rest = name.partition(".")
            yield from _mechanisms_of(name)
            yield from _mechanisms_of(f"{real.get(first, first)}{dot}{rest}")


@cache
def _mechanisms_of(name: str) -> tuple[str, ...]:
    return tuple(
        mechanism
        for mechanism, patterns in _MECHANISMS.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    )


def _found() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {mechanism: set() for mechanism in _MECHANISMS}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name.partition("/")[0] not in _ELSEWHERE:
            for mechanism in set(_does(path.read_text(encoding="utf-8"))):
                found[mechanism].add(name)
    return found


def _listed() -> dict[str, dict[str, str]]:
    text = Path(__file__).with_name("readers.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _of_students() -> list[str]:
    return sorted(
        {
            name
            for modules in _listed().values()
            for name, whose in modules.items()
            if whose.startswith(_STUDENTS)
        }
    )


def test_every_reader_is_listed_with_what_it_reads() -> None:
    listed = _listed()
    assert set(listed) == set(_MECHANISMS)
    for mechanism, names in _found().items():
        new, old = names - set(listed[mechanism]), set(listed[mechanism]) - names
        assert not new, f"{mechanism}: say in readers.toml whose that is: {sorted(new)}"
        assert not old, f"{mechanism}: these do so no more: {sorted(old)}"


def test_json_of_others_is_read_in_one_place() -> None:
    """In any other module, deeply nested JSON would raise an unexpected error."""
    others = [name for name, whose in _listed()["decodes"].items() if whose.startswith(_OTHERS)]
    assert {"submission/notebook.py", "live/moodle.py"} <= set(others)
    for name in sorted({*others} - {"untrusted_json.py"}):
        names = set(re.findall(r"json\.loads?\b|\.json\(\)", (PACKAGE / name).read_text("utf-8")))
        assert not names, f"{name}: call read_untrusted_json, which limits the depth"


def test_no_program_is_started_with_anything_of_students() -> None:
    """Only our own programs are started, and none of them gets the path of a student's file."""
    ours = ("the grader itself", "a fork of the grader", "the sandbox, in /")
    assert [name for name, what in _listed()["starts"].items() if not what.startswith(ours)] == []


@pytest.mark.parametrize("module", _of_students())
def test_every_reader_of_students_data_has_a_row(module: str) -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = page.partition("| a student chooses | read by |")[2].partition("\n\n")[0]
    read_by = " ".join(row.split("|")[2] for row in rows.splitlines()[2:])
    assert f"`{module}`" in read_by, "add it to docs/security.md, with its guard and its test"


def test_modules_and_tests_that_the_rows_name_are_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    missing = []
    for title in ("| a student chooses | read by |", "| who | what |"):
        rows = page.partition(title)[2].partition("\n\n")[0].splitlines()[2:]
        assert rows
        for row in rows:
            _, _, *read_by, tests, _ = row.split("|")
            for name in re.findall(r"`([\w/]+\.(?:py|toml))`", tests):
                missing += [name] * (not (PACKAGE.parent / "tests/autograder" / name).is_file())
            missing += [row] * ("`" not in tests)
            for name in re.findall(r"`([\w/]+\.py)`", " ".join(read_by)):
                missing += [name] * (not (PACKAGE / name).is_file())
    assert not missing


def _unresolved(cell: str) -> Iterator[str]:
    """Yields the tests that a cell names but that do not exist.

    A name without a file belongs to the file of the preceding name.
    """
    text = ""
    for name in re.findall(r"`([^`]+)`", cell) or ["(no test)"]:
        file, _, function = name.partition("::") if "." in name else ("", "", name)
        if file:
            paths = [path for path in (ROOT / "tests").rglob(Path(file).name)]
            found = [path for path in paths if path.as_posix().endswith(f"/{file}")]
            text = found[0].read_text(encoding="utf-8") if len(found) == 1 else ""
        if not text or f"def {function}(" not in text and function:
            yield name


def test_every_promise_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = page.partition("| promise | test |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) > 50
    assert [problem for row in rows for problem in _unresolved(row.split("|")[2])] == []
    cell = "`sandbox/test_doors.py::test_nothing`, `test_none.py`, `test_bytes.py`, `test_no`"
    assert len(list(_unresolved(cell))) == 3 and list(_unresolved("nothing")) != []


@pytest.mark.parametrize(
    "text",
    [
        "from subprocess import run as go\ngo(['git'])",
        "import subprocess\nsubprocess.Popen([])",
        "from os import environ",
        "import tarfile as t\nt.open('x')",
        "from pathlib import Path\nPath('x').read_text()",
        "f = open\n",
        "from shutil import rmtree\nrmtree('x')",
        "loader.load_config_file('nbgrader_config')",
    ],
)
def test_a_new_reader_would_be_noticed(text: str) -> None:
    if text.startswith("from os"):
        text += "\nenviron['HOME']"
    assert list(_does(text))
