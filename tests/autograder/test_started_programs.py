"""No program is started in a student's folder or given its path, and no file there has an effect.

The commands for a class are called in a student's folder that contains settings, hooks and modules
named like libraries. A Python audit hook records started programs and opened files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import UserError
from autograder.operations.courses import find_courses
from autograder.submission.class_files import class_home, inside

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = "simplified_attention"
ANSWER = "def query_scores(inputs, query):\n    return inputs @ query\n"
#: code that runs commands, and records the programs, folders and files that they use
_AUDITED = """
import json, os, sys
log, watched, commands = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), sys.argv[2], sys.argv[3]
STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn")

def caller(frame):
    while frame is not None:
        name = frame.f_code.co_filename
        if "/autograder/" in name and not name.endswith("/autograder/files.py"):
            return name.rpartition("/autograder/")[2]
        frame = frame.f_back
    return "a library"

def hook(event, args):
    seen = None
    if event in STARTS:
        seen = {"starts": [os.fsdecode(one) if isinstance(one, bytes) else str(one)
                           for one in args[1]] if len(args) > 1 else [str(args[0])],
                "in": str(args[2]) if event == "subprocess.Popen" and args[2] else os.getcwd()}
    elif event == "os.chdir":
        seen = {"enters": str(args[0])}
    elif event == "open" and isinstance(args[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(args[0]))
        if path.startswith(watched):
            seen = {"opens": path, "by": caller(sys._getframe(1)), "writes": bool(args[2] & 3)}
    if seen:
        os.write(log, json.dumps(seen).encode() + b"\\n")

sys.addaudithook(hook)
from autograder.cli import cli
for command in json.loads(commands):
    cli.main(command, standalone_mode=False)
"""
_RUNS = "open({mark!r}, 'a').write(__file__ + '\\n')\n"
#: modules that Python, a library or a tool might import from the current folder
_MODULES = (
    *("conftest", "click", "json", "nbgrader_config", "jupyter_config", "jupyter_nbconvert_config"),
    *("ipython_config", "nbgrader", "pytest", "setup", "sitecustomize", "sqlalchemy", "torch"),
    *("usercustomize", "yaml", "autograder", "numpy", "jinja2"),
)
_SETTINGS = {
    "pytest.ini": "[pytest]\naddopts = -k nothing\npython_files = nothing.py\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'\n",
    "tox.ini": "[pytest]\naddopts = -k nothing\n",
    "setup.cfg": "[tool:pytest]\naddopts = -k nothing\n",
    "pyvenv.cfg": "home = /nowhere\n",
    "matplotlibrc": "backend: nothing\n",
    "alembic.ini": "[alembic]\nscript_location = .\n",
    ".env": "PYTEST_ADDOPTS=-k nothing\n",
    "due.csv": "assignment,duedate\n",
    "rules.toml": "nothing = 1\n",
    "assignment.toml": "title = 'nothing'\n",
}


@dataclass(frozen=True)
class Night:
    """The programs that the commands started, and the files that they opened."""

    events: list[dict[str, Any]]
    students: tuple[Path, ...]
    called_in: Path
    mark: Path
    verdicts: dict[str, str]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if kind in event]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    place = tmp_path_factory.mktemp("night")
    mark, log, home = place / "ran", place / "log", place / "class"
    own = place / "download" / "mal" / ASSIGNMENT
    (own / ".git" / "hooks").mkdir(parents=True)
    (own / "scores.py").write_text(ANSWER)
    for name in _MODULES:
        (own / f"{name}.py").write_text(_RUNS.format(mark=str(mark)))
    for name, text in _SETTINGS.items():
        (own / name).write_text(text)
    (own / ".git" / "config").write_text("[core]\n\tfsmonitor = ./hook\n\thooksPath = .\n")
    (own / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    log.touch()
    kept, at = str(home), ["--course", str(ROOT)]
    commands = [
        ["collect", str(place / "download"), "--into", kept, *at],
        ["grade", f"{kept}/submitted", *at],
        ["feedback", kept, *at],
        ["similar", kept, *at],
        ["mistakes", kept, *at],
        ["report", kept],
        ["export", "csv", kept],
    ]
    run = subprocess.run(
        [sys.executable, "-P", "-c", _AUDITED, log, str(place), json.dumps(commands)],
        cwd=own, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    events = [json.loads(line) for line in log.read_text().splitlines()]
    line = json.loads((home / "results.jsonl").read_text().splitlines()[-1])
    verdicts = {q["question"]: q["verdict"] for e in line["exercises"] for q in e["questions"]}
    return Night(events, (place / "download", home / "submitted"), own, mark, verdicts)


def test_only_the_sandbox_is_started_outside_students_folders(night: Night) -> None:
    started = night.of("starts")
    assert started, "the audit hook sees nothing"
    for event in started:
        # importing torch for graphics cards runs ldconfig to find a library
        assert event["in"] == "/" or event["starts"] == ["/sbin/ldconfig", "-p"], event
        assert not [word for word in event["starts"] if "download" in word or "/mal/" in word]
    entered = {Path(event["enters"]) for event in night.of("enters")}
    entered -= {night.called_in}  # pytest returns to the folder in which it was called
    assert not [path for path in entered if path.is_relative_to(night.mark.parent)]


def test_no_module_of_the_current_folder_runs(night: Night) -> None:
    assert not night.mark.exists(), night.mark.read_text()


def test_files_of_students_are_opened_where_the_list_says(night: Night) -> None:
    listed = tomllib.loads(Path(__file__).with_name("readers.toml").read_text(encoding="utf-8"))
    allowed = {name for name, whose in listed["opens"].items() if whose.startswith("students'")}
    opened = [
        event
        for event in night.of("opens")
        if not event["writes"]
        and any(Path(event["opens"]).is_relative_to(place) for place in night.students)
    ]
    assert {Path(event["opens"]).name for event in opened} >= {"scores.py"}
    others = {(event["by"], event["opens"]) for event in opened if event["by"] not in allowed}
    assert not others


def test_no_setting_beside_an_answer_changes_its_score(night: Night) -> None:
    assert night.verdicts["query_scores"] == "correct"


@pytest.fixture(params=["submitted", "downloads"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Returns the folder of a student's submission, in a class outside of the course."""
    place = tmp_path / "class" / request.param / "mal" / ASSIGNMENT
    place.mkdir(parents=True)
    (place / "scores.py").write_text(ANSWER)
    return place


@pytest.mark.parametrize("where", ["beside the answer", "around the assignment"])
def test_a_configuration_in_a_students_folder_is_not_executed(
    where: str, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, folder = tmp_path / "ran", own if where == "beside the answer" else own.parent
    (folder / "nbgrader_config.py").write_text(_RUNS.format(mark=str(mark)))
    monkeypatch.chdir(own.parents[2])
    with pytest.raises(UserError, match="not inside a course"):
        find_courses(own, Path())
    assert not mark.exists()
    config = f"c = get_config()\nc.SandboxedExporter.course = {str(ROOT)!r}\n"
    (own.parents[2] / "nbgrader_config.py").write_text(config)
    found = find_courses(own, Path())
    assert found.own is not None and found.own.root == ROOT
    assert not mark.exists()


def test_a_course_in_a_students_folder_is_not_used(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("source", "solutions"):
        (own / room / ASSIGNMENT).mkdir(parents=True)
    (own / "source" / ASSIGNMENT / "assignment.toml").write_text("title = 'mine'\nexercises = []\n")
    monkeypatch.chdir(own)
    with pytest.raises(UserError, match="--course"):
        find_courses(Path(), Path())


def test_a_class_in_a_students_folder_is_not_used(tmp_path: Path) -> None:
    own = tmp_path / "class" / "submitted" / "mal" / ASSIGNMENT
    (own / "submitted" / "ada" / ASSIGNMENT).mkdir(parents=True)
    (own / "due.csv").write_text("assignment,duedate\n")
    for folder in (own, own.parent, own.parents[1]):
        assert inside(folder) == folder
        assert class_home(folder) == tmp_path / "class"
    assert inside(tmp_path / "class") == tmp_path / "class" / "submitted"
