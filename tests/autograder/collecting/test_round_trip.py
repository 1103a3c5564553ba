"""After collecting, grading and exporting, every student has their own points on each platform.

File names are derived from people's names by the platforms' own rules. Moodle replaces `_` with a
space, and its `clean_filename` removes the characters that PARAM_FILE forbids. Canvas's
`sanitize_file_name` converts the sortable name to lower case, and keeps only letters, digits and
`_`. Exports are also read according to the platforms' rules. Moodle's importziplib.php splits a
name at `_` and uses the second part as the participant; Canvas uses the first two parts that are
numbers as the user and the attachment.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.classroom import read_origins, read_roster, write_roster
from autograder.collecting import CollectOptions, Times, collect, read_times
from autograder.deadlines import zone_of
from autograder.errors import UserError
from autograder.exports import Grades, Missing, export
from autograder.feedback import DeliveryFormat, Recipients, deliver
from autograder.operations.grades import DisplayOptions, class_grades
from autograder.records import SubmissionResult, SubmissionStatus, Tier

COURSE = {"masks": ("masking",)}
#: sortable names with commas, quotes, umlauts, CJK characters and apostrophes; two are equal
PEOPLE = [
    *("Lovelace, Ada", "O'Brien, Seán", 'Doe, "Jo" Ann', "Müller, Chiara", "Müller, Chiara"),
    *("李, 小龙", "van der Berg, Jan-Piet", "D'Arcy & Sons, Zoë", "Æsir: Þór, Ægir"),
    *("Mononym", "Gutiérrez_García, María", "Ng, A", "Nga, "),
]


def full_name(person: str) -> str:
    last, _, first = (part.strip() for part in person.partition(","))
    return f"{first} {last}".strip()


def moodle_name(text: str) -> str:
    return re.sub(r"""[&<>"`|':\\/]""", "", text.replace("_", " "))


def canvas_name(text: str) -> str:
    return re.sub(r"\W", "", re.sub(r"_(\d+)_", r"\1", text).lower())


def result(student: str, score: float) -> SubmissionResult:
    return SubmissionResult(
        student, "masks", "sha256:0", "sha256:1", Tier.A, SubmissionStatus.GRADED, score, 99.0,
        0.1, 1,
    )  # fmt: skip


class Class:
    """A class in which each student's file contains a number that identifies the student."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "download.zip"

    def collect(self, files: Mapping[str, str | bytes], times: Path | None = None) -> None:
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        target = self.folder / "course" / "submitted"
        table = read_times(times, zone_of("UTC")) if times else Times()
        report = collect([self.archive], target, COURSE, CollectOptions("masks", times=table))
        assert report.missing == ()

    def grades(self) -> Grades:
        """Returns grades in which each student's points are the number in their file."""
        found = (self.folder / "course" / "submitted").glob("*/masks/masking.py")
        points = {path.parent.parent.name: float(path.read_text()) for path in found}
        results = [result(student, score) for student, score in sorted(points.items())]
        return class_grades(self.folder / "course", results, DisplayOptions(missing=Missing.ZERO))

    def exported(self, kind: str, table: Path) -> list[dict[str, str]]:
        """Returns the rows that the platform imports; nobody in the table may be left out."""
        written = export(kind, self.grades(), self.folder / "back.csv", table)
        assert not [note for note in written.notes if "has no result" not in note]
        with written.path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def delivered(self, way: DeliveryFormat, notes: int = 0) -> dict[str, str]:
        """Returns the exported pages by file name; each contains its student's points."""
        course = self.folder / "course"
        results = self.grades().results
        for one in results:
            page = course / "feedback" / one.student / "masks" / "feedback.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"{one.score:g}")
            page.with_suffix(".txt").write_text(f"{one.score:g}")
        to = Recipients(read_origins(course), read_roster(course))
        packed = deliver(way, course, results, to)
        assert len(packed.notes) == notes
        with zipfile.ZipFile(packed.paths[0]) as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.fixture
def term(tmp_path: Path) -> Class:
    return Class(tmp_path)


def table(folder: Path, rows: list[list[str]]) -> Path:
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_canvas(term: Class) -> None:
    numbers = {100 + place: person for place, person in enumerate(PEOPLE)}
    present = [number for number in numbers if number != 102]
    term.collect(
        {
            f"{canvas_name(numbers[n])}_{'LATE_' if n % 3 == 0 else ''}{n}_{n}77_masking.py": str(n)
            for n in present
        }
    )
    sheet = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Masks (4711)"]]
    sheet += [["    Points Possible", "", "", "", "", "99"]]
    sheet += [[person, str(n), "", f"login{n}", "A", ""] for n, person in numbers.items()]
    rows = term.exported("canvas", table(term.folder, sheet))[1:]
    assert {row["ID"]: row["Masks (4711)"] for row in rows} == {
        str(n): str(n) if n in present else "0" for n in numbers
    }
    pages = term.delivered(DeliveryFormat.CANVAS)
    for name, points in pages.items():
        user, attachment = [part for part in name.split("_") if part.isdigit()][:2]
        assert (user, attachment) == (points, f"{points}77")
    assert len(pages) == len(present)


