"""`collect` reads real clones in the folder layouts that code classrooms use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import cli
from autograder.collecting import CollectOptions, CollectReport, collect, read_logins
from autograder.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
COURSE = {"simplified_attention": ("scores", "softmax"), "causal_attention": ("masking",)}
#: the files in a template repository, as a release writes them
TEMPLATE = {
    "README.md": "# Simplified attention\n",
    "requirements.txt": "./wheel\n",
    ".github/workflows/checks.yml": "on: push\n",
    "checks/test_scores.py": "def test(): ...\n",
    "checks/assignment.json": "{}\n",
    "scores.py": "stub\n",
    "scores.ipynb": "{}\n",
    "softmax.py": "stub\n",
}


def git(folder: Path, *arguments: str, date: str = "2026-03-01T12:00:00+02:00") -> str:
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }  # fmt: skip
    settings = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    command = ["git", *settings, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that makes a student's repository from the template and clones it."""

    def make(place: str, files: dict[str, str], date: str = "2026-03-01T12:00:00+02:00") -> Path:
        origin, target = tmp_path / "origins" / place, tmp_path / place
        for name, text in {**TEMPLATE, **files}.items():
            path = origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(origin, "init", "--quiet")
        git(origin, "add", ".")
        git(origin, "commit", "--quiet", "--message", "work", date=date)
        target.parent.mkdir(parents=True, exist_ok=True)
        git(tmp_path, "clone", "--quiet", str(origin), str(target))
        return target

    return make


@pytest.fixture
def bring(tmp_path: Path) -> Callable[..., CollectReport]:
    def run(source: str, **options: object) -> CollectReport:
        target = tmp_path / "course" / "submitted"
        settings = CollectOptions(**options)  # type: ignore[arg-type]
        return collect([tmp_path / source], target, COURSE, settings)

    return run


def tree(tmp_path: Path) -> dict[str, str]:
    submitted = tmp_path / "course" / "submitted"
    return {
        path.relative_to(submitted).as_posix(): path.read_text().strip()
        for path in sorted(submitted.rglob("*"))
        if path.is_file()
    }


