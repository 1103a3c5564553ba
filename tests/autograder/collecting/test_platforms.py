"""Downloads from real platforms give the owner and time of each file, or are rejected.

The formats of names are taken from the platforms. Moodle's mod/assign/classes/downloader.php joins
a name without `_`, the number, `assignsubmission` and the plugin; before Moodle 4.1, it also added
`_` at the end. Canvas's lib/content_zipper.rb joins the name, `LATE`, the user's id or anon_id, and
the attachment's id with `_`. Gradescope exports a folder for each submission, and a
`submission_metadata.yml` in Ruby's YAML.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.classroom import read_origins
from autograder.collecting import CollectOptions, CollectReport, collect, read_times
from autograder.collecting.gradescope import read_submitters
from autograder.errors import UserError

COURSE = {"simplified_attention": ("scores", "softmax"), "causal_attention": ("masking",)}
SIMPLE = "simplified_attention"
Files = Mapping[str, "bytes | Files"]


def zipped(files: Files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data if isinstance(data, bytes) else zipped(data))
    return buffer.getvalue()


@pytest.fixture
def bring(tmp_path: Path) -> Callable[..., CollectReport]:
    """Returns a function that collects one or more archives, each given as a table."""

    def run(*downloads: Files, name: str = "download.zip", **options: object) -> CollectReport:
        paths = []
        for number, files in enumerate(downloads):
            paths.append(tmp_path / f"{number or ''}{name}")
            paths[-1].write_bytes(zipped(files))
        settings = CollectOptions(**options)  # type: ignore[arg-type]
        return collect(paths, tmp_path / "course" / "submitted", COURSE, settings)

    return run


@pytest.fixture
def there(tmp_path: Path) -> Callable[[], dict[str, bytes]]:
    """Returns a function that reads all files in the submissions' folder."""
    submitted = tmp_path / "course" / "submitted"

    def tree() -> dict[str, bytes]:
        files = sorted(path for path in submitted.rglob("*") if path.is_file())
        return {path.relative_to(submitted).as_posix(): path.read_bytes() for path in files}

    return tree


def students(report: CollectReport) -> list[str]:
    return [item.student for item in report.collected]


def reasons(report: CollectReport) -> dict[str, str]:
    return {item.path: item.reason for item in report.skipped}


