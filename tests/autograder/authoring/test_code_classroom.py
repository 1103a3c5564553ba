"""The GitHub workflows that check each push are valid and harmless, and report exact results."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import mistune
import pytest
import yaml

from autograder.authoring.release import release
from autograder.course import Course

GITHUB = ".github/workflows/checks.yml"
GITLAB = ".gitlab-ci.yml"

#: replaces the real command, which an earlier step of the workflow installs
AUTOGRADER = """\
#!/bin/sh
case "$1" in
    check) printf '%s\\n' 'half: to fix' '```' '<script>x</script>' '# no heading'; exit 1 ;;
    status) echo '1 of 2 questions pass' ;;
esac
"""


def parsed(folder: Path, name: str) -> dict[Any, Any]:
    document = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, Any]:
    """Returns a runner's working folder and environment, as arguments for `subprocess.run`."""
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    (tools / "autograder").write_text(AUTOGRADER)
    (tools / "autograder").chmod(0o755)
    summary = str(tmp_path / "summary.md")
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {"cwd": work, "env": {"PATH": path, "GITHUB_STEP_SUMMARY": summary}}


def run(script: str, runner: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-e", *options, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, **runner)


def test_github_runs_the_checks_with_read_rights_only(folder: Path) -> None:
    workflow = parsed(folder, GITHUB)
    assert "push" in workflow[True]  # YAML 1.1 reads the key `on` as True
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["check"]
    assert job["timeout-minutes"] <= 30
    scripts = "\n".join(step.get("run", "") for step in job["steps"])
    assert "pip install --quiet -r requirements.txt" in scripts
    assert "${{" not in scripts  # so no text of a student becomes part of a command


def test_github_shows_the_checks_as_text_and_fails_with_them(
    folder: Path, runner: dict[str, Any]
) -> None:
    steps = {s.get("name"): s for s in parsed(folder, GITHUB)["jobs"]["check"]["steps"]}
    check = run(steps["Check"]["run"], runner)
    assert (check.returncode, check.stdout.splitlines()[0]) == (1, "half: to fix")
    assert "cancelled" in steps["Summary"]["if"]  # so it also runs after failed checks
    assert run(steps["Summary"]["run"], runner).returncode == 0
    summary = Path(runner["env"]["GITHUB_STEP_SUMMARY"]).read_text()
    html = str(mistune.create_markdown(escape=False)(summary))
    assert "1 of 2 questions pass" in html
    assert "&lt;script&gt;x&lt;/script&gt;" in html
    assert "<script" not in html
    assert html.count("<h1") == 0
    assert html.count("<pre") == 2


def test_gitlab_keeps_the_output_of_checks_and_fails_with_them(
    folder: Path, runner: dict[str, Any]
) -> None:
    (job,) = parsed(folder, GITLAB).values()
    assert job["artifacts"]["when"] == "always"
    assert job["before_script"] == ["python -m pip install --quiet -r requirements.txt"]
    done = run("\n".join(job["script"]), runner, "-o", "pipefail")
    assert done.returncode == 1
    kept = (runner["cwd"] / job["artifacts"]["paths"][0]).read_text()
    assert kept == done.stdout
    assert {"half: to fix", "1 of 2 questions pass"} <= set(kept.splitlines())


@pytest.mark.parametrize("name", [GITHUB, GITLAB])
def test_files_that_the_workflow_installs_are_in_the_bundle(
    course: Course, wheel: Path, name: str
) -> None:
    (released,) = release(course, wheel=wheel).assignments
    with zipfile.ZipFile(released.bundle) as bundle:
        assert "requirements.txt" in bundle.read(f"basics/{name}").decode()
        assert "basics/requirements.txt" in bundle.namelist()
