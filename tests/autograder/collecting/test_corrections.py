"""An instructor's corrections in `submitted/` are kept, and a collection can be undone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli import cli
from autograder.collecting import CollectedSubmission, Outcome, collect, undo
from autograder.collecting.issues import read_asked
from autograder.collecting.transaction import collecting_alone
from autograder.errors import UserError

COURSE = {"simplified_attention": ("scores", "softmax")}
KEY = ("ada", "simplified_attention")


class Class:
    """A class that collects a folder of uploads repeatedly."""

    def __init__(self, root: Path) -> None:
        self.uploads, self.folder = root / "uploads", root / "course"
        self.place = self.folder / "submitted" / KEY[0] / KEY[1]

    def upload(self, stamp: str = "", **files: str) -> None:
        """Replaces ada's files on the platform."""
        own = self.uploads / KEY[0] / KEY[1]
        own.mkdir(parents=True, exist_ok=True)
        for path in own.iterdir():
            path.unlink()
        for name, text in files.items():
            (own / name.replace("__", ".")).write_text(text)
        if stamp:
            (own / "timestamp.txt").write_text(stamp)

    def collect(self) -> CollectedSubmission:
        """Collects the uploads; returns ada's collected submission."""
        (made,) = collect([self.uploads], self.folder / "submitted", COURSE).collected
        return made

    def files(self, folder: Path | None = None) -> dict[str, str]:
        """Returns the contents of the submission's folder, or of `folder`."""
        return {path.name: path.read_text() for path in (folder or self.place).iterdir()}


@pytest.fixture
def term(tmp_path: Path) -> Class:
    return Class(tmp_path)


def rename(term: Class) -> None:
    (term.place / "scores (final).py").rename(term.place / "scores.py")


def edit(term: Class) -> None:
    (term.place / "scores (final).py").write_text("corrected")


def add(term: Class) -> None:
    (term.place / "scores.py").write_text("copied")


@pytest.mark.parametrize("correct", [rename, edit, add])
def test_a_correction_stays_when_the_same_upload_comes_again(
    term: Class, correct: Callable[[Class], None]
) -> None:
    term.upload(**{"scores (final)__py": "1"})
    term.collect()
    correct(term)
    corrected = term.files()
    for _ in range(2):
        assert term.collect().outcome is Outcome.EDITED
        assert term.files() == corrected
    assert not (term.folder / "earlier").exists()
    assert not (term.folder / "waiting").exists()


def test_a_new_upload_waits_next_to_a_correction(term: Class) -> None:
    term.upload(**{"scores (final)__py": "1"})
    term.collect()
    rename(term)
    term.upload(**{"scores (final)__py": "2"})
    made = term.collect()
    assert made.outcome is Outcome.WAITING
    assert term.files() == {"scores.py": "1"}
    assert term.files(made.folder) == {"scores (final).py": "2"}
    again = collect([term.uploads], term.folder / "submitted", COURSE)
    assert again.waiting == (made.folder,)  # the folder is reported until it is deleted
    (made.folder / "scores (final).py").rename(term.place / "scores.py")
    made.folder.rmdir()
    last = collect([term.uploads], term.folder / "submitted", COURSE)
    assert last.waiting == ()
    assert term.files() == {"scores.py": "2"}


def test_an_older_upload_does_not_wait_next_to_a_correction(term: Class) -> None:
    term.upload("2026-11-18 10:00:00 UTC", scores__py="1")
    term.collect()
    (term.place / "scores.py").write_text("corrected")
    term.upload("2026-11-19 10:00:00 UTC", scores__py="2")
    waiting = term.collect().folder
    for stamp, text in (("2026-11-18", "1"), ("2026-11-19", "2")):
        term.upload(f"{stamp} 10:00:00 UTC", scores__py=text)
        assert term.collect().outcome is Outcome.EDITED
    assert list(waiting.parent.iterdir()) == [waiting]
    stamp = "2026-11-18 10:00:00 UTC\n"  # the time of the files that were corrected
    assert term.files() == {"scores.py": "corrected", "timestamp.txt": stamp}