@pytest.mark.parametrize("ending", ["", "_"], ids=["4.1", "4.0"])
def test_moodle(term: Class, ending: str) -> None:
    numbers = {100 + place: person for place, person in enumerate(PEOPLE)}
    term.collect(
        {
            f"{moodle_name(full_name(person))}_{n}_assignsubmission_file{ending}/masking.py": str(n)
            for n, person in numbers.items()
        }
    )
    sheet = [["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"]]
    sheet += [
        [f"Participant {n}", full_name(person), f"p{n}@uni.example", "", "", "99.00"]
        for n, person in numbers.items()
    ]
    rows = term.exported("moodle", table(term.folder, sheet))
    assert {row["Identifier"]: row["Grade"] for row in rows} == {
        f"Participant {n}": str(n) for n in numbers
    }
    pages = term.delivered(DeliveryFormat.MOODLE)
    for name, points in pages.items():
        parts = name.split("/")[0].split("_", 4)
        assert (parts[1], parts[2], parts[3]) == (points, "assignsubmission", "file")
    assert len(pages) == len(PEOPLE)


def test_moodle_with_blind_marking(term: Class) -> None:
    numbers = range(100, 106)
    term.collect({f"Participant_{n}_assignsubmission_file/masking.py": str(n) for n in numbers})
    sheet = [["Identifier", "Status", "Grade", "Maximum Grade"]]
    sheet += [[f"Participant {n}", "", "", "99.00"] for n in numbers]
    rows = term.exported("moodle", table(term.folder, sheet))
    assert [row["Grade"] for row in rows] == [str(n) for n in numbers]
    assert len(term.delivered(DeliveryFormat.MOODLE)) == len(numbers)


def test_moodle_with_groups(term: Class) -> None:
    groups = {7: "Group A", 8: "Große Gruppe_B"}
    term.collect(
        {
            f"{moodle_name(name)}_{n}_assignsubmission_file/masking.py": str(n)
            for n, name in groups.items()
        }
    )
    sheet = [["Identifier", "Full name", "Group", "Status", "Grade", "Maximum Grade"]]
    members = {100: 7, 101: 8, 102: 7}
    sheet += [
        [f"Participant {n}", PEOPLE[n - 100], groups[group], "", "", "99.00"]
        for n, group in members.items()
    ]
    rows = term.exported("moodle", table(term.folder, sheet))
    assert [row["Grade"] for row in rows] == ["7", "8", "7"]


def in_a_group(term: Class, *, numbers: bool) -> None:
    """Puts the first three people into the group Blue Team on the class's roster."""
    rows = [["student", "name", "number", "group"]]
    rows += [[f"s{n}", PEOPLE[n], str(100 + n) if numbers else "", "Blue Team"] for n in range(3)]
    (term.folder / "course").mkdir()
    table(term.folder, rows).rename(term.folder / "course" / "roster.csv")


def test_members_of_a_moodle_group_get_grade_and_feedback(term: Class) -> None:
    in_a_group(term, numbers=False)
    headings = ["Identifier", "Full name", "Group", "Status", "Grade", "Maximum Grade"]
    sheet = [[*headings, "Last modified (submission)"]]
    sheet += [
        [f"Participant {70 + n}", full_name(PEOPLE[n]), "Blue Team", "", "", "99.00", "-"]
        for n in range(3)
    ]
    archive = {"Blue Team_77_assignsubmission_file/masking.py": "42"}
    term.collect(archive)
    # without a worksheet, the owner of the number 77 is unknown
    with pytest.raises(UserError, match="s0/masks: Moodle's number .* --times"):
        term.delivered(DeliveryFormat.MOODLE)
    term.collect(archive, times=table(term.folder, sheet))
    term.collect(archive, times=table(term.folder, sheet))
    rows = term.exported("moodle", table(term.folder, sheet))
    assert [row["Grade"] for row in rows] == ["42", "42", "42"]
    names = [name.split("_")[1] for name in term.delivered(DeliveryFormat.MOODLE)]
    assert names == ["70", "71", "72"]


def test_the_number_of_an_unknown_moodle_group_identifies_nobody(term: Class) -> None:
    headings = ["Identifier", "Full name", "Status", "Grade", "Last modified (submission)"]
    rows = [[f"Participant {77 + n}", full_name(PEOPLE[n]), "", "", "-"] for n in range(2)]
    sheet = table(term.folder, [headings, *rows])
    write_roster(term.folder / "course", sheet)
    files = ("Blue Team_77", f"{full_name(PEOPLE[1])}_78")
    archive = {f"{name}_assignsubmission_file/masking.py": name[-2:] for name in files}
    term.collect(archive, times=sheet)
    written = export("moodle", term.grades(), term.folder / "back.csv", sheet)
    assert written.waits and any("may be a group's number" in note for note in written.notes)
    with written.path.open(encoding="utf-8-sig", newline="") as file:
        grades = {row["Identifier"]: row["Grade"] for row in csv.DictReader(file)}
    assert grades == {"Participant 77": "0", "Participant 78": "78", "": "77"}
    (page,) = term.delivered(DeliveryFormat.MOODLE, notes=1)
    assert "_78_" in page


