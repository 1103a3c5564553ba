"""Exports for Canvas and Moodle keep the table's format, match its rows, and lose nothing."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autograder.classroom import Origin, Person, write_roster
from autograder.collecting.platform_times import read_times
from autograder.errors import UserError
from autograder.exports import Grades, Missing, export
from autograder.exports.roster import match, read_roster
from autograder.records import SubmissionResult, SubmissionStatus

MASKS = frozenset({"masks"})
#: a gradebook as Canvas exports it, including read-only columns
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Masks (4711),Old work (12),Current Score
,,,,,Manual Posting,,(read only)
    Points Possible,,,,,6.00,10.00,(read only)
"Lovelace, Ada",101,S-1,ada,"Section, one",,9.00,90.00
"Hopper, Grace",102,S-2,grace@navy.example,Section one,1.50,,
"Noether, Emmy",103,S-3,noether,Section two,3.25,8.00,80.00
"Student, Test",999,,fa25d0c1,Section one,,,
"""

#: a grading worksheet as Moodle exports it
MOODLE = (
    "\ufeffIdentifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,"
    "Grade can be changed,Last modified (submission),Last modified (grade),Feedback comments\n"
    "Participant 70001,Ada Lovelace,4001,ada@example.org,Submitted for grading - ,,6.00,Yes,"
    '"Friday, 2 May 2025, 6:14 PM",-,\n'
    "Participant 70002,Grace Hopper,4002,grace@example.org,No submission - ,2.50,6.00,Yes,"
    '-,"Monday, 5 May 2025, 9:00 AM",see me\n'
    "Participant 70003,Emmy Noether,4003,emmy@example.org,No submission - ,,6.00,No,-,-,\n"
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def canvas(tmp_path: Path) -> Path:
    path = tmp_path / "gradebook.csv"
    path.write_text(CANVAS, encoding="utf-8")
    return path


@pytest.fixture
def moodle(tmp_path: Path) -> Path:
    path = tmp_path / "worksheet.csv"
    path.write_text(MOODLE, encoding="utf-8")
    return path


def lines(notes: tuple[str, ...]) -> Iterator[str]:
    return iter(sorted(notes))


def test_canvas_has_columns_points_and_a_row_per_student(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [
        make_result("ada"),
        make_result("ada", (2.0, 2.0, 2.0), assignment="causal_attention"),
        make_result("ben", (0.0, 0.125, 2.0)),
    ]
    written = export("canvas", results, tmp_path / "out.csv")
    points, ada, ben = rows_of(written.path)
    assert list(points)[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert list(points)[5:] == ["Causal attention", "Masks"]
    assert list(points.values()) == ["    Points Possible", "", "", "", "", "6", "6"]
    assert list(ada.values()) == ["ada", "", "", "ada", "", "6", "4"]
    assert (ben["Causal attention"], ben["Masks"]) == ("", "2.125")


def test_a_canvas_gradebook_provides_ids_and_keeps_unknown_columns(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    results = [
        make_result("ADA"),
        make_result("grace", status=SubmissionStatus.FAILED),
        make_result("zoe"),
    ]
    written = export("canvas", results, tmp_path / "out.csv", canvas)
    points, ada, grace, emmy, zoe = rows_of(written.path)
    assert list(points)[5:] == ["Masks (4711)"]
    assert (points["Student"], points["Masks (4711)"]) == ("    Points Possible", "6")
    assert list(ada.values()) == ["Lovelace, Ada", "101", "S-1", "ada", "Section, one", "4"]
    assert (grace["ID"], grace["Masks (4711)"]) == ("102", "1.50")
    assert (emmy["ID"], emmy["Masks (4711)"]) == ("103", "3.25")
    assert (zoe["Student"], zoe["ID"], zoe["Masks (4711)"]) == ("zoe", "", "4")
    assert list(lines(written.notes)) == [
        "'Noether, Emmy' in gradebook.csv has no result here",
        "'zoe' is not in gradebook.csv",
    ]


def test_one_person_in_two_folders_has_the_grades_of_both(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    second = "causal_attention"
    results = [make_result("ada"), make_result("Ada L_7", (2.0, 2.0, 0.0), assignment=second)]
    grades = Grades(results, known_as={"Ada L_7": ("ada",)}, zero_for=frozenset({"masks", second}))
    zeros = replace(grades, missing=Missing.ZERO)
    written = export("canvas", zeros, tmp_path / "out.csv", canvas)
    _, ada, grace, *_ = rows_of(written.path)
    assert (ada["Masks (4711)"], ada["Causal attention"]) == ("4", "4")
    assert (grace["Masks (4711)"], grace["Causal attention"]) == ("0", "0")
    people = {"ada": Person("ada"), "Ada L_7": Person("ada")}
    written = export("csv", replace(zeros, people=people), tmp_path / "out.csv")
    (row,) = rows_of(written.path)
    assert (row["student"], row["points"], row["maximum"]) == ("ada", "8.0", "12.0")
    both = replace(zeros, results=[*results, make_result("Ada L_7")])
    written = export("canvas", both, tmp_path / "out.csv", canvas)
    _, ada, *_ = rows_of(written.path)
    assert ada["Masks (4711)"] == "", "nobody gets a zero because it is not certain who it is"
    said = "'Ada L_7', 'ada' may all be 'Lovelace, Ada' in gradebook.csv: write the number or login"
    assert any(note.startswith(said) for note in written.notes)


@pytest.mark.parametrize(
    ("title", "column", "is_new"),
    [("Masks", "Masks (4711)", False), ("Old work", "Old work (12)", False), ("M 2", "M 2", True)],
)
def test_an_assignment_is_found_in_canvas_by_its_title(
    make_result: Callable[..., SubmissionResult],
    canvas: Path,
    tmp_path: Path,
    title: str,
    column: str,
    is_new: bool,
) -> None:
    if title != "Masks":
        text = CANVAS.replace("Masks (4711)", "Essay (4711)").replace("10.00", "6.00")
        canvas.write_text(text, encoding="utf-8")
    grades = Grades((make_result("ada"),), titles={"masks": title})
    written = export("canvas", grades, tmp_path / "out.csv", canvas)
    assert rows_of(written.path)[1][column] == "4"
    assert written.waits is is_new
    assert any("Canvas creates a new one for masks" in note for note in written.notes) is is_new


@pytest.mark.parametrize(
    "name",
    ["grace@navy.example", "grace", "S-2", "102", "hoppergrace", "hoppergrace_102"]
    + ["Grace Hopper", "Hopper, Grace", "  GRACE   hopper "],
)
def test_a_student_is_known_by_any_name_that_canvas_uses(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path, name: str
) -> None:
    written = export("canvas", [make_result(name)], tmp_path / "out.csv", canvas)
    assert [row["ID"] for row in rows_of(written.path) if row["Masks (4711)"] == "4"] == ["102"]


def test_namesakes_get_no_grade_and_are_reported(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    canvas.write_text(CANVAS + '"Lovelace, Ada",104,S-4,ada2,One,,,\n', encoding="utf-8")
    results = [make_result("Ada Lovelace"), make_result("grace"), make_result("102")]
    written = export("canvas", results, tmp_path / "out.csv", canvas)
    rows = rows_of(written.path)
    assert {row["ID"] for row in rows if row["Masks (4711)"] == "4"} == {""}
    assert [row["Student"] for row in rows[-3:]] == ["102", "Ada Lovelace", "grace"]
    beginning = "'Ada Lovelace' may be any of 2 people in gradebook.csv: write the number"
    assert any(note.startswith(beginning) for note in written.notes)
    said = "'102', 'grace' may all be 'Hopper, Grace' in gradebook.csv: write the number or login"
    assert any(note.startswith(said) for note in written.notes)


def test_a_student_renamed_in_canvas_is_found_by_number(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    origin = Origin("married", "masks", "Canvas", "married", "102")
    roster = read_roster(canvas)
    found = match(roster, {"married": MASKS}, {"married": origin.names})
    assert [roster.people[row]["ID"] for row in found.students_of] == ["102"]
    elsewhere = replace(origin, platform="Moodle")  # Moodle's numbers differ in each assignment
    assert not match(roster, {"married": MASKS}, {"married": elsewhere.names}).students_of
    canvas.write_text(CANVAS.replace("S-1", "102"), encoding="utf-8")  # not a number of Canvas
    found = match(roster, {"married": MASKS}, {"married": origin.names})
    assert [roster.people[row]["ID"] for row in found.students_of] == ["102"]


def test_an_identifier_counts_before_a_name(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    canvas.write_text(CANVAS + '"Ada, Else",104,ada lovelace,e,One,,,\n', encoding="utf-8")
    written = export("canvas", [make_result("Ada Lovelace")], tmp_path / "out.csv", canvas)
    assert [row["ID"] for row in rows_of(written.path) if row["Masks (4711)"] == "4"] == ["104"]


def test_a_person_with_a_login_only_is_a_person(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    canvas.write_text(CANVAS + ",,,zoe,One,,,\n", encoding="utf-8")
    written = export("canvas", [make_result("zoe")], tmp_path / "out.csv", canvas)
    assert list(rows_of(written.path)[-1].values()) == ["", "", "", "zoe", "One", "4"]


def test_other_points_possible_are_reported(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    canvas.write_text(CANVAS.replace(",6.00,", ",100.00,"), encoding="utf-8")
    (note,) = (
        note
        for note in export("canvas", [make_result("ada")], tmp_path / "out.csv", canvas).notes
        if "points are possible" in note
    )
    assert note.startswith("Masks (4711): 100.00 points are possible in Canvas and 6 here")


def test_two_columns_for_one_assignment_are_refused(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    canvas.write_text(CANVAS.replace("Old work (12)", "masks (12)"), encoding="utf-8")
    with pytest.raises(UserError, match="may both be masks: rename one"):
        export("canvas", [make_result("ada")], tmp_path / "out.csv", canvas)


@pytest.mark.parametrize("name", ["=1+1", "@x", "+1", "-1"])
def test_names_and_cells_of_a_roster_are_never_formulas(
    make_result: Callable[..., SubmissionResult],
    canvas: Path,
    moodle: Path,
    tmp_path: Path,
    name: str,
) -> None:
    canvas.write_text(CANVAS.replace("noether", name), encoding="utf-8")
    moodle.write_text(MOODLE.replace("Emmy Noether", name), encoding="utf-8")
    for kind, roster in (("canvas", canvas), ("moodle", moodle)):
        written = export(kind, [make_result(f"={name}")], tmp_path / f"{kind}.csv", roster)
        plain = export(kind, [make_result(f"={name}")], tmp_path / f"plain-{kind}")
        sheet = plain.path / "masks.csv" if kind == "moodle" else plain.path
        for path in (written.path, sheet):
            with path.open(newline="", encoding="utf-8") as file:
                cells = [cell for row in csv.reader(file) for cell in row if cell != "-"]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_moodle_gets_its_own_worksheet_back_with_grades_and_comments(
    make_result: Callable[..., SubmissionResult], moodle: Path, tmp_path: Path
) -> None:
    results = [make_result("Ada Lovelace"), make_result("zoe")]
    written = export("moodle", results, tmp_path / "out.csv", moodle)
    ada, grace, emmy, zoe = rows_of(written.path)
    header = MOODLE.partition("\n")[0].removeprefix("\ufeff")
    assert list(ada) == header.split(",")
    assert (ada["Identifier"], ada["Grade"]) == ("Participant 70001", "4")
    assert ada["Last modified (submission)"] == "Friday, 2 May 2025, 6:14 PM"
    assert ada["Last modified (grade)"] == "-"  # Moodle compares it with its own value
    assert (
        "masking/mask_scores: 0 of 2. Not right yet. May a token see itself?"
        in (ada["Feedback comments"])
    )
    assert (grace["Grade"], grace["Feedback comments"]) == ("2.50", "see me")
    assert (emmy["Grade"], zoe["Full name"], zoe["Grade"]) == ("", "zoe", "4")
    assert list(lines(written.notes)) == [
        "'Emmy Noether' in worksheet.csv has no result here",
        "'Grace Hopper' in worksheet.csv has no result here",
        "'zoe' is not in worksheet.csv",
    ]


@pytest.mark.parametrize(
    "name", ["Participant 70003", "4003", "emmy@example.org", "emmy", "Emmy Noether_70003"]
)
def test_a_student_is_known_by_any_name_that_moodle_uses(
    make_result: Callable[..., SubmissionResult], moodle: Path, tmp_path: Path, name: str
) -> None:
    written = export("moodle", [make_result(name)], tmp_path / "out.csv", moodle)
    assert rows_of(written.path)[2]["Grade"] == "4"
    assert "Moodle says that the grade of 'Emmy Noether' can't be changed" in written.notes


def test_moodles_comment_has_no_html_of_a_student(
    make_result: Callable[..., SubmissionResult], moodle: Path, tmp_path: Path
) -> None:
    result = make_result("emmy")
    first = result.exercises[0]
    bad = replace(first.questions[1], hint="<script>x</script>\n& more")
    changed = replace(first, questions=(first.questions[0], bad))
    result = replace(result, exercises=(changed, *result.exercises[1:]))
    written = export("moodle", [result], tmp_path / "out.csv", moodle)
    comment = rows_of(written.path)[2]["Feedback comments"]
    assert "&lt;script&gt;x&lt;/script&gt; &amp; more" in comment
    assert comment.replace("<br>", "").count("<") == 0


def test_another_maximum_in_moodle_is_reported_once(
    make_result: Callable[..., SubmissionResult], moodle: Path, tmp_path: Path
) -> None:
    moodle.write_text(MOODLE.replace(",6.00,", ",100.00,"), encoding="utf-8")
    results = [make_result("Ada Lovelace"), make_result("Grace Hopper")]
    notes = export("moodle", results, tmp_path / "out.csv", moodle).notes
    assert [note for note in notes if note.startswith("the maximum grade is 100.00")] == [
        "the maximum grade is 100.00 in Moodle and 6 here: change it there; otherwise, the "
        "grades mean something different"
    ]


def test_a_worksheet_is_for_one_assignment(
    make_result: Callable[..., SubmissionResult], moodle: Path, tmp_path: Path
) -> None:
    results = [make_result("emmy"), make_result("emmy", assignment="other")]
    with pytest.raises(UserError, match="masks, other: choose one with --assignment"):
        export("moodle", results, tmp_path / "out", moodle)
    written = export("moodle", results, tmp_path / "out")
    assert sorted(path.name for path in written.path.iterdir()) == ["masks.csv", "other.csv"]
    assert "no identifiers" in written.notes[0]


def test_separators_and_line_ends_of_other_countries_are_read(
    make_result: Callable[..., SubmissionResult], canvas: Path, tmp_path: Path
) -> None:
    text = 'Student;ID;SIS User ID;SIS Login ID;Section\r\n"Lovelace; Ada";101;;ada;"a, b"\r\n'
    canvas.write_bytes(b"\xef\xbb\xbf" + text.encode())
    written = export("canvas", [make_result("ada")], tmp_path / "out.csv", canvas)
    assert rows_of(written.path)[1]["ID"] == "101"
    assert rows_of(written.path)[1]["Masks"] == "4"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "its columns are: none"),
        (b"Name,Mail\nada,a@b\n", "its columns are: Name, Mail"),
        (b"Student\xfc,ID\n", "save it as 'CSV UTF-8'"),
    ],
)
def test_a_wrong_roster_is_refused_with_the_expected_form(
    make_result: Callable[..., SubmissionResult],
    canvas: Path,
    tmp_path: Path,
    content: bytes,
    problem: str,
) -> None:
    canvas.write_bytes(content)
    with pytest.raises(UserError, match=problem):
        export("canvas", [make_result()], tmp_path / "out.csv", canvas)


def test_wrong_platform_tables_and_formats_without_rosters_are_refused(
    make_result: Callable[..., SubmissionResult], canvas: Path, moodle: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="is a table from Moodle, but this format is for Canvas"):
        export("canvas", [make_result()], tmp_path / "out.csv", moodle)
    with pytest.raises(UserError, match="'junit' does not use a roster; these do: canvas, mo"):
        export("junit", [make_result()], tmp_path / "out.xml", canvas)


#: the same kind of worksheet as German and French Moodle export it
OTHER_LANGUAGES = {
    "german": (
        "ID;Vollständiger Name;E-Mail-Adresse;Status;Bewertung;Bestwertung;Bewertung kann "
        "geändert werden;Zuletzt geändert (Abgabe);Zuletzt geändert (Bewertung);"
        "Feedback als Kommentar\n"
        "Teilnehmer/in70001;Ada Lovelace;ada@example.org;Zur Bewertung abgegeben;;6,00;Ja;"
        "Freitag, 2. Mai 2025, 18:14;-;\n"
        "Teilnehmer/in70002;Grace Hopper;grace@example.org;Keine Abgabe;2,50;6,00;Ja;-;"
        "Montag, 5. Mai 2025, 09:00;siehe unten\n"
    ),
    "without_comments": (
        "Identifiant,Nom complet,Numéro,Adresse de courriel,Statut,Note,Note maximale,"
        "La note peut être modifiée,Dernière modification (travail remis),"
        "Dernière modification (note)\n"
        "Participant 70001,Ada Lovelace,4001,ada@example.org,Remis,,6.00,Oui,"
        '"vendredi 2 mai 2025, 18:14",-\n'
        "Participant 70002,Grace Hopper,4002,grace@example.org,Aucun,2.50,6.00,Oui,-,"
        '"lundi 5 mai 2025, 09:00"\n'
    ),
}


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_a_worksheet_in_another_language_keeps_its_own_headings(
    make_result: Callable[..., SubmissionResult], tmp_path: Path, language: str
) -> None:
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(OTHER_LANGUAGES[language], encoding="utf-8")
    separator = ";" if language == "german" else ","
    with worksheet.open(encoding="utf-8", newline="") as file:
        before = list(csv.reader(file, delimiter=separator))
    written = export("moodle", [make_result("Ada Lovelace_70001")], tmp_path / "out.csv", worksheet)
    with written.path.open(encoding="utf-8", newline="") as file:
        headings, ada, grace = csv.reader(file)
    grade = headings.index("Bewertung" if language == "german" else "Note")
    assert headings[: len(before[0])] == before[0]
    assert ada[: grade + 1] == [*before[1][:grade], "4"]
    assert ada[grade + 1 : len(before[0]) - 1] == before[1][grade + 1 : -1]
    assert "2 of 2" in ada[-1]
    assert grace[: len(before[0])] == before[2]


# Moodle writes the column after the status; other tables may have it at the end
@pytest.mark.parametrize(
    ("heading", "place", "text"),
    [("Group", 11, MOODLE), ("Group", 5, MOODLE), ("Gruppe", 4, OTHER_LANGUAGES["german"])],
)
def test_all_members_of_a_group_get_its_grade(
    make_result: Callable[..., SubmissionResult],
    tmp_path: Path,
    heading: str,
    place: int,
    text: str,
) -> None:
    separator = ";" if heading == "Gruppe" else ","
    table = list(csv.reader(text.replace(",No,", ",Yes,").splitlines(), delimiter=separator))
    for number, row in enumerate(table):
        row.insert(place, "Blue Team" if number else heading)
    worksheet = tmp_path / "worksheet.csv"
    with worksheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(table)
    written = export("moodle", [make_result("Blue Team_77")], tmp_path / "out.csv", worksheet)
    assert not [note for note in written.notes if "maximum" not in note]
    rows = rows_of(written.path)
    assert [row.get("Grade") or row.get("Bewertung") for row in rows] == ["4"] * len(rows)
    assert {row[heading] for row in rows} == {"Blue Team"}


def test_a_table_of_another_kind_is_not_a_worksheet(tmp_path: Path) -> None:
    table = tmp_path / "rooms.csv"
    table.write_text("Room,Who,Where,Seats,Free,Open\nRoom 1,a,b,3,3,Yes\nHall 2,a,b,3,3,Yes\n")
    with pytest.raises(UserError, match="its columns are: Room, Who"):
        export("moodle", [], tmp_path / "out.csv", table)


def test_people_and_times_of_a_german_worksheet(tmp_path: Path) -> None:
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(OTHER_LANGUAGES["german"], encoding="utf-8")
    people = write_roster(tmp_path, worksheet).people
    assert [(p.student, p.name, p.number) for p in people] == [
        ("ada@example.org", "Ada Lovelace", "Participant 70001"),
        ("grace@example.org", "Grace Hopper", "Participant 70002"),
    ]
    times = read_times(worksheet, ZoneInfo("Europe/Berlin"))
    assert times.times == (datetime(2025, 5, 2, 16, 14, tzinfo=UTC), None)
    assert times.notes == ()
    with pytest.raises(UserError, match="has no time zone"):
        read_times(worksheet, None)


def test_times_in_an_unknown_language_are_unknown(tmp_path: Path) -> None:
    worksheet = tmp_path / "worksheet.csv"
    text = OTHER_LANGUAGES["german"].replace("2. Mai 2025", "2. Maius 2025")
    worksheet.write_text(text, encoding="utf-8")
    times = read_times(worksheet, ZoneInfo("Europe/Berlin"))
    assert times.times == (None, None)
    assert "Freitag, 2. Maius 2025" in times.notes[0]


def test_many_people_only_in_one_list_are_one_note(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = "".join(f"Participant {n},Person {n},\n" for n in range(30))
    sheet.write_text(f"Identifier,Full name,Grade\n{rows}")
    notes = match(read_roster(sheet), {"Person 7": MASKS}).notes
    assert len(notes) == 1
    assert notes[0].startswith("29 people in sheet.csv have no result here: 'Person 0', 'Person 1'")
    assert notes[0].endswith("and 19 more")
    strangers = match(
        read_roster(sheet), dict.fromkeys((f"Somebody {n}" for n in range(12)), MASKS)
    ).notes
    assert strangers[0].startswith("12 students are not in sheet.csv: 'Somebody 0', 'Somebody 1'")
    assert strangers[0].endswith("and 2 more")