def test_github_classrooms_folder_gives_answers_and_commit_times(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    around = "simplified-attention-submissions"
    clone(f"{around}/simplified-attention-ada-l", {"scores.py": "ada"})
    clone(f"{around}/simplified-attention-Bob", {"softmax.py": "bob"}, date="2026-03-02T00:30:00Z")
    report = bring(around)
    stub = {"scores.ipynb": "{}", "softmax.py": "stub"}
    ada = {**stub, "scores.py": "ada", "timestamp.txt": "2026-03-01 10:00:00 UTC"}
    bob = {**stub, "scores.py": "stub", "softmax.py": "bob",
           "timestamp.txt": "2026-03-02 00:30:00 UTC"}  # fmt: skip
    assert tree(tmp_path) == {
        **{f"ada-l/simplified_attention/{name}": text for name, text in ada.items()},
        **{f"Bob/simplified_attention/{name}": text for name, text in bob.items()},
    }
    assert report.skipped == ()


@pytest.mark.parametrize(
    ("place", "given", "student"),
    [
        ("all/hw1-simplified_attention-ada-l", "all", "ada-l"),
        ("all/Simplified-Attention-ada-l", "all/Simplified-Attention-ada-l", "ada-l"),
        ("week-1-submissions/week-1-ada-l", "week-1-submissions", "ada-l"),
        ("group/simplified_attention/ada-l", "group", "ada-l"),
        ("ada-l", "ada-l", "ada-l"),
    ],
    ids=["prefix", "one clone", "title", "gitlab", "login"],
)
def test_the_owner_of_a_clone_is_found(
    clone: Callable[..., Path],
    bring: Callable[..., CollectReport],
    place: str,
    given: str,
    student: str,
) -> None:
    clone(place, {"scores.py": "own"})
    (item,) = bring(given, assignment="simplified_attention").collected
    assert (item.student, item.assignment) == (student, "simplified_attention")


def test_the_roster_identifies_logins_whatever_repositories_are_called(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    roster = tmp_path / "classroom_roster.csv"
    roster.write_text(
        "﻿identifier,github_username,github_id,name\n"
        '"ada@uni.example",Ada-L,1,"Lovelace, Ada"\n"l@uni.example",l,2,Ell\n"eve@uni.example",,,\n'
    )
    clone("hw/hw-ada-l", {"scores.py": "ada"})
    clone("hw/hw-l", {"scores.py": "ell"})
    clone("hw/hw-guest-l", {"scores.py": "guest"})
    report = bring("hw", logins=read_logins(roster), assignment="simplified_attention")
    assert {item.student for item in report.collected} == {
        "ada@uni.example", "l@uni.example", "guest-l",
    }  # fmt: skip
    assert report.notes == ("hw-guest-l: 'guest-l' is not on the roster",)


def test_a_login_of_two_students_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("identifier,github_username\na,x\nb,x\n")
    with pytest.raises(UserError, match="'x' is the login of 'a' and of 'b'"):
        read_logins(path)


def test_answers_nearest_to_the_top_of_a_repository_count(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    files = {
        "causal_attention/masking.py": "one",
        "causal_attention/old/masking.py": "old",
        "simplified_attention/scores.py": "deep",
        "plots/draw.py": "x",
        "notes.txt": "x",
    }
    clone("ml101-ada", files)
    report = bring("ml101-ada")
    found = tree(tmp_path)
    nearer = "a file with this name in a folder further up is used instead"
    assert found["ml101-ada/causal_attention/masking.py"] == "one"
    assert found["ml101-ada/simplified_attention/scores.py"] == "stub"
    assert {item.path: item.reason for item in report.skipped} == {
        "ml101-ada/causal_attention/old/masking.py": nearer,
        "ml101-ada/simplified_attention/scores.py": nearer,
        "ml101-ada/plots/draw.py": "which assignment is it? use --assignment",
        "ml101-ada/notes.txt": "which assignment is it? use --assignment",
    }


def test_a_newer_push_keeps_the_earlier_submission(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    own = clone("all/simplified-attention-ada", {"scores.py": "first"})
    assert bring("all").collected[0].is_new
    assert not bring("all").collected[0].is_new
    (own / "scores.py").write_text("second")
    git(own, "commit", "--quiet", "--all", "--message", "more", date="2026-03-05T08:00:00Z")
    (item,) = bring("all").collected
    assert item.earlier == tmp_path.joinpath(
        "course", "earlier", "ada", "simplified_attention", "2026-03-01T100000"
    )
    assert (item.earlier / "scores.py").read_text() == "first"
    assert tree(tmp_path)["ada/simplified_attention/scores.py"] == "second"


def test_other_folders_are_reported_and_affect_nobody(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("solution")
    clone("all/simplified-attention-ada", {"scores.py": "ada"})
    linked = clone("all/simplified-attention-eve", {})
    (linked / "scores.py").unlink()
    (linked / "scores.py").symlink_to(secret)
    nothing = clone("all/simplified-attention-new", {})
    for name in ("scores.py", "scores.ipynb", "softmax.py"):
        (nothing / name).unlink()
    (tmp_path / "all" / "notes").mkdir()
    (tmp_path / "all" / "notes" / "scores.py").write_text("x")
    report = bring("all")
    assert {item.path: item.reason for item in report.skipped} == {
        "simplified-attention-eve/scores.py": "a link: links are not followed",
        "simplified-attention-new": "it contains no exercise file",
    }
    found = tree(tmp_path)
    assert found["notes/simplified_attention/scores.py"] == "x"
    assert found["ada/simplified_attention/scores.py"] == "ada"
    assert "solution" not in found.values()


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path.partition("/")[0])


@pytest.mark.parametrize("inner", ["", "simplified_attention/"], ids=["plain", "nbgraders"])
@pytest.mark.parametrize("repository", ["", "simplified_attention/", "bea/"])
@pytest.mark.parametrize("others", [("ada", "bea"), ("ada",), ()], ids=["three", "two", "alone"])
def test_a_students_own_repository_decides_nothing_for_the_others(
    bring: Callable[..., CollectReport],
    tmp_path: Path,
    inner: str,
    repository: str,
    others: tuple[str, ...],
) -> None:
    students = (*others, "mal")
    write(tmp_path / "all", *(f"{student}/{inner}scores.py" for student in students))
    write(tmp_path / "all", f"mal/{repository}.git/HEAD", f"mal/{repository}scores.py")
    if inner:  # nbgrader writes this file; a clone has only commit times
        for student in others:
            (tmp_path / "all" / student / inner / "timestamp.txt").write_text("2026-03-01 10:00:00")
    report = bring("all", assignment="simplified_attention")
    assert {item.student for item in report.collected} == set(students)
    assert report.missing == ()
    timed = {item.student for item in report.collected if item.time is not None}
    assert timed >= set(others if inner else ())


def test_a_student_without_a_repository_is_collected_like_the_others(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    for login in ("ada", "bea", "eve"):
        clone(f"all/hw-simplified-attention-{login}", {"scores.py": login})
    shutil.rmtree(tmp_path / "all" / "hw-simplified-attention-eve" / ".git")
    write(tmp_path / "all", "hw-simplified-attention-eve/hw-simplified-attention-ada/.git/HEAD")
    (tmp_path / "all" / "simplified-attention-new").mkdir()
    report = bring("all")
    assert {item.student: item.time is None for item in report.collected} == {
        "ada": False, "bea": False, "eve": True,
    }  # fmt: skip


def test_an_answer_next_to_clones_is_missed_by_somebody(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    for login in ("ada", "bea"):
        clone(f"all/simplified-attention-{login}", {"scores.py": login})
    write(tmp_path / "all", "scores.py", "roster.csv")
    report = bring("all")
    assert report.missing == ("scores.py",)


def test_one_of_two_equally_deep_answers_is_reported_missing(
    clone: Callable[..., Path], bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    clone("causal-attention-ada", {"one/masking.py": "1", "two/masking.py": "2"})
    report = bring("causal-attention-ada")
    assert report.missing == ("ada",)


def test_the_command_collects_clones_with_a_roster(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    clone("all/causal-attention-ada", {"masking.py": "own"})
    roster = tmp_path / "roster.csv"
    roster.write_text("identifier,github_username\nada@uni.example,ada\n")
    target = tmp_path / "course" / "submitted"
    result = CliRunner().invoke(
        cli,
        ["collect", str(tmp_path / "all"), "--into", str(target), "--course", str(ROOT), "--json",
         "--roster", str(roster)],
        catch_exceptions=False,
    )  # fmt: skip
    assert result.exit_code == 0
    (item,) = [i for i in json.loads(result.output)["collected"] if "masking.py" in i["files"]]
    assert (item["student"], item["assignment"]) == ("ada@uni.example", "causal_attention")


def test_a_clone_goes_to_the_person_in_the_classrooms_roster(
    clone: Callable[..., Path], tmp_path: Path
) -> None:
    for login in ("octo-ada", "bea", "eve"):
        clone(f"all/causal-attention-{login}", {"masking.py": login})
    people = tmp_path / "course" / "roster.csv"
    people.parent.mkdir()
    people.write_text("student,name,email\nada1,Ada King,ada@u.example\n")
    logins = {"octo-ada": "ada@u.example", "bea": "bea@u.example"}
    submitted = tmp_path / "course" / "submitted"
    report = collect([tmp_path / "all"], submitted, COURSE, CollectOptions(logins=logins))
    assert [item.student for item in report.collected] == ["ada1", "bea@u.example", "eve"]
