"""A person on the class's roster has one folder, no matter which platform the files come from."""

from __future__ import annotations

import io
import json
import shutil
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.classroom import read_origins, read_roster, write_roster
from autograder.collecting import CollectOptions, CollectReport, collect, read_times
from autograder.deadlines import zone_of
from autograder.exports.roster import match
from autograder.exports.roster import read_roster as read_platforms_roster

COURSE = {"masks": ("masking",), "heads": ("splitting",)}
PEOPLE = """\
student,name,email,number
ada,"Lovelace, Ada",a@u.example,101
eva1,"Muster, Eva",e1@u.example,104
eva2,"Muster, Eva",e2@u.example,105
"""


@pytest.fixture
def class_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    folder.mkdir()
    (tmp_path / "people.csv").write_text(PEOPLE)
    write_roster(folder, tmp_path / "people.csv")
    return folder


def bring(
    class_folder: Path, files: Mapping[str, str | bytes], assignment: str = "masks", sheet: str = ""
) -> CollectReport:
    archive, table = class_folder.parent / "download.zip", class_folder.parent / "sheet.csv"
    with zipfile.ZipFile(archive, "w") as opened:
        for name, text in files.items():
            opened.writestr(name, text)
    options = CollectOptions(assignment)
    if sheet:
        table.write_text(sheet)
        options = CollectOptions(assignment, times=read_times(table, zone_of("UTC")))
    return collect([archive], class_folder / "submitted", COURSE, options)


def students(class_folder: Path) -> set[str]:
    return {path.name for path in (class_folder / "submitted").iterdir()}


def test_files_from_three_platforms_belong_to_one_person(class_folder: Path) -> None:
    bring(class_folder, {"lovelaceada_101_7_masking.py": "1"})
    bring(class_folder, {"Ada Lovelace_9_assignsubmission_file/splitting.py": "2"}, "heads")
    who = {":submitters": [{":name": "A. L.", ":sid": "", ":email": "a@u.example"}]}
    files = {"submission_metadata.yml": json.dumps({"submission_1": who})}
    bring(class_folder, {**files, "submission_1/masking.py": "3"})
    assert students(class_folder) == {"ada"}
    again = bring(class_folder, {"lovelaceada_101_8_splitting.py": "4"}, "heads")
    assert again.notes == ()  # nobody was renamed, because the folder has the roster's name
    assert (class_folder / "submitted/ada/masks/masking.py").read_text() == "3"
    assert len(list((class_folder / "earlier/ada/masks").iterdir())) == 1


def test_namesakes_are_distinguished_by_number_or_address_never_guessed(class_folder: Path) -> None:
    bring(class_folder, {f"mustereva_{n}_7_masking.py": str(n) for n in (104, 105)})
    assert students(class_folder) == {"eva1", "eva2"}
    assert (class_folder / "submitted/eva2/masks/masking.py").read_text() == "105"
    files = {f"Eva Muster_{n}_assignsubmission_file/splitting.py": str(n) for n in (20, 30)}
    sheet = (
        "Identifier,Full name,Email address,Grade,Last modified (submission)\n"
        "Participant 20,Eva Muster,e2@u.example,,-\nParticipant 30,Eva Muster,e1@u.example,,-\n"
    )
    bring(class_folder, files, "heads", sheet)
    assert (class_folder / "submitted/eva2/heads/splitting.py").read_text() == "20"
    known, unknown = (
        {f"Eva Muster_{n}_assignsubmission_file/splitting.py": str(n)} for n in (30, 40)
    )
    bring(class_folder, known, "heads")  # the number identifies the person
    bring(class_folder, unknown, "heads")
    assert students(class_folder) == {"eva1", "eva2", "Eva Muster"}


def test_another_account_with_the_same_name_gets_another_folder(class_folder: Path) -> None:
    bring(class_folder, {f"lovelaceada_{n}_7_masking.py": str(n) for n in (101, 999)})
    assert (class_folder / "submitted/ada/masks/masking.py").read_text() == "101"
    assert students(class_folder) == {"ada", "lovelaceada_999"}


def test_a_folder_older_than_the_roster_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    bring(folder, {"lovelaceada_101_7_masking.py": "1"})
    (tmp_path / "people.csv").write_text(PEOPLE)
    write_roster(folder, tmp_path / "people.csv")
    bring(folder, {"lovelaceada_101_8_masking-1.py": "2"})
    assert students(folder) == {"lovelaceada"}