def test_moodle_since_4_1_names_folders_without_a_final_underscore(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    bring(
        {
            "Ada Lovelace_12345_assignsubmission_file/scores.ipynb": b"1",
            "Zoë Ng_12346_assignsubmission_file/sub/scores.py": b"2",
            "Group A_77_assignsubmission_file/softmax.py": b"3",
            "Flat Name_12348_assignsubmission_file_scores.py": b"4",
        },
        name="Att101-Simplified attention-4711.zip",
    )
    assert there() == {
        f"Ada Lovelace/{SIMPLE}/scores.ipynb": b"1",
        f"Flat Name/{SIMPLE}/scores.py": b"4",
        f"Group A/{SIMPLE}/softmax.py": b"3",
        f"Zoë Ng/{SIMPLE}/scores.py": b"2",
    }


def test_moodles_blind_marking_keeps_everybody_apart_by_number(
    bring: Callable[..., CollectReport],
) -> None:
    names = [f"Participant_{number}_assignsubmission_file/softmax.py" for number in (11, 12)]
    report = bring({name: name.encode() for name in names})
    assert students(report) == ["Participant 11", "Participant 12"]


def test_moodles_names_without_numbers_are_an_error_that_loses_nothing(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    bring({"ada/softmax.py": b"1"})
    before = there()
    with pytest.raises(UserError, match="have no numbers here.*nothing was collected"):
        bring({"Default group_assignsubmission_file/softmax.py": b"2"})
    assert there() == before


def test_a_default_group_beside_others_is_left_out_and_reported(
    bring: Callable[..., CollectReport],
) -> None:
    report = bring(
        {
            "Default group_assignsubmission_file/softmax.py": b"1",
            "Group A_7_assignsubmission_file/softmax.py": b"2",
        }
    )
    assert students(report) == ["Group A"]
    assert "does not contain exactly one number" in next(iter(reasons(report).values()))


def test_typed_text_without_a_file_is_to_be_looked_at(
    bring: Callable[..., CollectReport],
) -> None:
    files = {
        "Ole_1_assignsubmission_onlinetext/onlinetext.html": b"<p>",
        "Ole_1_assignsubmission_file/softmax.py": b"1",
        "Pia_2_assignsubmission_onlinetext/onlinetext.html": b"<p>",
        "lovelaceada_12345_text.html": b"<p>",
        "hopper_LATE_12346_link.html": b"<a>",
    }
    report = bring(files, assignment=SIMPLE)
    assert students(report) == ["Ole", "Pia", "hopper", "lovelaceada"]
    assert report.missing == ()
    assert [look.partition("/")[0] for look in report.looks] == ["Pia", "hopper", "lovelaceada"]
    assert all("text entry" in reason for reason in reasons(report).values())
    assert not [made for made in bring(files, assignment=SIMPLE).collected if made.is_new]


def test_typed_text_replaces_no_file(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    bring({"Pia_2_assignsubmission_file/softmax.py": b"1"})
    before = there()
    text = {"Pia_2_assignsubmission_onlinetext/onlinetext.html": b"use the first one"}
    report = bring(text, assignment=SIMPLE)
    assert report.missing == ("Pia",)
    assert there() == before


def test_canvas_hides_names_and_marks_late_ones(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    report = bring(
        {
            "anon_3kf9a_678_softmax.py": b"1",
            "LATE_anon_7qq1b_679_softmax.py": b"2",
            "van_damme_LATE_12_680_softmax.py": b"3",
            "李小龙_13_681_softmax.py": b"4",
        }
    )
    assert students(report) == ["anon_3kf9a", "anon_7qq1b", "van_damme", "李小龙"]
    assert [item.is_late for item in report.collected] == [False, True, True, False]
    assert all(item.time is None for item in report.collected)
    origins = read_origins(tmp_path / "course")
    assert origins["van_damme", SIMPLE].is_marked_late
    assert origins["van_damme", SIMPLE].number == "12"


METADATA = """\
---
submission_1001:
  :submitters:
  - :name: Ada "Countess" Lovelace
    :sid: '100'
    :email: ada@uni.example
  :created_at: 2026-03-01 22:59:58.123456789 Z
  :score: 7.0
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: []
submission_1002:
  :submitters:
  - :name: Zoë Ng
    :sid: '101'
    :email: zoe@uni.example
  - :name: Ben
    :sid:
    :email: ben@uni.example
  :created_at: 2026-03-02T10:00:00-08:00
"""
EXPORT = "assignment_4711_export/"


def test_gradescope_says_who_submitted_together_and_when(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]], tmp_path: Path
) -> None:
    report = bring(
        {
            f"{EXPORT}submission_metadata.yml": METADATA.encode(),
            f"{EXPORT}submission_1001/softmax.py": b"1",
            f"{EXPORT}submission_1002/work/softmax.py": b"2",
            f"{EXPORT}submission_1003/softmax.py": b"3",
        }
    )
    assert students(report) == ["ada@uni.example", "ben@uni.example", "zoe@uni.example"]
    assert there()[f"ben@uni.example/{SIMPLE}/softmax.py"] == b"2"
    assert there()[f"ada@uni.example/{SIMPLE}/timestamp.txt"] == b"2026-03-01 22:59:58 UTC\n"
    assert there()[f"zoe@uni.example/{SIMPLE}/timestamp.txt"] == b"2026-03-02 18:00:00 UTC\n"
    assert "not in submission_metadata" in reasons(report)[f"{EXPORT}submission_1003/softmax.py"]
    assert "used only for" in reasons(report)[f"{EXPORT}submission_metadata.yml"]
    assert read_origins(tmp_path / "course")["ada@uni.example", SIMPLE].time_from == "Gradescope"


@pytest.mark.parametrize("at", ["2026-03-01 22:59:58", "'2026-03-01 22:59:58'", "tomorrow", "[]"])
def test_a_time_of_gradescope_without_zone_is_unknown(at: str) -> None:
    text = f"submission_1:\n  :submitters:\n  - :name: Ada\n  :created_at: {at}\n"
    (owner,) = read_submitters(text.encode())["submission_1"]
    assert owner.time is None


def test_metadata_of_gradescope_executes_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    call = f"!!python/object/apply:os.mkdir ['{made}']"
    with pytest.raises(UserError, match="can't be read"):
        read_submitters(f"submission_1:\n  :created_at: {call}\n".encode())
    assert not made.exists()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {f"{EXPORT}submission_{n}/softmax.py": str(n).encode() for n in range(3)},
            "without submission_metadata.yml",
        ),
        ({f"{EXPORT}submission_metadata.yml": b"- 1\n- 2", f"{EXPORT}a/softmax.py": b""}, "read"),
        ({f"{EXPORT}submission_metadata.yml": b"a: [", f"{EXPORT}a/softmax.py": b""}, "read"),
        (
            {f"week1/part{n}/softmax.py": str(n).encode() for n in range(4)},
            "does each of these folders belong to a student",
        ),
        ({"week1/ada_1_2_softmax.py": b"1"}, "is this a student's folder, or the folder of"),
    ],
    ids=["no metadata", "a list", "no yaml", "one pile", "wrapped"],
)
def test_nothing_is_collected_if_students_cannot_be_distinguished(
    files: Files,
    why: str,
    bring: Callable[..., CollectReport],
    there: Callable[[], dict[str, bytes]],
) -> None:
    with pytest.raises(UserError, match=why):
        bring(files)
    assert there() == {}


