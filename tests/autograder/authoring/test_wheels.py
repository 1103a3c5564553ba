"""Wheels from `make wheels` work when pip installs them into environments without our other code.

PyTorch is large, so the packages that a wheel requires are borrowed from the tests' environment, by
a .pth file that is written after the installation. Python does not read the .pth files in a folder
that another .pth file names, so this repository cannot be imported instead of the wheel. `make
versions` installs everything from a package index.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from autograder.authoring.release import requirements_text
from tools.versions import PYTHONS
from tools.wheels import build_wheels

ROOT = Path(__file__).resolve().parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def installed(wheel: Path, folder: Path) -> Path:
    """Makes an environment with this wheel; returns the folder with the environment's programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*command, *options, str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin"


def run(programs: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    command = [str(programs / "autograder"), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def grader(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the programs of an environment with the grader's wheel."""
    return installed(wheels[0], tmp_path_factory.mktemp("grader") / "venv")


def test_one_version_is_in_the_changelog_and_in_both_wheels(wheels: tuple[Path, Path]) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert newest and newest[1] == VERSION
    versions = [wheel.name.split("-")[1].partition("+")[0] for wheel in wheels]
    assert versions == [VERSION, VERSION]


def test_a_student_checks_an_answer_with_the_small_wheel(
    wheels: tuple[Path, Path], tmp_path: Path
) -> None:
    programs = installed(wheels[1], tmp_path / "venv")
    folder = Path(shutil.copytree(ROOT / "assignments/simplified_attention", tmp_path / "work"))
    shutil.copy(ROOT / "solutions/simplified_attention/scores.py", folder)
    done = run(programs, "check", "scores", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (exercise,) = json.loads(done.stdout)
    assert {question["standing"] for question in exercise["questions"]} == {"passed"}
    listed = run(programs, "--help", cwd=folder).stdout
    assert "watch" in listed and "Instructors" not in listed


def test_pip_accepts_the_requirements_and_python_of_a_bundle(
    wheels: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copy(wheels[1], tmp_path)
    text = requirements_text(ROOT, wheels[1].name)
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    options = ["--dry-run", "--no-index", "--disable-pip-version-check", "-r", "requirements.txt"]
    command = [sys.executable, "-m", "pip", "install", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert f"Would install attention-autograder-{VERSION}" in done.stdout, done.stderr
    with zipfile.ZipFile(wheels[1]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = archive.read(name).decode()
    (allowed,) = re.findall(r"^Requires-Python: (.+)$", metadata, re.MULTILINE)
    tried = {version for version in ("3.10", *PYTHONS) if version in SpecifierSet(allowed)}
    assert tried == {"3.11", "3.12", "3.13", "3.14"}


def test_an_instructor_begins_a_course_with_the_full_wheel(grader: Path, tmp_path: Path) -> None:
    done = run(grader, "new", "ciphers/shift", "--question", "shift_letter", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    unfinished = run(grader, "validate", cwd=tmp_path)
    assert unfinished.returncode == 1
    assert "solutions/ciphers/shift.py:1: to do:" in unfinished.stderr
    assert run(grader, "--version", cwd=tmp_path).stdout.split()[-1] == VERSION


def test_the_full_wheel_grades_with_a_clone_beside_it(grader: Path, tmp_path: Path) -> None:
    answers = tmp_path / "submitted" / "ada" / "simplified_attention"
    answers.mkdir(parents=True)
    shutil.copy(ROOT / "solutions/simplified_attention/scores.py", answers)
    options = ("--course", str(ROOT), "--no-gradebook", "--json")
    done = run(grader, "grade", "submitted", *options, cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    (submission,) = json.loads(done.stdout)["submissions"]
    assert submission["score"] == 30