def test_a_renamed_student_keeps_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    bring(folder, {"lovelaceada_101_7_masking.py": "1", "byronada_102_8_masking.py": "another"})
    found = bring(folder, {"kingada_101_9_masking-1.py": "2", "kingada_103_10_masking.py": "3"})
    assert students(folder) == {"lovelaceada", "byronada", "kingada_103"}
    assert (folder / "submitted/lovelaceada/masks/masking.py").read_text() == "2"
    note = "'kingada' has the number of 'lovelaceada', so the work is in the folder 'lovelaceada'"
    assert note in found.notes
    bring(folder, {"byronada_101_11_splitting.py": "of another assignment"}, "heads")
    assert (folder / "submitted/lovelaceada/heads/splitting.py").is_file()


def test_a_note_says_whom_an_ambiguous_name_may_mean(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    (tmp_path / "people.csv").write_text('student,name\nzoe1,"Lee, Zoe"\nzoe2,"Lee, Zoe"\n')
    write_roster(folder, tmp_path / "people.csv")
    found = bring(folder, {"Zoe Lee_12001_assignsubmission_file/masking.py": "1"})
    assert [note.partition(":")[0] for note in found.notes] == [
        "'Zoe Lee' may be 'zoe1' or 'zoe2' on the class's roster"
    ]


def test_a_roster_with_the_new_name_identifies_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    bring(folder, {"lovelaceada_101_7_masking.py": "1", "gausscarl_102_8_masking.py": "2"})
    (tmp_path / "people.csv").write_text(
        'student,name,number,extra_time\nking1,"King, Ada",101,1d\nc2,"Weber, Carl",777,\n'
    )
    write_roster(folder, tmp_path / "people.csv")
    found = bring(folder, {"kingada_101_9_masking-1.py": "2"})
    assert not any("not on the class's roster" in note for note in found.notes)
    roster = read_roster(folder)
    person = roster.person("lovelaceada")
    assert person is not None and (person.student, person.extra_time) == ("king1", "1d")
    assert roster.person("gausscarl") is None
    assert [p.student for p in roster.without(["lovelaceada", "gausscarl"])] == ["c2"]


def test_moodles_number_says_who_it_is_in_one_assignment_only(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    bring(folder, {"Ada Byron_9_assignsubmission_file/masking.py": "1"})
    bring(folder, {"Ada King_9_assignsubmission_file/masking.py": "2"})
    bring(folder, {"Carl Gauss_9_assignsubmission_file/splitting.py": "3"}, "heads")
    assert students(folder) == {"Ada Byron", "Carl Gauss"}
    assert read_origins(folder)["Ada Byron", "masks"].name == "Ada King"


def test_a_student_renamed_from_an_unusable_name_keeps_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    for name in ('Bob "Bo" B?', "Robert Bee"):
        bring(folder, {f"{name}_8_assignsubmission_file/masking.py": name})
    assert students(folder) == {"Bob %22Bo%22 B%3F"}


def test_a_number_with_two_names_in_a_download_identifies_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    bring(folder, {"lovelaceada_101_7_masking.py": "1"})
    bring(folder, {f"{name}_101_9_masking.py": name for name in ("kingada", "gausscarl")})
    assert students(folder) == {"lovelaceada", "kingada", "gausscarl"}


def test_a_name_unusable_as_a_folder_is_found_again(
    class_folder: Path,
) -> None:
    for text in ("1", "2"):
        bring(class_folder, {'Bob "Bo" B?_8_assignsubmission_file/masking.py': text})
    bring(class_folder, {'Bob "Bo" B?_9_assignsubmission_file/masking.py': "another Bob"})
    folder = "Bob %22Bo%22 B%3F"
    assert students(class_folder) == {folder, f"{folder}_9"}
    origins = read_origins(class_folder)
    assert set(origins) == {(folder, "masks"), (f"{folder}_9", "masks")}
    assert origins[folder, "masks"].name == 'Bob "Bo" B?'
    assert origins[folder, "masks"].number == "8"


def gradescope(**submitters: tuple[str, str]) -> dict[str, str]:
    """Returns a Gradescope export with a name and an email address for each submission."""
    document = {
        entry: {":submitters": [{":name": name, ":sid": "S1", ":email": email}]}
        for entry, (name, email) in submitters.items()
    }
    answers = {f"{entry}/masking.py": entry for entry in submitters}
    return {"submission_metadata.yml": json.dumps(document), **answers}


@pytest.mark.parametrize(
    ("people", "names", "folders"),
    [
        # as in Canvas's gradebook, which has no addresses
        ("u7,José García,,107\n", ["José García"], {"u7"}),
        ("u7,José García,other@u.example,107\n", ["José García"], {"s0@u.example"}),
        ("u7,José García,,107\n", ["José García"] * 2, {"s0@u.example", "s1@u.example"}),
        ("u7,José García,,7\nu8,José García,,8\n", ["José García"], {"s0@u.example"}),
    ],
)
def test_gradescopes_name_counts_if_unique_and_without_an_address(
    tmp_path: Path, people: str, names: list[str], folders: set[str]
) -> None:
    folder = tmp_path / "course"
    folder.mkdir()
    (tmp_path / "people.csv").write_text(f"student,name,email,number\n{people}")
    write_roster(folder, tmp_path / "people.csv")
    who = {f"submission_{n}": (name, f"s{n}@u.example") for n, name in enumerate(names)}
    bring(folder, gradescope(**who))
    assert students(folder) == folders


def test_moodles_number_counts_before_names_and_groups_are_ignored(
    tmp_path: Path,
) -> None:
    course = tmp_path / "course"
    course.mkdir()
    (course / "roster.csv").write_text("student,name\norla,Orla Vell\n")
    archive = tmp_path / "moodle.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("Blue Team-Orla Vell_12001_assignsubmission_file_/softmax.py", "1")
        made.writestr("Red Team-Jo Nix_12002_assignsubmission_file_/softmax.py", "2")
        made.writestr("Default group_assignsubmission_file_/softmax.py", "3")
    report = collect([archive], course / "submitted", {"simple": ("softmax",)})
    assert [made.student for made in report.collected] == ["Red Team-Jo Nix", "orla"]
    assert report.missing == ("Default group_assignsubmission_file_",)  # its owner is unknown
    origin = read_origins(course)["Red Team-Jo Nix", "simple"]
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "Identifier,Full name,Grade\nParticipant 12001,Orla Vell,\nParticipant 12002,Jo Nix,\n"
    )
    names = {origin.student: origin.names}
    matching = match(
        read_platforms_roster(sheet),
        dict.fromkeys(("orla", "Red Team-Jo Nix"), frozenset({"masks"})),
        names,
    )
    assert matching.students_of == {1: ["Red Team-Jo Nix"]}
    assert matching.left_over == ("orla",)


def test_anonymous_late_work_of_canvas_is_taken_and_marked(tmp_path: Path) -> None:
    archive = tmp_path / "canvas.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("anon_LATE_9xQ2b_67001_softmax.py", "1")
        made.writestr("anon_3kF9a_67002_softmax.py", "2")
    report = collect([archive], tmp_path / "course" / "submitted", {"simple": ("softmax",)})
    assert {made.student: made.is_late for made in report.collected} == {
        "anon_9xQ2b": True,
        "anon_3kF9a": False,
    }


def test_canvas_number_in_the_roster_counts_before_any_name(tmp_path: Path) -> None:
    course = tmp_path / "course"
    course.mkdir()
    (course / "roster.csv").write_text("student,name,number\nada1,Ada King,101\neva,Eva M,102\n")
    archive = tmp_path / "canvas.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("lovelaceada_101_9001_softmax.py", "1")
        made.writestr("evam_103_9002_softmax.py", "2")
    report = collect([archive], course / "submitted", {"simple": ("softmax",)})
    assert [made.student for made in report.collected] == ["ada1", "evam"]  # 103 is another Eva


GROUPS = """\
student,name,number,group
jm,Jürgen Müller,201,Blue Team
za,Zoë Ångström,202,Blue Team; Night
ro,Renée O’Connor,203,Red Team
"""


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    folder = tmp_path / "groups"
    folder.mkdir()
    (tmp_path / "groups.csv").write_text(GROUPS)
    write_roster(folder, tmp_path / "groups.csv")
    return folder


def test_a_folder_in_another_unicode_form_is_the_roster_person(groups: Path) -> None:
    files = {f"{unicodedata.normalize('NFD', 'Jürgen Müller')}/masking.py": "1"}
    bring(groups, files)
    bring(groups, {"jm/splitting.py": "2", "Stranger/splitting.py": "3"}, "heads")
    assert students(groups) == {"jm", "Stranger"}


@pytest.mark.parametrize(
    "entry", ["blueteam_202_7_masking.py", "Blue Team_31_assignsubmission_file/masking.py",
              "Blue Team/masking.py", "blue team.zip"],
)  # fmt: skip
def test_the_work_of_a_group_is_that_of_each_member(groups: Path, entry: str) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("masking.py", "1")
    found = bring(groups, {entry: inner.getvalue() if entry.endswith(".zip") else "1"})
    assert students(groups) == {"jm", "za"}
    assert (groups / "submitted/za/masks/masking.py").read_text() == "1"
    (note,) = found.notes
    assert note.endswith("is a group on the roster, so each member has the work: jm, za")
    assert not bring(groups, {entry: inner.getvalue() if entry.endswith(".zip") else "1"}).skipped


def test_nobody_outside_a_group_submits_in_its_name(groups: Path) -> None:
    bring(groups, {"blueteam_203_7_masking.py": "a renamed account", "blueteam_999_8_a.py": "1"})
    assert students(groups) == {"ro", "blueteam_999"}


@pytest.mark.parametrize(
    ("entry", "row", "folder"),
    [
        ("mlleranna_101_7_masking.py", "ada,Anna Müller,101,", "mlleranna"),
        ("Blue-Anna Müller_9_assignsubmission_file/masking.py", "ada,Anna Müller,,", None),
        ("masks-anna-m/masking.py", "ada,Anna Müller,,Anna-M", "anna-m"),
    ],
)
def test_a_roster_that_arrives_late_identifies_who_is_there(
    tmp_path: Path, entry: str, row: str, folder: str | None
) -> None:
    course, place = tmp_path / "course", tmp_path / "masks" / entry
    place.parent.mkdir(parents=True)
    place.write_text("1")
    if folder == "anna-m":
        (place.parent / ".git").mkdir()
    bring_folder = tmp_path / "masks"
    collect([bring_folder], course / "submitted", COURSE, CollectOptions("masks"))
    (there,) = students(course)
    assert there == (folder or "Blue-Anna Müller")
    (tmp_path / "people.csv").write_text(f"student,name,number,github_username\n{row}\nbo,Bo,7,b\n")
    write_roster(course, tmp_path / "people.csv")
    person = read_roster(course).person(there)
    assert person is not None
    assert person.student == "ada"
    again = collect([bring_folder], course / "submitted", COURSE, CollectOptions("masks"))
    assert students(course) == {there}
    assert not [note for note in again.notes if "not on" in note]


def test_a_login_is_one_person_without_the_classrooms_roster(tmp_path: Path) -> None:
    course = tmp_path / "course"
    for week in ("masks", "heads"):
        clone = tmp_path / week / f"{week}-Ada-L"
        (clone / ".git").mkdir(parents=True)
        (clone / ("masking.py" if week == "masks" else "splitting.py")).write_text("1")
    collect([tmp_path / "masks"], course / "submitted", COURSE)
    listed = CollectOptions(logins={"ada-l": "ada@u.example"})
    for week in ("masks", "heads"):
        collect([tmp_path / week], course / "submitted", COURSE, listed)
    assert students(course) == {"Ada-L"}
    person = read_roster(course).person("Ada-L")
    assert person is None  # because there is no roster yet
    (tmp_path / "people.csv").write_text("student,name\nada@u.example,Ada\nbo,Bo\n")
    write_roster(course, tmp_path / "people.csv")
    person = read_roster(course).person("Ada-L")
    assert person is not None
    assert person.name == "Ada"


def test_a_group_collected_before_the_roster_can_be_split(tmp_path: Path) -> None:
    course = tmp_path / "groups"
    bring(course, {"Blue Team/masking.py": "1"})
    (tmp_path / "groups.csv").write_text(GROUPS)
    write_roster(course, tmp_path / "groups.csv")
    notes = bring(course, {"Blue Team/masking.py": "1"}).notes
    assert any("'Blue Team' is a group on the roster" in note for note in notes)
    shutil.rmtree(course / "submitted" / "Blue Team")
    bring(course, {"Blue Team/masking.py": "1"})
    assert students(course) == {"jm", "za"}


def test_missing_work_is_reported_with_the_name_in_the_class(tmp_path: Path) -> None:
    course = tmp_path / "course"
    course.mkdir()
    people = "student,name,number\nada1,Ada King,101\neva,Eva M,102\n"
    (course / "roster.csv").write_text(people)
    archive = tmp_path / "canvas.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("kingada_101_5001_mine.py", "1")
        made.writestr("mey_late_102_5002_work.ipynb", "2")
    report = collect([archive], course / "submitted", COURSE)
    assert report.missing == ("ada1", "eva")