def test_downloads_in_a_folder_of_their_name_are_read(
    bring: Callable[..., CollectReport],
) -> None:
    report = bring({"moodle/Ada_1_assignsubmission_file/softmax.py": b"1"}, name="moodle.zip")
    assert students(report) == ["Ada"]


def test_several_downloads_are_collected_at_once(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    report = bring(
        {"lovelaceada_12_100_softmax.py": b"1", "hopper_13_101_softmax.py": b"2"},
        {"lovelaceada_12_200_masking.py": b"3", "hopper_13_99_softmax.py": b"older"},
    )
    assert len(report.collected) == 3
    assert there()[f"hopper/{SIMPLE}/softmax.py"] == b"2"


def test_the_first_of_two_namesakes_keeps_the_name(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    bring({"ada_1_2_softmax.py": b"1"})
    bring({"ada_1_3_softmax.py": b"1b", "ada_9_4_softmax.py": b"9"})
    assert there() == {f"ada/{SIMPLE}/softmax.py": b"1b", f"ada_9/{SIMPLE}/softmax.py": b"9"}
    bring({"ada_9_5_masking.py": b"9m"})
    assert there()["ada_9/causal_attention/masking.py"] == b"9m"


IMPERSONATION: dict[str, Files] = {
    "inner archive": {"ada/work.zip": {f"zoe/{SIMPLE}/softmax.py": b"by ada"}},
    "folder": {f"ada/zoe/{SIMPLE}/softmax.py": b"by ada"},
    "canvas name inside": {"ada/zoe_1_2_softmax.py": b"by ada", "ada/softmax.py": b"by ada"},
    "moodle name inside": {"ada/zoe_1_assignsubmission_file/softmax.py": b"by ada"},
    "zip": {"ada.zip": {"zoe/softmax.py": b"by ada"}},
}


@pytest.mark.parametrize("case", IMPERSONATION)
def test_nobody_submits_in_anothers_name(
    case: str, bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    report = bring({**IMPERSONATION[case], "zoe/softmax.py": b"by zoe"})
    assert there()[f"zoe/{SIMPLE}/softmax.py"] == b"by zoe"
    assert there()[f"ada/{SIMPLE}/softmax.py"] == b"by ada"
    assert students(report) == ["ada", "zoe"]


MOODLE_ZOE, CANVAS_ZOE = "Zoe_111_assignsubmission_file/softmax.py", "zoe_111_9_softmax.py"


@pytest.mark.parametrize(
    ("name", "hers"),
    [
        ("Zoe_111_assignsubmission_file__222_assignsubmission_file_/softmax.py", MOODLE_ZOE),
        ("Mallory_5_assignsubmission_file_Zoe_111_assignsubmission_file_softmax.py", MOODLE_ZOE),
        ("mallory_5_6_zoe_111_222_softmax.py", CANVAS_ZOE),
        ("zoe_111_5_6_softmax.py", CANVAS_ZOE),
    ],
)
def test_a_name_that_imitates_a_platforms_displaces_nobody(
    name: str, hers: str, bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    bring({name: b"mallory's", hers: b"hers"})
    zoe = {path.lower(): data for path, data in there().items()}
    assert zoe[f"zoe/{SIMPLE}/softmax.py"] == b"hers"
    answers = [data for path, data in zoe.items() if path.endswith("/softmax.py")]
    assert b"mallory's" not in answers


def test_two_claims_to_one_file_are_both_refused(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    report = bring(
        {"ada/softmax.py": b"1", "ada.zip": {"softmax.py": b"2"}, "bob/softmax.py": b"3"}
    )
    assert there() == {f"bob/{SIMPLE}/softmax.py": b"3"}
    assert report.missing == ("ada",)
    assert all("could also be" in reason for reason in reasons(report).values())


def test_the_same_file_twice_is_not_a_conflict(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    report = bring({"ada/a/softmax.py": b"1", "ada/b/softmax.py": b"1"})
    assert there() == {f"ada/{SIMPLE}/softmax.py": b"1"}
    assert report.missing == ()


def test_one_submission_cannot_use_up_the_others_limits(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]]
) -> None:
    flood = {f"{n}.zip": {f"{m}": b"" for m in range(3_000)} for n in range(2)}
    report = bring({"ada_1_2_w.zip": flood, "zoe_3_4_softmax.py": b"hers"}, assignment=SIMPLE)
    assert there()[f"zoe/{SIMPLE}/softmax.py"] == b"hers"
    assert report.missing == ("ada",)
    assert len(report.skipped) < 50
    assert len([path for path in there() if path.startswith("ada")]) <= 1_000


def test_many_reports_about_one_owner_are_summarized(bring: Callable[..., CollectReport]) -> None:
    report = bring({"ada.zip": {f"__MACOSX/{n}": b"" for n in range(900)}, "b/softmax.py": b"1"})
    assert len(report.skipped) < 25
    assert "and 880 more files" in report.skipped[-1].reason


def test_the_dates_inside_a_students_archive_are_not_the_time(
    bring: Callable[..., CollectReport],
) -> None:
    (made,) = bring({"ada_11_22_work.zip": {"softmax.py": b"1"}}).collected
    assert made.time is None


WORKSHEET = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
    'Participant 12345,Ada Lovelace,a@b.example,Submitted,,"Friday, 2 May 2025, 6:14 PM"\n'
    'Participant 12346,"O\'Brien, Zoë",z@b.example,Submitted,,"Saturday, 3 May 2025, 18:14"\n'
    "Participant 12347,Ole,o@b.example,No submission,,-\n"
    "Participant 12348,Pia,p@b.example,Submitted,,vorgestern um 3:15\n"
)


def test_moodles_worksheet_states_the_times(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]], tmp_path: Path
) -> None:
    (tmp_path / "sheet.csv").write_text(WORKSHEET, encoding="utf-8")
    times = read_times(tmp_path / "sheet.csv", ZoneInfo("Europe/Berlin"))
    names = ("Ada Lovelace_12345", "OBrien, Zoë_12346", "Ole_12347", "Pia_12348")
    files = {f"{name}_assignsubmission_file/softmax.py": b"1" for name in names}
    report = bring(files, times=times)
    stated = {item.student: item.time for item in report.collected}
    assert stated == {
        "Ada Lovelace": datetime(2025, 5, 2, 16, 14, tzinfo=UTC),
        "OBrien, Zoë": datetime(2025, 5, 3, 16, 14, tzinfo=UTC),
        "Ole": None,
        "Pia": None,
    }
    assert there()[f"Ada Lovelace/{SIMPLE}/timestamp.txt"] == b"2025-05-02 16:14:00 UTC\n"
    assert any("vorgestern" in note for note in report.looks)


def test_a_worksheet_for_another_assignment_gives_no_time(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]], tmp_path: Path
) -> None:
    (tmp_path / "sheet.csv").write_text(WORKSHEET, encoding="utf-8")
    times = read_times(tmp_path / "sheet.csv", ZoneInfo("Europe/Berlin"))
    names = ("Ada Lovelace_777", "OBrien, Zoë_12346")  # Moodle's numbers differ in each assignment
    report = bring({f"{n}_assignsubmission_file/softmax.py": b"1" for n in names}, times=times)
    assert {item.student: item.time for item in report.collected} == {
        "Ada Lovelace": None,
        "OBrien, Zoë": datetime(2025, 5, 3, 16, 14, tzinfo=UTC),
    }
    assert f"Ada Lovelace/{SIMPLE}/timestamp.txt" not in there()
    assert any("'Ada Lovelace' (777)" in note for note in report.looks)
    assert any("worksheet for another assignment" in note for note in report.looks)