def test_unedited_files_are_replaced(term: Class) -> None:
    term.upload(scores__py="1")
    term.collect()
    (term.place / ".ipynb_checkpoints").mkdir()  # made by opening a notebook, so not a correction
    (term.place / ".ipynb_checkpoints" / "scores.py").write_text("1")
    term.upload(scores__py="2")
    assert term.collect().outcome is Outcome.NEW
    assert term.files() == {"scores.py": "2"}


def test_a_folder_renamed_to_another_student_is_kept(term: Class) -> None:
    term.upload(scores__py="1")
    term.collect()
    moved = term.folder / "submitted" / "lovelace" / KEY[1]
    moved.parent.mkdir()
    term.place.rename(moved)
    made = term.collect()
    assert (made.outcome, made.folder) == (Outcome.EDITED, moved)
    assert not term.place.exists()


def test_a_time_that_was_written_by_hand_stays(term: Class) -> None:
    term.upload("2026-11-19 10:00:00 UTC", scores__py="1")
    term.collect()
    (term.place / "timestamp.txt").write_text("2026-11-18 10:00:00 UTC\n")
    term.collect()
    assert term.files()["timestamp.txt"] == "2026-11-18 10:00:00 UTC\n"


def test_the_last_collection_is_taken_back(term: Class) -> None:
    term.upload("2026-11-19 10:00:00 UTC", scores__py="1")
    term.collect()
    before = {p.name: p.read_text() for p in term.folder.glob("*.csv")}
    term.upload("2026-11-20 10:00:00 UTC", softmax__py="wrong assignment")
    term.collect()
    term.collect()  # this changes nothing, so `undo` reverts the collection before it
    undone = undo(term.folder)
    assert undone.taken_back == (KEY,)
    assert term.files() == {"scores.py": "1", "timestamp.txt": "2026-11-19 10:00:00 UTC\n"}
    assert {p.name: p.read_text() for p in term.folder.glob("*.csv")} == before
    with pytest.raises(UserError, match="no collection to undo"):
        undo(term.folder)


def test_the_first_collection_is_taken_back_to_nothing(term: Class) -> None:
    term.upload(scores__py="1")
    term.collect()
    undo(term.folder)
    assert list((term.folder / "submitted").iterdir()) == []


def test_a_later_edit_is_not_undone(term: Class) -> None:
    term.upload(scores__py="1")
    term.collect()
    (term.place / "scores.py").write_text("by hand")
    undone = undo(term.folder)
    assert [key for key, _ in undone.left] == [KEY]
    assert term.files() == {"scores.py": "by hand"}


