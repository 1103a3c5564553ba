"""Any platform's list of people is matched with the class without losing people or entries."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.classroom import Person, RosterChange, Selection, read_roster
from autograder.classroom.people_lists import write_roster
from autograder.cli import cli
from autograder.errors import UserError

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section\n"
    "    Points Possible,,,,\n"
    '"Lovelace, Ada",101,S-1,ada1,Tutorial A\n'
    '"Müller, Anna",102,S-2,amueller,Tutorial A and Tutorial B\n'
    '"Müller, Anna",103,S-3,amuller2,Tutorial B\n'
)


def bring(folder: Path, text: str, encoding: str = "utf-8") -> RosterChange:
    source = folder / "list.csv"
    source.write_bytes(text.encode(encoding))
    return write_roster(folder / "course", source)


def people(folder: Path) -> dict[str, Person]:
    return {person.student: person for person in read_roster(folder / "course").people}


@pytest.mark.parametrize(
    "text",
    [
        "First name,Last name,Email address,Groups\nAda,Lovelace,ada@uni.example,Red; Blue\n",
        "Vorname;Nachname;E-Mail-Adresse;Gruppen\nAda;Lovelace;ada@uni.example;Red, Blue\n",
        "STUDENT,Name,E-Mail,Group\nada@uni.example,Ada Lovelace,ada@uni.example,Red;Blue\n",
    ],
    ids=["moodle", "german", "by hand"],
)
def test_columns_are_recognized_in_any_case_split_or_in_german(text: str, tmp_path: Path) -> None:
    bring(tmp_path, text)
    assert people(tmp_path) == {
        "ada@uni.example": Person(
            "ada@uni.example", "Ada Lovelace", "ada@uni.example", group="Red; Blue"
        )
    }


def test_german_columns_and_units_of_time_are_recognized(tmp_path: Path) -> None:
    text = (
        "Kennung,Vor- und Nachname,Mailadresse,Kurs,Zeitzuschlag,TA,Notiz\n"
        "ada1,Ada King,ada@uni.example,Monday,1d,tom,x\n"
    )
    change = bring(tmp_path, text)
    assert change.unused == ("Notiz",)
    ada = Person("ada1", "Ada King", "ada@uni.example", "Monday", "1d", grader="tom", login="ada1")
    assert people(tmp_path) == {"ada1": ada}


@pytest.mark.parametrize(
    ("heading", "cell", "time"),
    [
        ("Zeitverlängerung", "2d", timedelta(days=2)),
        ("Extra Zeit", "36h", timedelta(hours=36)),
        ("extra time (days)", "1.5", timedelta(hours=36)),
        ("Zeitverlängerung in Tagen", "1,5", timedelta(hours=36)),
        ("Extra_Time_Hours", "3", timedelta(hours=3)),
        ("Zeitzuschlag (Minuten)", "2h", timedelta(hours=2)),
    ],
)
def test_extra_time_is_read_from_headings_with_units(
    heading: str, cell: str, time: timedelta, tmp_path: Path
) -> None:
    change = bring(tmp_path, f'student,Abschnitt,{heading}\nada,A,"{cell}"\n')
    (ada,) = change.people
    assert (ada.extra, ada.section, change.unused) == (time, "A", ())


def test_the_commands_name_columns_that_were_not_used(tmp_path: Path) -> None:
    table = tmp_path / "list.csv"
    table.write_text("student,Nachteilsausgleich,name\nada,1d,Ada King\n")
    work = tmp_path / "all" / "ada" / "simplified_attention"
    work.mkdir(parents=True)
    (work / "scores.py").write_text("1")
    course = str(tmp_path / "course")
    for command in (
        ["roster", course, str(table)],
        ["collect", str(work.parent.parent), "--into", course, "--roster", str(table)],
    ):
        root = str(Path(__file__).resolve().parents[3])
        done = CliRunner().invoke(cli, [*command, "--course", root], catch_exceptions=False)
        assert "note: columns that were not used: 'Nachteilsausgleich'\n" in done.output


def test_another_platforms_list_adds_data_and_removes_none(tmp_path: Path) -> None:
    bring(tmp_path, CANVAS)
    bring(tmp_path, "student,extra_time,grader\nada1,1d,tom\n")
    change = bring(
        tmp_path,
        "identifier,github_username,github_id,name\n"
        "ada1@uni.example,ada-l,1,Ada Lovelace\namuller2@uni.example,am2,2,Anna Müller\n",
    )
    assert change.added == ()
    assert change.not_in_list == ("amueller",)
    found = people(tmp_path)
    ada = found["ada1"]
    assert (ada.name, ada.email, ada.number, ada.sis_id) == (
        *("Ada Lovelace", "ada1@uni.example", "101", "S-1"),
    )
    assert (ada.section, ada.extra_time, ada.grader) == ("Tutorial A", "1d", "tom")
    assert found["amueller"].email == ""
    assert found["amuller2"].email == "amuller2@uni.example"


def test_two_people_with_one_name_remain_separate(tmp_path: Path) -> None:
    bring(tmp_path, CANVAS)
    change = bring(tmp_path, "name,email\nAnna Müller,anna@uni.example\n")
    assert change.added == ("anna@uni.example",)
    assert len(change.people) == 4
    (doubt,) = change.doubts
    assert "'Anna Müller' (anna@uni.example) may be 'amueller' or 'amuller2'" in doubt


def test_moodles_number_for_one_assignment_replaces_no_other_number(tmp_path: Path) -> None:
    bring(tmp_path, CANVAS)
    bring(
        tmp_path, "Identifier,Full name,Email address\nParticipant 7,Ada Lovelace,ada@u.example\n"
    )
    ada = people(tmp_path)["ada1"]
    assert (ada.number, ada.email) == ("101", "ada@u.example")


def test_one_name_with_two_addresses_is_reported_not_decided(tmp_path: Path) -> None:
    bring(tmp_path, "name,email\nAda Lovelace,ada@uni.example\n")
    change = bring(tmp_path, "name,email\nAda Lovelace,ada@home.example\n")
    assert change.added == ("ada@home.example",)
    (doubt,) = change.doubts
    assert "'Ada Lovelace' (ada@home.example) may be 'ada@uni.example'" in doubt


def test_one_name_with_two_university_numbers_is_reported(tmp_path: Path) -> None:
    bring(tmp_path, "student,name,sis_id\nada1,Ada Lovelace,S-1\n")
    change = bring(tmp_path, "student,name,sis_id\nalovelace,Ada Lovelace,S-2\n")
    assert change.added == ("alovelace",)
    (doubt,) = change.doubts
    assert "'Ada Lovelace' (alovelace) may be 'ada1'" in doubt
    assert people(tmp_path)["ada1"].sis_id == "S-1"


def test_a_teacher_is_not_a_student(tmp_path: Path) -> None:
    change = bring(
        tmp_path,
        "First Name,Last Name,SID,Email,Role\n"
        "Ada,Lovelace,1,ada@x.example,Student\nTom,Tutor,,tom@x.example,TA\n"
        "Ina,Structor,,ina@x.example,Instructor\n",
    )
    assert [person.name for person in change.people] == ["Ada Lovelace"]
    assert change.staff == ("Tom Tutor", "Ina Structor")


def test_somebody_in_two_sections_belongs_to_both(tmp_path: Path) -> None:
    bring(tmp_path, CANVAS)
    anna = people(tmp_path)["amueller"]
    assert anna.section == "Tutorial A; Tutorial B"
    for section, fits in (("Tutorial A", True), ("Tutorial B", True), ("Tutorial", False)):
        assert Selection(section=section).fits(anna) is fits


def test_two_columns_of_sections_are_kept_and_replaced_ones_reported(
    tmp_path: Path,
) -> None:
    bring(tmp_path, CANVAS)
    change = bring(
        tmp_path,
        "First Name,Last Name,SID,Email,Role,Section,Section 2\n"
        "Ada,Lovelace,S-1,ada@uni.example,Student,Lecture,Lab 3\n",
    )
    assert people(tmp_path)["ada1"].section == "Lecture; Lab 3"
    assert (change.updated, change.replaced) == (("ada1",), ("section",))


def test_a_group_is_not_a_section_and_can_be_selected(tmp_path: Path) -> None:
    bring(tmp_path, "student,section,group\nada,Monday,Red\n")
    ada = people(tmp_path)["ada"]
    assert (ada.section, ada.group) == ("Monday", "Red")
    assert Selection(section="Red").fits(ada)


def test_a_list_in_another_encoding_says_what_to_do(tmp_path: Path) -> None:
    bring(tmp_path, CANVAS, "utf-16")
    assert len(people(tmp_path)) == 3
    with pytest.raises(UserError, match="not valid UTF-8"):
        bring(tmp_path, CANVAS, "cp1252")


def test_a_name_in_another_order_is_likely_but_not_certain(tmp_path: Path) -> None:
    bring(tmp_path, "student,name\n4713,Jürgen Müller\n1,Chen Wei\n2,Wei Chen\n")
    roster = read_roster(tmp_path / "course")
    assert roster.person("Müller Jürgen") is None
    found = roster.namesake("Müller Jürgen")
    assert found is not None and found.student == "4713"
    assert roster.namesake("chen wei") is None


def test_rows_of_one_person_in_two_sections_are_joined(tmp_path: Path) -> None:
    rows = "Student Name,Student ID,Email,Section,Group\n"
    bring(tmp_path, rows + "Zoë,12,z@u.example,A,X\nZoë,12,,B,X\nBo,13,b@u.example,A,\n")
    zoe = people(tmp_path)["12"]
    assert (zoe.name, zoe.email, zoe.section, zoe.group) == ("Zoë", "z@u.example", "A; B", "X")
    assert set(people(tmp_path)) == {"12", "13"}
    with pytest.raises(UserError, match="'Bo' and 'Cy' both have '13'"):
        bring(tmp_path, rows + "Bo,13,b@u.example,A,\nCy,13,,A,\n")