def test_times_learnt_later_are_kept_without_a_new_submission(
    bring: Callable[..., CollectReport], there: Callable[[], dict[str, bytes]], tmp_path: Path
) -> None:
    files = {"lovelaceada_7_8_softmax.py": b"1"}
    bring(files)
    (tmp_path / "times.csv").write_text("student,time\nlovelaceada,2025-05-02T18:14:00+02:00\n")
    (made,) = bring(files, times=read_times(tmp_path / "times.csv", None)).collected
    assert not made.is_new
    assert there()[f"lovelaceada/{SIMPLE}/timestamp.txt"] == b"2025-05-02 16:14:00 UTC\n"
    bring(files)
    assert f"lovelaceada/{SIMPLE}/timestamp.txt" in there()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("student,time\nada,2025-05-02 18:14:00\n", "has no time zone"),
        ("student,grade\nada,1\n", "not a table of times"),
        ("time\n2025-05-02 18:14:00Z\n", "not a table of times"),
    ],
)
def test_a_table_of_times_that_cant_be_used_says_why(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text(text)
    with pytest.raises(UserError, match=why):
        read_times(tmp_path / "times.csv", None)


@pytest.mark.parametrize("pair", [("ada", "аda"), ("ada", "ada."), ("ben", "BEN\u200b")])
def test_names_that_look_alike_are_noted(
    pair: Sequence[str], bring: Callable[..., CollectReport]
) -> None:
    report = bring({f"{name}/softmax.py": name.encode() for name in pair if name.isprintable()})
    expected = all(name.isprintable() for name in pair)
    assert any("look alike" in note for note in report.notes) == expected


def test_students_missing_on_the_roster_are_noted(
    bring: Callable[..., CollectReport], tmp_path: Path
) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "roster.csv").write_text('student,name\nada,"Lovelace, Ada"\n')
    report = bring({"lovelaceada_1_2_softmax.py": b"1", "stranger_3_4_softmax.py": b"2"})
    assert report.notes == ("not on the class's roster: 'stranger'",)


