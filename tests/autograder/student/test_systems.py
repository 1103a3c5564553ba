"""A student's tools work on macOS and Windows, as far as this can be tested on Linux.

The test runs `check`, `status`, `hint`, `watch` and the notebook's `check` to find the modules that
they load. It then searches these modules, and the public checks, for functions that Windows lacks.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path, PureWindowsPath

import pytest

from autograder.course.manifest import read_manifest
from autograder.student import folder as folder_module

ROOT = Path(__file__).resolve().parents[3]
ASSIGNMENT = ROOT / "assignments" / "simplified_attention"

#: standard modules that do not exist on Windows
_MODULES = """
    crypt curses fcntl grp nis ossaudiodev posix pty pwd readline resource spwd syslog termios tty
"""
#: names that standard modules lack on Windows; macOS also lacks some of them
_NAMES = """
    os.chown os.chroot os.fchmod os.fchown os.fork os.forkpty os.geteuid os.getgid os.getgroups
    os.getloadavg os.getpgid os.getresuid os.getuid os.initgroups os.killpg os.lchown os.lockf
    os.major os.memfd_create os.minor os.mkfifo os.mknod os.nice os.openpty os.pidfd_open os.pipe2
    os.posix_fadvise os.posix_spawn os.posix_spawnp os.sched_getaffinity os.sched_setaffinity
    os.sendfile os.setegid os.seteuid os.setgid os.setgroups os.setns os.setpgid os.setresuid
    os.setsid os.setuid os.statvfs os.sync os.tcsetpgrp os.uname os.unshare
    os.wait os.wait3 os.wait4 os.WIFEXITED os.WIFSIGNALED os.WTERMSIG
    os.O_CLOEXEC os.O_DIRECTORY os.O_NOFOLLOW os.O_NONBLOCK os.O_PATH
    signal.SIGALRM signal.SIGCHLD signal.SIGCONT signal.SIGHUP signal.SIGKILL signal.SIGPIPE
    signal.SIGQUIT signal.SIGSTOP signal.SIGUSR1 signal.SIGUSR2 signal.alarm signal.pause
    signal.pthread_kill signal.pthread_sigmask signal.setitimer signal.sigwait
    socket.AF_UNIX socket.SCM_RIGHTS time.tzset time.clock_gettime time.pthread_getcpuclockid
"""
UNIX_MODULES, UNIX_NAMES = set(_MODULES.split()), set(_NAMES.split())
UNIX_ARGUMENTS = frozenset(
    ["preexec_fn", "start_new_session", "pass_fds", "user", "group", "process_group"]
)

PROGRAM = """
import gc, json, os, pkgutil, sys
from pathlib import Path

def no_fork(*arguments):
    raise AssertionError("Windows can't fork")

os.fork = os.forkpty = os.posix_spawn = no_fork
from click.testing import CliRunner
import torch
before = set(sys.modules)
from autograder.cli import cli
CliRunner().invoke(cli, ["check", "scores"])
assert gc.isenabled()
new = sorted(set(sys.modules) - before)
import autograder.student
for module in pkgutil.iter_modules(autograder.student.__path__):
    __import__(f"autograder.student.{module.name}")
for command in ("check", "status", "hint scores", "watch --help", "check --json"):
    result = CliRunner().invoke(cli, command.split())
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
from autograder.student import check
check("query_scores")
print(json.dumps(new))
print(json.dumps([
    module.__file__ for name, module in sys.modules.items()
    if name.partition(".")[0] == "autograder" and getattr(module, "__file__", None)
]))
"""


#: modules that `autograder check` loads besides torch, standard modules and this package
BESIDES_TORCH = {"_pytest", "click", "iniconfig", "pluggy", "py", "pygments", "pytest", "rich"}
#: modules that only the commands that need them load
LATER = {"autograder.student.notebook_tools", "autograder.student.tracing", "pdb", "rich.live"}


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """Returns the modules that one `check` loads after torch, and the files of all commands.

    The file has a correct and a wrong answer, because only a wrong one is explained.
    """
    folder = tmp_path_factory.mktemp("student") / "simplified_attention"
    shutil.copytree(ASSIGNMENT, folder)
    right = (ROOT / "solutions" / folder.name / "scores.py").read_text(encoding="utf-8")
    wrong = "\ndef attention_scores(queries, keys):\n    return 2 * queries @ keys.mT\n"
    (folder / "scores.py").write_text(right + wrong, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.strip().splitlines()[-2:]]


def test_one_check_loads_little_besides_torch(loads: list[list[str]]) -> None:
    """The loaded modules determine the start-up time."""
    installed = set(packages_distributions())
    tops = {name.partition(".")[0] for name in loads[0]}
    assert tops & installed - {"autograder"} <= BESIDES_TORCH
    assert not LATER & set(loads[0])


@pytest.fixture(scope="module")
def loaded(loads: list[list[str]]) -> list[Path]:
    """Returns the files that a student's commands load, and the checks that these commands run."""
    files = loads[1]
    modules = [Path(file) for file in files]
    assert {"runner.py", "saved_files.py", "notebook_tools.py"} <= {path.name for path in modules}
    return [*modules, *sorted((ROOT / "tests" / "public").rglob("*.py"))]


