"""The class folder's own tables record people and decisions, and never lose a row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autograder.classroom import (
    EVERYTHING,
    Allowances,
    Origin,
    Person,
    Roster,
    grant_extension,
    lateness,
    read_extensions,
    read_origins,
    read_roster,
    read_withdrawals,
    withdraw,
    write_origins,
    write_roster,
)
from autograder.deadlines import parse_duedate
from autograder.errors import UserError

LISTS = {
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,Masks (4711)\n"
        ",,,,,Manual Posting\n    Points Possible,,,,,6\n"
        '"Lovelace, Ada",101,S-1,ada@uni.example,"Section, one",\n'
        '"Student, Test",9,,x,,\n',
        Person(
            *("ada@uni.example", "Lovelace, Ada", "ada@uni.example", "Section, one", "", "101"),
            login="ada@uni.example",
            sis_id="S-1",
        ),
    ),
    "moodle": (
        "\ufeffIdentifier;Full name;Email address;Status;Grade\n"
        "Participant 70001;Ada Lovelace;ada@uni.example;-;\n",
        Person("ada@uni.example", "Ada Lovelace", "ada@uni.example", number="Participant 70001"),
    ),
    "github": (
        '"identifier","github_username","github_id","name"\n"ada","octo","1","Ada L"\n',
        Person("ada", "Ada L", git_login="octo"),
    ),
    "own": (
        "student,name,email,section,extra_time\nada,Ada L,ada@uni.example,B,25h\n",
        Person("ada", "Ada L", "ada@uni.example", "B", "25h"),
    ),
}


@pytest.mark.parametrize("kind", LISTS)
def test_any_platforms_list_makes_the_roster(kind: str, tmp_path: Path) -> None:
    text, person = LISTS[kind]
    (tmp_path / "list.csv").write_text(text, encoding="utf-8")
    change = write_roster(tmp_path / "class", tmp_path / "list.csv")
    assert change.people == (person,)
    assert change.added == (person.student,)
    assert read_roster(tmp_path / "class").people == (person,)


def test_a_new_list_keeps_extra_time_and_reports_changes(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("student,extra_time\nada,2d\nben,\n")
    write_roster(tmp_path, path)
    path.write_text("student,section\nada,B\nchiara,A\n")
    change = write_roster(tmp_path, path)
    assert (change.added, change.not_in_list) == (("chiara",), ("ben",))
    assert [person.student for person in change.people] == ["ada", "ben", "chiara"]
    assert change.people[0].extra == timedelta(days=2)


def test_a_list_without_names_removes_no_names(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("student,name,email,section\nada,Ada L,a@b.example,B\nben,Ben B,,A\n")
    write_roster(tmp_path, path)
    path.write_text("student,section\nada,C\nben,\n")
    write_roster(tmp_path, path)
    ada, ben = read_roster(tmp_path).people
    assert (ada.name, ada.email, ada.section) == ("Ada L", "a@b.example", "C")
    assert (ben.name, ben.section) == ("Ben B", "A")  # a later list does not empty cells


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "not a list of people"),
        ("student\nada\nada\n", "twice"),
        ("student,extra_time\nada,soon\n", "not a duration"),
        ("", "not a list of people"),
        ('student,name\n"ada,Ada\nben,Ben\n', "a quotation mark in row 2 or above is not closed"),
    ],
)
def test_an_unusable_list_says_why_and_changes_nothing(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(UserError, match=why):
        write_roster(tmp_path, tmp_path / "list.csv")
    assert not (tmp_path / "roster.csv").exists()


NAMES = [
    *("ada", "o'brien", "'t Hooft", "=cmd|calc", "-1", "+49 30", "@sum", "'=x", "''=x", '"q", c'),
    *("学生", "Zoë\tNg", "a\nb", " leading"),
]


def test_every_name_and_reason_is_read_back_unchanged(tmp_path: Path) -> None:
    for name in NAMES:
        grant_extension(tmp_path, (name, "masks"), timedelta(days=1), f"because of {name}")
    assert set(read_extensions(tmp_path)) == {(name, "masks") for name in NAMES}
    text = (tmp_path / "extensions.csv").read_text(encoding="utf-8")
    assert not any(line.startswith(("=", "+", "-", "@")) for line in text.splitlines())


def test_the_last_extension_counts_and_earlier_ones_are_kept(tmp_path: Path) -> None:
    for days in (2, 3):
        grant_extension(tmp_path, ("ada", "masks"), timedelta(days=days), f"{days} days")
    assert read_extensions(tmp_path) == {("ada", "masks"): timedelta(days=3)}
    assert len((tmp_path / "extensions.csv").read_text().splitlines()) == 3


def test_no_extension_is_lost_where_many_are_granted_at_once(tmp_path: Path) -> None:
    def grant(number: int) -> None:
        grant_extension(tmp_path, (f"s{number}", "masks"), timedelta(hours=1), "flu")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(grant, range(40)))
    assert len(read_extensions(tmp_path)) == 40


def test_a_withdrawal_requires_a_reason_and_can_be_undone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="why"):
        withdraw(tmp_path, ("ada", "masks"), "  ")
    withdraw(tmp_path, ("ada", "masks"), "left the course")
    assert read_withdrawals(tmp_path).why(("ada", "masks")) == "left the course"
    withdraw(tmp_path, ("ada", "masks"), "came back", is_back=True)
    assert ("ada", "masks") not in read_withdrawals(tmp_path)


def test_one_withdrawal_covers_all_work_until_a_newer_decision(
    tmp_path: Path,
) -> None:
    withdraw(tmp_path, ("ada", EVERYTHING), "left the course")
    found = read_withdrawals(tmp_path)
    assert ("ada", "masks") in found
    assert found.has_left("ada")
    assert ("ben", "masks") not in found
    withdraw(tmp_path, ("ada", "masks"), "this one counts", is_back=True)
    assert ("ada", "masks") not in read_withdrawals(tmp_path)
    assert ("ada", "other") in read_withdrawals(tmp_path)


def test_a_newer_origin_replaces_the_earlier_one(tmp_path: Path) -> None:
    write_origins(tmp_path, [Origin("ada", "masks", "Canvas", mark="late"), Origin("b", "masks")])
    write_origins(tmp_path, [Origin("ada", "masks", "Canvas", number="7")])
    assert read_origins(tmp_path)["ada", "masks"] == Origin("ada", "masks", "Canvas", number="7")
    assert ("b", "masks") in read_origins(tmp_path)


def test_a_table_of_something_else_is_reported(tmp_path: Path) -> None:
    (tmp_path / "extensions.csv").write_text("a;b\n1;2\n")
    with pytest.raises(UserError, match=r"extensions\.csv: expected the columns student"):
        read_extensions(tmp_path)
    (tmp_path / "extensions.csv").write_text("student,assignment,decision\nada,masks,soon\n")
    with pytest.raises(UserError, match=r"extensions\.csv: 'soon' is not a duration"):
        read_extensions(tmp_path)


PEOPLE = Roster(
    [
        Person("ada@uni.example", "Lovelace, Ada", number="101"),
        Person("ob", "O'Brien, Seán"),
        Person("m1", "Müller, Eva", number="7"),
        Person("m2", "Müller, Eva", number="8"),
        Person("li", "李, 小龙"),
    ]
)


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ada@uni.example", "ada@uni.example"),
        ("lovelaceada", "ada@uni.example"),
        ("Ada Lovelace", "ada@uni.example"),
        ("ada", "ada@uni.example"),
        ("Participant 101", "ada@uni.example"),
        ("Seán OBrien", "ob"),
        ("obrienseán", "ob"),
        ("Eva Müller_8", "m2"),
        ("müllereva_7", "m1"),
        ("小龙 李", "li"),
        ("李小龙", "li"),
        ("Eva Müller", None),
        ("somebody", None),
        ("", None),
    ],
)
def test_people_are_found_by_a_platforms_form_of_the_name(name: str, student: str | None) -> None:
    person = PEOPLE.person(name)
    assert (person.student if person else None) == student


def test_a_possible_match_does_not_count_as_missing() -> None:
    missing = PEOPLE.without(["lovelaceada", "Eva Müller"])
    assert [person.student for person in missing] == ["ob", "li"]


def test_an_unknown_time_is_never_late() -> None:
    due = datetime(2026, 5, 1, 11)
    assert not lateness(None, due).is_late
    assert not lateness(due, None).is_late
    assert lateness(due + timedelta(minutes=61), due).text == "1 h 1 min"
    marked = lateness(None, due, is_marked=True)
    assert (marked.is_late, marked.late, marked.text) == (True, None, "by an unknown amount")
    assert not lateness(due, due, is_marked=True).is_late


def test_grace_extra_time_and_extension_add_up() -> None:
    due = parse_duedate("2026-05-01 UTC")
    roster = Roster([Person("ada", extra_time="1d"), Person("ben")])
    allowances = Allowances(roster, {("ada", "masks"): timedelta(hours=2)})
    assert allowances.of("ada", "masks", due) == timedelta(days=1, hours=2)
    assert allowances.of("ada", "other", due) == timedelta(days=1)
    assert allowances.of("ben", "masks", due) is None


def test_a_list_saved_as_unicode_text_is_read(tmp_path: Path) -> None:
    source = tmp_path / "people.txt"
    source.write_bytes("student\tname\r\nada\tZoë 李\r\n".encode("utf-16"))
    made = write_roster(tmp_path / "course", source)
    assert made.people == (Person("ada", "Zoë 李"),)


def test_a_list_in_an_unknown_encoding_says_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    with pytest.raises(UserError, match="does not exist"):
        write_roster(tmp_path, source)
    source.write_bytes(b"PK\x03\x04 a workbook of Excel")
    with pytest.raises(UserError, match="a spreadsheet or an archive"):
        write_roster(tmp_path, source)
    source.write_bytes("student,name\nada,Zoë\n".encode("latin-1"))
    with pytest.raises(UserError, match="save it as 'CSV UTF-8'"):
        write_roster(tmp_path, source)
