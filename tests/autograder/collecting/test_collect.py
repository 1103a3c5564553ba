"""`collect` stores downloads from learning platforms without losing or trusting any file."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.collecting import CollectOptions, CollectReport, collect
from autograder.collecting.download_entries import contents_of, entries_of
from autograder.collecting.downloaded import AcceptedFile, DownloadEntry, ReadingAllowance
from autograder.errors import UserError

COURSE = {
    "simplified_attention": ("scores", "softmax"),
    "causal_attention": ("masking", "causal_attention"),
    "other": ("scores",),
}
Files = Mapping[str, "bytes | Files"]


def zipped(files: Files, time: tuple[int, ...] = (2026, 3, 1, 12, 0, 0)) -> bytes:
    """Returns an archive of these files; a nested table becomes an archive inside it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, time)  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            info.filename = name  # ZipInfo's constructor would make some names safe
            archive.writestr(info, data if isinstance(data, bytes) else zipped(data, time))
    return buffer.getvalue()


@pytest.fixture
def bring(tmp_path: Path) -> Callable[..., CollectReport]:
    """Returns a function that collects an archive, given as a table or as bytes."""

    def run(files: Files | bytes, name: str = "download.zip", **options: Any) -> CollectReport:
        path = tmp_path / name
        path.write_bytes(files if isinstance(files, bytes) else zipped(files))
        target = tmp_path / "course" / "submitted"
        return collect([path], target, COURSE, CollectOptions(**options))

    return run


def members_of(source: Path) -> list[object]:
    """Returns everything that is read from a download of one submission."""
    with entries_of(source) as found:
        return [
            member
            for entry in found
            for member in (
                contents_of(entry, ReadingAllowance())
                if isinstance(entry, DownloadEntry)
                else [entry]
            )
        ]