@pytest.mark.parametrize("has_numbers", [True, False])
def test_members_of_a_canvas_group_get_grade_and_feedback(term: Class, has_numbers: bool) -> None:
    in_a_group(term, numbers=has_numbers)
    term.collect({"blueteam_101_7_masking.py": "42"})
    sheet = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Masks (4711)"]]
    sheet += [[PEOPLE[n], str(100 + n), "", f"s{n}", "A", ""] for n in range(3)]
    rows = term.exported("canvas", table(term.folder, sheet))[1:]
    assert [row["Masks (4711)"] for row in rows] == ["42", "42", "42"]
    # Canvas gives all members the file of one
    pages = [f"blueteam_{n}_7_feedback.html" for n in ([100, 101, 102] if has_numbers else [101])]
    assert list(term.delivered(DeliveryFormat.CANVAS)) == pages


def test_feedback_for_anonymous_work_on_canvas_is_not_delivered(term: Class) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("masking.py", "42")
    # the student's own file name looks like the numbers of a user and an attachment
    term.collect({"anon_3kF9a_67002_8_9_work.zip": inner.getvalue()})
    with pytest.raises(UserError, match="downloaded anonymously"):
        term.delivered(DeliveryFormat.CANVAS)


def test_gradescope(term: Class) -> None:
    numbers = {100 + place: person for place, person in enumerate(PEOPLE)}
    metadata = {
        f"submission_{n}": {
            ":submitters": [{":name": full_name(p), ":sid": str(n), ":email": f"p{n}@u.example"}],
            ":created_at": "2026-03-01 22:59:58 Z",
        }
        for n, p in numbers.items()
    }
    export_ = "assignment_4711_export"
    files = {f"{export_}/submission_{n}/masking.py": str(n) for n in numbers}
    term.collect({**files, f"{export_}/submission_metadata.yml": json.dumps(metadata)})
    written = export("gradescope", term.grades(), term.folder / "back")
    for n in numbers:
        document = json.loads(
            (written.path / f"p{n}@u.example" / "masks" / "results.json").read_text()
        )
        assert document["score"] == n
    # the same people are found in Canvas's gradebook
    sheet = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]]
    sheet += [[person, str(n), "", f"P{n}@u.example", "A"] for n, person in numbers.items()]
    rows = term.exported("canvas", table(term.folder, sheet))[1:]
    assert [row["Masks"] for row in rows] == [str(n) for n in numbers]


def test_mail_goes_to_known_addresses_and_names_the_others(term: Class) -> None:
    term.collect({"ada@u.example/masking.py": "1", "=cmd/masking.py": "2", "ben/masking.py": "3"})
    (term.folder / "course" / "roster.csv").write_text(
        'student,name,email\nben,=Ben,ben@u.example\nada@u.example,"Lovelace, Jr., Ada",\n'
    )
    course, results = term.folder / "course", term.grades().results
    for one in results:
        page = course / "feedback" / one.student / "masks" / "feedback.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<p>")
        page.with_suffix(".txt").write_text("text")
    packed = deliver(
        DeliveryFormat.MAIL, course, results, Recipients(read_origins(course), read_roster(course))
    )
    with packed.paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["email"] for row in rows] == ["ada@u.example", "ben@u.example"]
    assert rows[0]["name"] == "Ada Lovelace, Jr."
    assert rows[1]["name"] == "'=Ben"  # so that no spreadsheet executes it
    assert all((packed.paths[0].parent / row["text"]).read_text() == "text" for row in rows)
    assert packed.notes == ("=cmd: no email address; import a roster that contains one",)


@pytest.mark.parametrize("way", list(DeliveryFormat))
def test_without_pages_there_is_nothing_to_pack(way: DeliveryFormat, tmp_path: Path) -> None:
    to = Recipients(read_origins(tmp_path), read_roster(tmp_path))
    with pytest.raises(UserError, match="run autograder feedback first"):
        deliver(way, tmp_path, [result("ada", 1.0)], to)


@pytest.mark.parametrize("way", [DeliveryFormat.CANVAS, DeliveryFormat.MOODLE])
def test_delivering_only_pages_for_other_platforms_is_an_error(
    way: DeliveryFormat, tmp_path: Path
) -> None:
    page = tmp_path / "feedback" / "ada" / "masks" / "feedback.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>")
    to = Recipients(read_origins(tmp_path), read_roster(tmp_path))
    with pytest.raises(UserError, match="no submission was collected from"):
        deliver(way, tmp_path, [result("ada", 1.0)], to)