def test_a_collection_killed_between_two_moves_is_undone(
    term: Class, monkeypatch: pytest.MonkeyPatch
) -> None:
    term.upload(scores__py="1")
    term.collect()
    term.upload(scores__py="2")

    rename_ = os.rename

    def killed(source: Path, target: Path) -> None:
        rename_(source, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            term.collect()
    assert not term.place.exists()
    undo(term.folder)
    assert term.files() == {"scores.py": "1"}


def test_two_collections_of_one_class_do_not_overlap(term: Class) -> None:
    term.upload(scores__py="1")
    with collecting_alone(term.folder), pytest.raises(UserError, match="another collection"):
        term.collect()
    (term.folder / ".collecting-killed").mkdir()
    term.collect()
    assert not list(term.folder.glob(".collecting-*"))


def test_the_command_takes_the_class_folder_and_says_what_waits(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    term = Class(tmp_path)
    term.upload(**{"my scores__py": "1"})

    def call(*arguments: str) -> tuple[int, dict[str, list[str]]]:
        whole = ["collect", *arguments, "--into", str(term.folder), "--json"]
        done = CliRunner().invoke(cli, [*whole, "--course", str(root)], standalone_mode=False)
        return done.return_value, json.loads(done.stdout)

    status, document = call(str(term.uploads))
    assert (status, len(document["look_at"])) == (3, 1)
    assert call(str(term.uploads))[0] == 0  # there is nothing new to report
    assert term.files() == {"my scores.py": "1"}
    (term.place / "my scores.py").rename(term.place / "scores.py")
    term.upload(**{"my scores__py": "2"})
    status, document = call(str(term.uploads))
    assert status == 3
    assert document["waiting"] == [str(next((term.folder / "waiting").glob("*/*/*")))]
    status, document = call("--undo")
    assert (status, document["taken_back"]) == (0, ["ada/simplified_attention"])


def test_a_request_is_not_a_submission_and_makes_nobody_late(term: Class) -> None:
    term.upload("2026-05-01 10:00:00 UTC", scores__py="x")
    term.collect()
    term.upload("2026-05-09 10:00:00 UTC", scores__py="x", regrade_request__txt=" why? \n")
    report = collect([term.uploads], term.folder / "submitted", COURSE)
    assert [(one.who, one.assignment, one.text) for one in report.asked] == [(*KEY, "why?")]
    assert [made.outcome for made in report.collected] == [Outcome.SAME]
    assert term.files() == {"scores.py": "x", "timestamp.txt": "2026-05-01 10:00:00 UTC\n"}
    assert report.looks == ()


def test_a_request_with_a_new_answer_leaves_the_answer(term: Class) -> None:
    term.upload(scores__py="x")
    term.collect()
    term.upload(scores__py="y", **{"regrade_request-1__txt": "why?"})
    report = collect([term.uploads], term.folder / "submitted", COURSE)
    assert len(report.asked) == 1
    assert term.files() == {"scores.py": "y"}


def test_many_requests_in_one_upload_are_one(term: Class) -> None:
    files = {f"regrade_request-{n}__txt": f"why {n % 3}?" for n in range(200)}
    term.upload(scores__py="x", **files)
    asked = read_asked(term.uploads)
    report = collect([term.uploads], term.folder / "submitted", COURSE)
    assert [one.text for one in (*asked, *report.asked)] == ["why 0?\n\nwhy 1?\n\nwhy 2?"] * 2


def test_a_request_alone_replaces_no_submission(term: Class) -> None:
    term.upload(scores__py="x")
    term.collect()
    term.upload(regrade_request__txt="why?")
    report = collect([term.uploads], term.folder / "submitted", COURSE)
    assert (len(report.asked), report.collected) == (1, ())
    assert term.files() == {"scores.py": "x"}


def test_an_unreadable_request_does_not_hide_the_others(tmp_path: Path) -> None:
    for student in ("ada", "bea", "mal"):
        (tmp_path / student / KEY[1]).mkdir(parents=True)
    (tmp_path / "ada" / KEY[1] / "regrade_request.txt").write_text("why?")
    (tmp_path / "bea" / KEY[1] / "regrade_request.txt").mkdir()
    (tmp_path / "mal" / KEY[1] / "regrade_request.txt").symlink_to("/etc/passwd")
    asked = {one.who: one.text for one in read_asked(tmp_path)}
    assert asked["ada"] == "why?"
    assert "not a regular file" in asked["bea"] and "not a regular file" in asked["mal"]


@pytest.mark.parametrize(
    "odd",
    [
        {"author": None},
        {"author": {"login": ""}},
        {"url": None},
        {"title": None, "body": None},
        {"body": "\ud800"},
        {"url": "\udfff"},
        {"createdAt": "0001-01-01T00:00:00+14:00"},
    ],
)
def test_an_odd_issue_does_not_hide_the_others(tmp_path: Path, odd: dict[str, object]) -> None:
    issue = {"author": {"login": "ada"}, "title": "t", "body": "b", "url": "https://h/o/r/issues/1"}
    source = tmp_path / "issues.json"
    source.write_text(json.dumps([issue, issue | odd, issue]))
    asked = read_asked(source)
    assert [one.who for one in asked[::2]] == ["ada", "ada"]
    assert "".join((asked[1].who, asked[1].text, asked[1].source, asked[1].at)).encode()
    source.write_text(json.dumps([{"title": "t"}]))
    with pytest.raises(UserError, match="no issue has both"):
        read_asked(source)