def tree(folder: Path) -> dict[str, bytes]:
    """Returns the contents of all files below a folder, except files named `timestamp.txt`."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timestamp.txt"
    }


LAYOUTS: dict[str, tuple[Files, str, dict[str, str], list[str]]] = {
    "canvas": (
        {
            "lovelaceada_12345_67890_softmax.ipynb": b"1",
            "lovelaceada_12345_67891_masking-2.py": b"2",
            "hopper_LATE_12346_67892_softmax.py": b"3",
        },
        "submissions.zip",
        {},
        [
            "hopper/simplified_attention/softmax.py",
            "lovelaceada/causal_attention/masking.py",
            "lovelaceada/simplified_attention/softmax.ipynb",
        ],
    ),
    "moodle": (
        {
            "Ada Lovelace_12345_assignsubmission_file_/scores.ipynb": b"1",
            "Zoë Ng_12346_assignsubmission_file_/sub/scores.py": b"2",
            "Ole_12347_assignsubmission_onlinetext_/onlinetext.html": b"3",
            "Flat Name_12348_assignsubmission_file_scores.py": b"4",
        },
        "ML101-Simplified attention-77.zip",
        {},
        [
            "Ada Lovelace/simplified_attention/scores.ipynb",
            "Flat Name/simplified_attention/scores.py",
            "Ole/simplified_attention/onlinetext.html",
            "Zoë Ng/simplified_attention/scores.py",
        ],
    ),
    "zip_of_zips": (
        {
            "ada.zip": {"scores.py": b"1", "homework/softmax.py": b"2"},
            "bob_1_2_work.zip": {"deep.zip": {"scores.py": b"3"}},
        },
        "all.zip",
        {"assignment": "simplified_attention"},
        [
            "ada/simplified_attention/scores.py",
            "ada/simplified_attention/softmax.py",
            "bob/simplified_attention/scores.py",
        ],
    ),
    "nbgrader": (
        {"submitted/ada/causal_attention/masking.py": b"1", "submitted/bob/other/scores.py": b""},
        "class.zip",
        {},
        ["ada/causal_attention/masking.py", "bob/other/scores.py"],
    ),
    "assignment_first": (
        {"causal_attention/ada/masking.py": b"1"},
        "class.zip",
        {},
        ["ada/causal_attention/masking.py"],
    ),
    "browser_copies": (
        {"ada_1_2_softmax (1).py": b"old", "ada_1_3_softmax (2).py": b"new"},
        "x.zip",
        {},
        ["ada/simplified_attention/softmax.py"],
    ),
    "windows_slashes": (
        {"ada\\softmax.py": b"1"},
        "x.zip",
        {},
        ["ada/simplified_attention/softmax.py"],
    ),
    "namesakes": (
        {"ada_1_2_softmax.py": b"1", "ada_9_3_softmax.py": b"2"},
        "x.zip",
        {},
        ["ada_1/simplified_attention/softmax.py", "ada_9/simplified_attention/softmax.py"],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_collected_from_any_layout(
    layout: str, bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    files, name, options, expected = LAYOUTS[layout]
    bring(files, name, **options)
    assert list(tree(tmp_path / "course" / "submitted")) == expected


def test_a_folder_is_collected_like_an_archive(tmp_path: Path) -> None:
    place = tmp_path / "download" / "ada"
    place.mkdir(parents=True)
    (place / "softmax.py").write_bytes(b"1")
    (place / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe")
    report = collect([tmp_path / "download"], tmp_path / "submitted", COURSE)
    assert tree(tmp_path / "submitted") == {"ada/simplified_attention/softmax.py": b"1"}
    reasons = {item.path: item.reason for item in report.skipped}
    assert "link" in reasons["ada/link.py"]
    assert "regular" in reasons["ada/pipe"]


def test_folders_without_end_cost_nobody_else_anything(tmp_path: Path) -> None:
    place = tmp_path / "download"
    deep = place / "ada" / "/".join("d" * 900)
    deep.mkdir(parents=True)
    (place / "zoe").mkdir()
    (place / "zoe" / "softmax.py").write_bytes(b"hers")
    report = collect([place], tmp_path / "submitted", COURSE)
    assert tree(tmp_path / "submitted") == {"zoe/simplified_attention/softmax.py": b"hers"}
    assert ["folders deep" in item.reason for item in report.skipped] == [True]
    assert report.missing == ("ada",)


def test_the_newest_of_several_uploads_counts(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    report = bring({"a_1_3_softmax-2.py": b"new", "a_1_2_softmax-1.py": b"old"})
    (data,) = tree(tmp_path / "course" / "submitted").values()
    assert data == b"new"
    assert "newer" in report.skipped[0].reason


@pytest.mark.parametrize("name", ["Softmax.py", "softmax.PY", "SOFTMAX.Py"])
def test_an_exercise_in_capitals_is_that_exercise(
    name: str, bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    assert not bring({f"ada_1_2_{name}": b"1"}).skipped
    (path,) = tree(tmp_path / "course" / "submitted")
    assert Path(path).name == "softmax.py"


def test_a_late_mark_is_reported(bring: Callable[..., CollectReport]) -> None:
    (made,) = bring({"ada_LATE_1_2_softmax.py": b"1"}).collected
    assert made.is_late


UNSAFE: dict[str, tuple[str, str]] = {
    "traversal": ("../../ada_1_2_softmax.py", "points outside"),
    "inner_traversal": ("ada/../../softmax.py", "points outside"),
    "windows_traversal": ("..\\ada\\softmax.py", "points outside"),
    "absolute": ("/tmp/ada/softmax.py", "absolute"),
    "drive": ("C:/ada/softmax.py", "absolute"),
    "control": ("ada/soft\x1bmax.py", "control"),
    "long": ("ada/" + "x" * 300 + "/softmax.py", "255"),
    "system": ("__MACOSX/ada/._softmax.py", "system"),
    "checkpoint": ("ada/.ipynb_checkpoints/softmax.ipynb", "system"),
    "nobody": ("softmax.py", "no student"),
    "two_assignments": ("ada/scores.py", "--assignment"),
    "stamp": ("ada_1_2_timestamp.txt", "time of their own submission"),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_an_unsafe_or_unclear_file_is_refused_with_its_reason(
    case: str, bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    name, reason = UNSAFE[case]

    def softmax() -> set[Path]:
        return {*tmp_path.parent.glob("*softmax*"), *tmp_path.rglob("*softmax*")}

    before = softmax()
    options = {"assignment": "other"} if case == "stamp" else {}
    file = "scores.py" if case == "stamp" else "softmax.py"
    report = bring({name: b"1", f"bob_1_2_{file}": b"2"}, **options)
    assert [item.student for item in report.collected] == ["bob"]
    (refused,) = report.skipped
    assert reason in refused.reason
    made = softmax() - before
    assert all(path.is_relative_to(tmp_path / "course" / "submitted" / "bob") for path in made)


def _special(name: str, mode: int, data: bytes = b"/etc/passwd") -> bytes:
    buffer = io.BytesIO(zipped({"bob_1_2_softmax.py": b"2"}))
    with zipfile.ZipFile(buffer, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, data)
    return buffer.getvalue()


def _changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


def _nested(depth: int) -> bytes:
    data = zipped({"softmax.py": b"1"})
    for _ in range(depth):
        data = zipped({"ada.zip": data})
    return data


def _encrypted() -> bytes:
    data = bytearray(zipped({"ada_1_2_softmax.py": b"1"}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    return bytes(data)


def _broken() -> bytes:
    data = bytearray(zipped({"ada_1_2_softmax.py": b"1" * 1000}))
    data[50:54] = b"\xff\xff\xff\xff"
    return bytes(data)


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "link": (lambda: _special("ada_1_2_softmax.py", stat.S_IFLNK | 0o777), "a link"),
    "fifo": (lambda: _special("ada_1_2_softmax.py", stat.S_IFIFO | 0o644), "regular"),
    "huge": (lambda: zipped({"ada_1_2_softmax.py": b"\0" * (101 << 20)}), "larger than 100 MB"),
    "nested": (lambda: _nested(4), "nested"),
    "encrypted": (_encrypted, "encrypted"),
    "broken_member": (_broken, "damaged"),
    "no_archive": (lambda: b"PK\x03\x04 but no more", "not a zip archive"),
    "truncated": (lambda: zipped({"ada_1_2_softmax.py": b"1"})[:-30], "not a zip archive"),
    "empty": (lambda: b"", "download it again, or unpack it"),
    "case": (lambda: zipped({"a_1_2_Softmax.py": b"", "a_1_2_softmax.py": b""}), "the same as"),
    "student_case": (lambda: zipped({"Ada/softmax.py": b"", "ada/softmax.py": b""}), "capital"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_an_archive_that_is_hostile_or_broken_is_reported(
    case: str, bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    make, reason = ARCHIVES[case]
    report = bring(make())
    assert any(reason in item.reason for item in report.skipped), report
    assert sum(map(len, tree(tmp_path / "course" / "submitted").values())) < 1000


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_counts_once(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ada/softmax.py", "first")
        archive.writestr("ada/softmax.py", "second")
    report = bring(buffer.getvalue())
    assert list(tree(tmp_path / "course" / "submitted").values()) == [b"first"]
    assert "twice" in report.skipped[0].reason


def test_a_broken_archive_inside_does_not_stop_the_others(
    bring: Callable[..., CollectReport],
) -> None:
    report = bring({"ada.zip": b"PK broken", "bob.zip": {"softmax.py": b"1"}})
    assert [item.student for item in report.collected] == ["bob"]
    assert report.skipped[0].path == "ada.zip"
    assert "not a zip archive" in report.skipped[0].reason
    report = bring({"ada.zip": b"PK broken"}, assignment="simplified_attention")
    assert [item.student for item in report.collected] == ["ada"]
    assert ["look at ada.zip" in look for look in report.looks] == [True]
    assert report.skipped == ()


def test_an_earlier_submission_is_kept_with_its_time(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    (first,) = bring({"ada/softmax.py": b"1"}).collected
    (first.folder / "timestamp.txt").write_text("2026-03-01 12:00:00 UTC\n")
    (second,) = bring({"ada/softmax.py": b"2"}).collected
    assert second.earlier is not None
    assert second.earlier.parent == tmp_path / "course" / "earlier" / "ada" / "simplified_attention"
    assert second.earlier.name == "2026-03-01T120000"
    assert (second.earlier / "softmax.py").read_bytes() == b"1"
    assert (second.folder / "softmax.py").read_bytes() == b"2"
    assert not (second.folder / "timestamp.txt").exists()
    (third,) = bring({"ada/softmax.py": b"3"}).collected
    assert third.earlier is not None
    assert (third.earlier / "softmax.py").read_bytes() == b"2"


def test_the_same_submission_again_changes_nothing(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    bring({"ada/softmax.py": b"1"})
    (again,) = bring({"ada/softmax.py": b"1"}).collected
    assert not again.is_new
    assert not (tmp_path / "course" / "earlier").exists()


def test_a_download_date_is_not_a_time_of_submission(
    bring: Callable[..., CollectReport],
) -> None:
    (made,) = bring(zipped({"ada/softmax.py": b"1"}, (2026, 3, 1, 12, 0, 0))).collected
    assert made.time is None
    assert not (made.folder / "timestamp.txt").exists()


def test_a_full_disk_loses_nothing(
    bring: Callable[..., CollectReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring({"ada/softmax.py": b"1"})

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    (tmp_path / "second.zip").write_bytes(zipped({"ada/softmax.py": b"2"}))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="No space left"):
        collect([tmp_path / "second.zip"], tmp_path / "course" / "submitted", COURSE)
    assert list(tree(tmp_path / "course" / "submitted").values()) == [b"1"]


def test_a_source_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        collect([tmp_path / "none.zip"], tmp_path / "submitted", COURSE)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_damage_to_an_archive_never_stops_the_reader(
    data: st.DataObject, tmp_path: Path
) -> None:
    raw = bytearray(zipped({"ada/softmax.py": b"x" * 50, "bob.zip": {"softmax.py": b"2"}}))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=8)
    ):
        raw[place] = value
    path = tmp_path / "damaged.zip"
    path.write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    for member in members_of(path):
        assert not isinstance(member, AcceptedFile) or len(member.data) <= 1000


def test_a_member_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nameless.zip"
    path.write_bytes(_changed(zipped({"q": b"1"}), b"q", b"\0"))
    assert [type(member).__name__ for member in members_of(path)] == ["RefusedFile"]


def test_an_archive_with_nothing_in_it_is_reported(bring: Callable[..., CollectReport]) -> None:
    report = bring(
        {"ada_1_2_work.zip": {}, "zoe_3_4_scores.py": b"x"}, assignment="simplified_attention"
    )
    assert [(item.path, item.student) for item in report.skipped] == [("ada_1_2_work.zip", "ada")]
    assert report.missing == ("ada",)