def nodes(paths: list[Path]) -> Iterator[tuple[str, ast.AST]]:
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            yield where, node


def test_no_module_that_only_unix_has_is_imported(loaded: list[Path]) -> None:
    found = []
    for where, node in nodes(loaded):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        found += [f"{where} {name}" for name in names if name.partition(".")[0] in UNIX_MODULES]
    assert not found


def test_no_function_or_constant_that_only_unix_has_is_used(loaded: list[Path]) -> None:
    found = []
    for where, node in nodes(loaded):
        names: list[str] = []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found += [f"{where} {name}" for name in names if name in UNIX_NAMES]
        if isinstance(node, ast.keyword) and node.arg in UNIX_ARGUMENTS:
            found.append(f"{where} {node.arg}=")
        if isinstance(node, ast.Constant) and node.value in ("fork", "forkserver", "/tmp"):
            found.append(f"{where} {node.value!r}")
    assert not found


#: names that Windows reserves for devices, and characters that no file name may contain there
DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}
REFUSED = frozenset('<>:"|?*\\')


@pytest.mark.parametrize("folder", sorted((ROOT / "assignments").iterdir()), ids=lambda p: p.name)
def test_windows_can_unzip_every_released_file(folder: Path) -> None:
    names = [path.relative_to(folder.parent).as_posix() for path in folder.rglob("*")]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        parts = PureWindowsPath(name).parts
        assert not REFUSED & set(name)
        assert not {part.partition(".")[0].lower() for part in parts} & DEVICES
        assert not [part for part in parts if part.endswith((".", " "))]
        assert len(name) < 100  # in a student's folder, a path has at most 260 characters


def test_powershell_completes_the_names_of_exercises(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [".\\scores.py", "C:\\Users\\ada\\simplified_attention\\softmax.ipynb", "context"]
    monkeypatch.setattr(folder_module, "Path", PureWindowsPath)
    chosen = folder_module._chosen(ASSIGNMENT, read_manifest(ASSIGNMENT), names)
    assert list(chosen) == ["scores", "softmax", "context"]


@pytest.mark.parametrize("folder", sorted((ROOT / "assignments").iterdir()), ids=lambda p: p.name)
def test_each_way_to_install_uses_the_same_environment(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    made = re.findall(r"(?:-m venv|uv venv --python [\d.]+) (\S*venv)", text)
    activated = re.findall(r"(\S*venv)[\\/](?:Scripts|bin)[\\/][Aa]ctivate", text)
    places = {PureWindowsPath(place).parts for place in (*made, *activated)}
    assert (len(made), len(activated), places) == (3, 2, {("..", ".venv")})
    assert text.count("pip install -r requirements.txt") == 2
    assert "uv pip install --index-strategy unsafe-best-match -r requirements.txt" in text


def test_every_text_file_is_read_and_written_as_utf_8(loaded: list[Path]) -> None:
    """On Windows, the default encoding depends on the system's language."""
    found = []
    for where, node in nodes(loaded):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        call = ast.unparse(node)
        is_text = name in {"read_text", "write_text"} or (name == "open" and "b'" not in call)
        if is_text and "encoding=" not in call and "os.open" not in call:
            found.append(f"{where} {call}")
    assert not found
