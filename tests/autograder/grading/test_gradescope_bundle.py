"""The autograder for Gradescope works in the folders of Gradescope's harness."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring import gradescope_bundle
from autograder.course import load_course

from ..forks import commands_in

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = json.loads((ROOT / "examples" / "expected.json").read_text())
ASSIGNMENT = "simplified_attention"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    wheel = folder / "attention_autograder-0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    course = load_course(ROOT)
    return gradescope_bundle(
        course, course.assignment(ASSIGNMENT), folder / "autograder.zip", wheel=wheel
    )


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yields a folder with the command `autograder`."""
    folder = tmp_path_factory.mktemp("commands")
    with commands_in(folder):
        yield folder


@pytest.fixture
def harness(bundle: Path, commands: Path, tmp_path: Path) -> Path:
    """Returns the root folder of an image in which setup.sh has installed this project."""
    root = tmp_path / "autograder"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", bundle, root / "source"], check=True)
    programs = root / "source" / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "autograder").symlink_to(commands / "autograder")
    (programs / "python").symlink_to(sys.executable)
    (root / "source" / "secret.key").write_text("of the image " * 4)  # setup.sh writes such a key
    (root / "submission").mkdir()
    (root / "results").mkdir()
    shutil.copy(root / "source" / "run_autograder", root)
    return root


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", root / "run_autograder"],
        env={**os.environ, "AUTOGRADER_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def results(root: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / "results" / "results.json").read_text())
    return document


def test_an_empty_submission_has_a_score_and_a_reason(harness: Path, fork_server: object) -> None:
    assert run(harness).returncode == 0
    assert results(harness)["score"] == 0.0
    assert "No file for this exercise could be graded" in results(harness)["output"]


@pytest.mark.parametrize("kind", ["folder", "zip", "repository"])
def test_a_folder_that_was_uploaded_as_a_whole_is_graded(
    harness: Path, kind: str, fork_server: object
) -> None:
    work = ROOT / "examples" / "submitted" / "ada" / ASSIGNMENT
    inner = harness / "submission" / "my work"
    if kind == "zip":
        shutil.make_archive(str(inner), "zip", work.parent, ASSIGNMENT)
    else:
        shutil.copytree(work, inner)
    if kind == "repository":
        subprocess.run(["git", "init", "--quiet", inner], check=True)
    assert run(harness).returncode == 0
    assert results(harness)["score"] == 100.0


def test_scores_are_this_machines_and_later_submissions_get_other_inputs(
    harness: Path, fork_server: object
) -> None:
    work = ROOT / "examples" / "submitted" / "dmitri" / ASSIGNMENT
    shutil.copytree(work, harness / "submission", dirs_exist_ok=True)
    # an archive that can't be opened costs no points
    (harness / "submission" / "answers.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    questions = EXPECTED["dmitri"][ASSIGNMENT].values()
    score = sum(score for exercise in questions for score, _ in exercise.values())
    metadata = harness / "submission_metadata.json"
    found = []
    for text in (None, '{"previous_submissions": []}', '{"previous_submissions": [{}]}'):
        if text:
            metadata.write_text(text)
        done = run(harness)
        assert done.returncode == 0, done.stderr
        assert results(harness)["score"] == score
        found.append([test["output"] for test in results(harness)["tests"]])
    assert found[0] == found[1] != found[2]


def test_a_grader_that_fails_leaves_no_score(harness: Path) -> None:
    (harness / "results" / "results.json").write_text('{"score": 100}')
    shutil.rmtree(harness / "source" / "course" / "solutions")
    assert run(harness).returncode != 0
    assert not (harness / "results" / "results.json").exists()


def test_the_bundle_has_one_assignment_and_scripts_that_may_run(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    # these files belong to the course, not to one assignment
    shared = ("course/tests/tables/", "course/source/not_allowed.toml")
    inside = [
        name.split("/")
        for name in modes
        if name.startswith("course/") and not name.startswith(shared)
    ]
    assert {ASSIGNMENT} == {p[3] if p[1] == "tests" else p[2] for p in inside}
    assert {p[1] for p in inside} == {"source", "solutions", "assignments", "tests"}


def test_setup_uses_only_what_the_bundle_holds(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        script = archive.read("setup.sh").decode()
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert set(re.findall(r"-c (\S+\.txt)", script)) <= names
    assert script.index(">secret.key") < script.index("chmod -R go= course ./*.whl secret.key")
    assert [name for name in names if name.endswith(".whl") and "/" not in name]