def test_nbgraders_timestamp_counts_only_in_the_submissions_folder(
    tmp_path: Path, there: Callable[[], dict[str, bytes]]
) -> None:
    stamp = b"2026-03-01 12:00:00 UTC\n"
    download = tmp_path / "submitted"
    for name in (f"ada/{SIMPLE}/timestamp.txt", f"ben/{SIMPLE}/work/timestamp.txt"):
        path = download / name
        path.parent.mkdir(parents=True)
        path.write_bytes(stamp)
        (path.parent / "softmax.py").write_bytes(b"1")
    report = collect([download], tmp_path / "course" / "submitted", COURSE)
    assert there()[f"ada/{SIMPLE}/timestamp.txt"] == stamp
    assert f"ben/{SIMPLE}/timestamp.txt" not in there()
    reason = reasons(report)[f"ben/{SIMPLE}/work/timestamp.txt"]
    assert "cannot state the time of their own" in reason


def test_names_that_are_nested_lists_are_ignored() -> None:
    lists = ["  a0: &a0 [x]"]
    lists += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    people = "  :submitters:\n  - :name: *a29\n    :sid: 7\n  - :email: [*a29]\n"
    text = "submission_1:\n" + "\n".join(lists) + "\n" + people
    (owner,) = read_submitters(text.encode())["submission_1"]
    assert (owner.student, owner.name, owner.email) == ("7", "", "")
