"""The commands for lateness, extensions, missing work and withdrawals work together in a class."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

import autograder
from autograder.cli import cli
from autograder.course import Course, load_course
from autograder.errors import ContentError
from autograder.grading.run import RunReport
from autograder.grading.sources import RunOptions
from autograder.nbgrader import class_lateness, prepare_class_folder, record, take_late_days
from autograder.operations.courses import Courses, class_course
from autograder.operations.outcome import class_outcome
from autograder.records import SubmissionResult
from autograder.submission import FoundSubmissions

DUE = "2026-05-01 12:00 Europe/Berlin"
#: the platform's times of submission; zoe has none
TIMES = {"ada": "2026-05-01 09:00:00 UTC", "ben": "2026-05-01 11:30:00 UTC"}
ROSTER = """\
student,name,section,grader,extra_time
ada,Ada L,A,tim,
ben,Ben B,A,uli,
zoe,Zoe Z,B,tim,
emil,Emil E,B,uli,1d
"""


class Term:
    """A class in which late work gets no points."""

    def __init__(self, course: Course, make_result: Callable[..., SubmissionResult]) -> None:
        self.course = course
        self.folder = course.root / "course"
        self.results = [make_result(name) for name in ("ada", "ben", "zoe")]
        settings = prepare_class_folder(course, self.folder)
        text = settings.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
        settings.write_text(text)
        for name in ("ada", "ben", "zoe"):
            place = self.folder / "submitted" / name / "masks"
            place.mkdir(parents=True)
            (place / "masking.py").write_text("")
            if name in TIMES:
                (place / "timestamp.txt").write_text(TIMES[name])
        (self.folder / "roster.csv").write_text(ROSTER)
        lines = "".join(json.dumps(result.to_json()) + "\n" for result in self.results)
        (self.folder / "results.jsonl").write_text(lines)
        record(course, self.folder, self.results)

    def call(self, command: str, *options: str) -> Result:
        needs_course = command in {"roster", "extend", "withdraw", "feedback"}
        course = ("--course", str(self.course.root)) if needs_course else ()
        first = ("csv",) if command == "export" else ()
        arguments = [command, *first, str(self.folder), *options, *course]
        return CliRunner().invoke(cli, arguments, standalone_mode=False)

    def grades(self, *options: str) -> dict[str, dict[str, str]]:
        """Returns the rows of the exported table, keyed by student."""
        assert self.call("export", *options).return_value == 0
        with (self.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    def scores(self) -> dict[str, float]:
        """Returns nbgrader's own scores."""
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}") as gradebook:
            found = gradebook.assignment_submissions("masks")
            return {s.student.id: s.score - s.late_submission_penalty for s in found}


@pytest.fixture
def term(
    make_course: Callable[..., Course], make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> Term:
    return Term(make_course(tmp_path / "term", duedate=DUE), make_result)


def test_lateness_is_a_column(term: Term) -> None:
    rows = term.grades()
    assert {name: row["masks/late"] for name, row in rows.items()} == {
        "ada": "", "ben": "1 h 30 min", "zoe": "", "emil": "",
    }  # fmt: skip
    assert rows["ben"]["masks/submitted"] == "2026-05-01 11:30:00 UTC"
    assert (rows["ben"]["masks/total"], rows["ben"]["masks/penalty"]) == ("0.0", "4.0")
    assert rows["zoe"]["masks/submitted"] == ""
    assert term.scores() == {"ada": 4.0, "ben": 0.0, "zoe": 4.0}


def test_an_extension_keeps_its_reason_and_nbgraders_penalty_agrees(term: Term) -> None:
    result = term.call("extend", "ben", "masks", "2h", "--why", "train, late")
    assert "until 2026-05-01 14:00:00 Europe/Berlin" in result.output
    assert term.scores()["ben"] == 4.0
    assert term.grades()["ben"]["masks/late"] == ""
    assert '"train, late"' in (term.folder / "extensions.csv").read_text()
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission("masks", "ben")
        assert submission.extension == timedelta(hours=2)
        assert submission.total_seconds_late == 0
    result = term.call("extend", "ben", "masks", "0", "--why", "was another train")
    assert "ben no longer has an extension for masks, due 2026-05-01 12:00:00" in result.output
    assert term.scores()["ben"] == 0.0


def test_time_that_is_removed_from_the_tables_no_longer_counts(term: Term) -> None:
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        # granted by the instructor with nbgrader, so it must be kept
        gradebook.grant_extension("masks", "zoe", minutes=60)
    roster = term.folder / "roster.csv"
    roster.write_text(ROSTER.replace("ben,Ben B,A,uli,", "ben,Ben B,A,uli,1d"))
    record(term.course, term.folder, term.results)
    assert term.scores()["ben"] == 4.0
    roster.write_text(ROSTER)
    for _ in range(2):
        record(term.course, term.folder, term.results)
        assert term.scores()["ben"] == 0.0
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission("masks", "zoe").extension == timedelta(hours=1)
        assert gradebook.find_submission("masks", "ben").extension is None


def test_an_extension_names_kept_work_that_is_in_time(term: Term) -> None:
    (term.folder / "class.toml").write_text('counts = "last in time"\n')
    kept = term.folder / "earlier" / "ada" / "masks"
    for name, day in (("old", "2026-04-30"), ("new", "2026-05-02"), ("too late", "2026-05-09")):
        (kept / name).mkdir(parents=True)
        (kept / name / "timestamp.txt").write_text(f"{day} 09:00:00 UTC")
    result = term.call("extend", "ada", "masks", "1h", "--why", "ill")
    assert (result.return_value, "is on time now" in result.output) == (0, False)
    result = term.call("extend", "ada", "masks", "2d", "--why", "ill")
    assert result.return_value == 3
    assert f"{kept / 'new'} is on time now, but does not count yet" in result.output
    assert result.output.count("on time now") == 1


def test_an_extension_granted_before_the_first_grading_counts_then(
    term: Term, make_result: Callable[..., SubmissionResult]
) -> None:
    result = term.call("extend", "emil", "masks", "2h", "--why", "ill")
    assert "1 day 2 h" in result.output  # including the roster's extra time
    place = term.folder / "submitted" / "emil" / "masks"
    place.mkdir(parents=True)
    (place / "timestamp.txt").write_text("2026-05-02 11:59:00 UTC")
    record(term.course, term.folder, [make_result("emil")])
    assert term.scores()["emil"] == 4.0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("benn", "masks", "2h"), "'benn' has submitted nothing.*similar names: 'ben'"),
        (("xyz", "masks", "2h"), "'xyz' has submitted nothing.*roster .* lists the class"),
        (("ben", "masks"), r"missing: DURATION \(or give --from FILE\)"),
        (("ben", "mask", "2h"), "no assignment is called 'mask'"),
        (("ben", "masks", "soon"), "'soon' is not a duration"),
    ],
)
def test_an_extension_that_nobody_could_mean_is_refused(
    term: Term, arguments: tuple[str, ...], why: str
) -> None:
    result = term.call("extend", *arguments, "--why", "x")
    assert result.exception is not None
    with pytest.raises(type(result.exception), match=why):
        raise result.exception
    assert not (term.folder / "extensions.csv").exists()


def test_a_name_of_several_people_is_refused_with_their_identifiers(term: Term) -> None:
    (term.folder / "roster.csv").write_text("student,name\n7,Eva Muster\n8,Eva Muster\n")
    for name in ("Eva Muster", "Muster, Eva"):
        result = term.call("extend", name, "masks", "2h", "--why", "x")
        assert "means several people" in str(result.exception)
        assert str(result.exception).endswith("write '7', '8'")


def test_a_mark_without_a_time_is_shown_and_costs_nothing(term: Term) -> None:
    (term.folder / "collected.csv").write_text("student,assignment,mark\nzoe,masks,late\n")
    record(term.course, term.folder, term.results)
    assert term.grades()["zoe"]["masks/late"] == "by an unknown amount"
    assert term.scores()["zoe"] == 4.0


def test_grace_is_for_everybody(term: Term) -> None:
    settings = term.course.root / "source" / "masks" / "assignment.toml"
    settings.write_text(settings.read_text() + 'grace = "90min"\n')
    from autograder.course import load_course

    record(load_course(term.course.root), term.folder, term.results)
    assert term.scores()["ben"] == 4.0
    assert term.grades()["ben"]["masks/late"] == ""


def test_the_due_date_is_shown_as_understood_before_grading(term: Term) -> None:
    from autograder.classroom import lateness_lines

    keys = [("ada", "masks"), ("ben", "masks"), ("zoe", "masks")]
    found = class_lateness(term.folder, keys, term.course.assignments)
    assert lateness_lines(term.course.assignments, found) == (
        "masks is due Friday, 2026-05-01 12:00:00 Europe/Berlin; 1 of 3 is late; 1 has no known "
        "time and does not count as late",
        "late for masks: ben by 1 h 30 min",
    )


def test_other_due_dates_are_shown_with_the_number_of_submissions(term: Term) -> None:
    from autograder.classroom import lateness_lines

    (term.folder / "roster.csv").write_text("student,section\nada,B\nzoe,B\n")
    (term.folder / "due.csv").write_text(
        "assignment,section,date\nmasks,B,2026-05-03 12:00 Europe/Berlin\n"
    )
    keys = [("ada", "masks"), ("ben", "masks"), ("zoe", "masks")]
    found = class_lateness(term.folder, keys, term.course.assignments)
    assert (
        "Berlin, or 2026-05-03 12:00:00 Europe/Berlin for 2 of the submissions; 1 of 3 is late"
        in (lateness_lines(term.course.assignments, found)[0])
    )


def test_the_csv_has_everybody_with_name_address_section_and_sum(term: Term) -> None:
    (term.folder / "roster.csv").write_text(
        "student,name,email,section\nada,Ada Lovelace,ada@uni.example,A\n"
        "yan,Yan Ö,yan@uni.example,B\n"
    )
    rows = term.grades()
    ada, ben, yan = rows["ada"], rows["ben"], rows["yan"]
    assert (ada["name"], ada["email"], ada["section"]) == ("Ada Lovelace", "ada@uni.example", "A")
    assert (ada["points"], ada["maximum"]) == (ada["masks/total"], ada["masks/maximum"])
    assert (ben["name"], ben["points"]) == ("", "0.0")  # late work gets no points here
    assert (yan["points"], yan["needs_review"]) == ("", "nothing was submitted")
    assert not (term.folder / "grades.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    autograder.export("excel", term.folder)
    table = (term.folder / "grades.csv").read_bytes()
    assert (term.folder / "grades.excel.csv").read_bytes() == b"\xef\xbb\xbf" + table


def test_extensions_of_a_table_are_all_granted_or_none(term: Term, tmp_path: Path) -> None:
    table = tmp_path / "accommodations.csv"
    table.write_text("student,assignment,extension,why\nben, Masks,2h,ill\nada,,1d,abroad\n")
    assert term.call("extend", "--from", str(table)).return_value == 0
    assert term.grades()["ben"]["masks/late"] == ""
    kept = (term.folder / "extensions.csv").read_text()
    assert "ada,masks,1 day,abroad" in kept
    table.write_text(
        "student,assignment,extension,why\nzoe,masks,2h,ill\nzoe,masks,soon,ill\nzoe,masks,2h,\n"
    )
    result = term.call("extend", "--from", str(table))
    second, third, end = str(result.exception).splitlines()
    assert "accommodations.csv:3: 'soon' is not a duration" in second
    assert "accommodations.csv:4: give a reason" in third
    assert end == "No extension was granted: correct the table first"
    assert (term.folder / "extensions.csv").read_text() == kept


def test_class_dates_and_late_days_reach_csv_and_gradebook(term: Term) -> None:
    (term.folder / "due.csv").write_text(
        "assignment,section,date\nmasks,,2026-05-01 11:00 Europe/Berlin\n"
    )
    record(class_course(term.course.root, term.folder), term.folder, term.results)
    assert term.grades()["ben"]["masks/late"] == "2 h 30 min"
    (term.folder / "class.toml").write_text("late_days = 1\n")
    of_class = class_course(term.course.root, term.folder)
    sentences = take_late_days(term.folder, of_class.assignments)
    assert sentences == ("ben takes 1 late day for masks and has 0 left",)
    record(of_class, term.folder, term.results)
    row = term.grades()["ben"]
    assert (row["masks/late"], row["masks/late_days"]) == ("", "1")
    assert term.scores()["ben"] > 0
    term.call("withdraw", "ben", "masks", "--why", "by mistake")
    assert take_late_days(term.folder, of_class.assignments) == (), (
        "it does not count, so costs no day"
    )
    term.call("withdraw", "ben", "masks", "--why", "it was none", "--back")
    said = term.call("extend", "ben", "masks", "3h", "--why", "ill")  # replaces the late day
    assert "until 2026-05-01 14:00:00 Europe/Berlin" in said.output
    assert "masks/late_days" not in term.grades()["ben"]
    assert term.scores()["ben"] > 0


def test_late_days_begin_after_an_extension_in_the_gradebook(term: Term) -> None:
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        gradebook.grant_extension("masks", "ben", days=1)
    stamp = term.folder / "submitted" / "ben" / "masks" / "timestamp.txt"
    stamp.write_text("2026-05-02 10:30:00 UTC")
    autograder.record(term.folder, course=term.course.root)
    assert term.grades()["ben"]["masks/late"] == "30 min"
    (term.folder / "class.toml").write_text("late_days = 1\n")
    for _ in range(2):
        autograder.record(term.folder, course=term.course.root)
        row = term.grades()["ben"]
        assert (row["masks/late"], row["masks/late_days"]) == ("", "1")
        assert term.scores()["ben"] > 0


def test_extend_says_that_its_end_includes_late_days(term: Term) -> None:
    (term.folder / "class.toml").write_text("late_days = 1\n")
    said = term.call("extend", "ben", "masks", "1h", "--why", "ill").output
    assert "until 2026-05-02 13:00:00" in said and "1 day 1 h after the due date" in said
    assert "late days" in said


@pytest.mark.parametrize("rules", [None, "late_days = 0\n", 'counts = "last"\n'])
def test_late_days_end_with_their_budget(term: Term, rules: str | None) -> None:
    path = term.folder / "class.toml"
    path.write_text("late_days = 1\n")
    autograder.record(term.folder, course=term.course.root)
    assert (term.grades()["ben"]["masks/late"], term.scores()["ben"] > 0) == ("", True)
    path.unlink() if rules is None else path.write_text(rules)
    autograder.record(term.folder, course=term.course.root)
    row = term.grades()["ben"]
    assert row["masks/late"] == "1 h 30 min"
    assert "masks/late_days" not in row
    assert term.scores()["ben"] == 0


def test_grade_gives_late_days_back_with_the_due_date(
    make_course: Callable[..., Course], tmp_path: Path
) -> None:
    course = make_course(tmp_path / "term")
    submitted = course.root / "course" / "submitted"
    submitted.mkdir(parents=True)
    table = course.root / "course" / "late_days.csv"
    table.write_text("student,assignment,days,left\nada,masks,1,0\n")
    none = FoundSubmissions((), ())
    run = RunReport(none, graded=0, failed=0, already_graded=0, tier=None, truncated=None)
    courses = Courses(course, course, None, none, submitted)
    options = RunOptions(submitted, course.root / "course" / "results.jsonl")
    class_outcome(courses, run, options, (), gradebook=True, on_lateness=lambda _: None)
    assert table.read_text() == "student,assignment,days,left\n"


def test_one_assignments_bad_due_date_stops_that_one_only(term: Term, tmp_path: Path) -> None:
    source = tmp_path / "term" / "source"
    (source / "other").mkdir()
    broken = (source / "masks" / "assignment.toml").read_text().replace(DUE, "01.02.2027")
    (source / "other" / "assignment.toml").write_text(broken)
    for exercise in ("masking", "dropout"):
        solution = tmp_path / "term" / "solutions"
        (solution / "other").mkdir(exist_ok=True)
        text = (solution / "masks" / f"{exercise}.py").read_text()
        (solution / "other" / f"{exercise}.py").write_text(text)
    assert term.call("extend", "ben", "masks", "2h", "--why", "ill").return_value == 0
    assert term.call("roster").return_value == 0
    result = term.call("extend", "ben", "other", "2h", "--why", "ill")
    assert "other/assignment.toml: due date" in str(result.exception)
    with pytest.raises(ContentError, match="due date"):
        load_course(tmp_path / "term")


@pytest.mark.parametrize("text", ["01.02.2027", "2027-01-31 23:59", "2027-01-31 23:59 Berlin"])
def test_an_ambiguous_due_date_is_refused_with_the_right_form(
    make_course: Callable[..., Course], tmp_path: Path, text: str
) -> None:
    with pytest.raises(ContentError, match='write duedate = "2027-01-31 23:59 Europe/Berlin"'):
        make_course(tmp_path / "strange", duedate=text)


def test_students_without_a_submission_are_exported_as_chosen(term: Term) -> None:
    assert "masks: 1 of 4 has not submitted: emil" in term.call("roster").output
    assert term.grades()["emil"]["needs_review"] == "nothing was submitted"
    assert term.grades("--missing", "blank")["emil"]["masks/total"] == ""
    assert term.grades("--missing", "zero")["emil"]["masks/total"] == "0"


@pytest.mark.parametrize(
    ("options", "students"),
    [
        (("--section", "A"), {"ada", "ben"}),
        (("--grader", "tim"), {"ada", "zoe"}),
        (("--section", "B", "--missing", "zero"), {"zoe", "emil"}),
    ],
)
def test_an_export_can_be_limited_to_a_section_or_grader(
    term: Term, options: tuple[str, ...], students: set[str]
) -> None:
    assert set(term.grades(*options)) == students


def test_a_section_that_is_not_there_is_reported(term: Term) -> None:
    result = term.call("export", "--section", "C")
    assert "the class's roster has: A, B" in str(result.exception)


def test_a_withdrawn_submission_does_not_count_until_restored(term: Term) -> None:
    term.call("withdraw", "ada", "masks", "--why", "left the course")
    assert "ada" not in term.grades()
    term.call("feedback")
    assert not (term.folder / "feedback" / "ada").exists()
    assert (term.folder / "submitted" / "ada" / "masks").is_dir()
    term.call("withdraw", "ada", "masks", "--back", "--why", "came back")
    assert "ada" in term.grades()
    again = term.call("withdraw", "ada", "masks", "--back", "--why", "came back")
    assert "is not withdrawn, so it already counts" in str(again.exception)


@pytest.mark.parametrize(
    "command",
    [
        ("roster",),
        ("extend", "ada", "masks", "2d", "--why", "ill"),
        ("withdraw", "ada", "masks", "--why", "left"),
    ],
)
def test_a_class_folder_that_is_not_there_is_reported(term: Term, command: tuple[str, ...]) -> None:
    term.folder.rename(term.folder.with_name("elsewhere"))
    result = term.call(*command)
    assert "is not a class folder: there is no such folder" in str(result.exception)
    assert not term.folder.exists()


def test_without_names_nothing_identifies_a_student(term: Term) -> None:
    rows = term.grades("--anonymous")
    assert set(rows) == {"Student 1", "Student 2", "Student 3"}
    assert sorted(row["masks/late"] for row in rows.values()) == ["", "", "1 h 30 min"]
    term.call("report", "--anonymous")
    page = (term.folder / "report.html").read_text(encoding="utf-8")
    assert not any(name in page for name in (">ada<", ">ben<", ">zoe<"))


def test_pages_mail_and_exports_use_the_courses_titles(
    term: Term, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(term.course.root)
    settings = term.course.root / "source" / "masks" / "assignment.toml"
    text, count = re.subn("(?m)^title = .*", 'title = "Look-ahead masks"', settings.read_text())
    assert count == 1
    settings.write_text(text)
    people = (term.folder / "roster.csv").read_text().replace("student,", "student,email,", 1)
    (term.folder / "roster.csv").write_text(people.replace("ada,", "ada,ada@example.org,", 1))
    with (term.folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(term.results[0].to_json()) + "\n")
    assert term.call("feedback", "--for", "mail").return_value == 3
    for command in ("report", "changes"):
        assert term.call(command).return_value == 0
    autograder.export("markdown", term.folder, to=term.folder / "grades.md")
    for name in ("report.html", "changes.html", "grades.md", "feedback.mail/mail.csv"):
        page = (term.folder / name).read_text(encoding="utf-8")
        assert "Look-ahead masks" in page, name
        assert "Masks" not in page, name


def test_the_report_distinguishes_namesakes_who_have_not_submitted(term: Term) -> None:
    with (term.folder / "roster.csv").open("a") as file:
        file.write('eva1,"Muster, Eva",A,tim,\neva2,"Muster, Eva",A,uli,\n')
    term.call("report")
    page = (term.folder / "report.html").read_text(encoding="utf-8")
    names = ("Emil E (emil)", "Muster, Eva (eva1)", "Muster, Eva (eva2)")
    assert "; ".join(f"<bdi>{name}</bdi>" for name in names) in page


def test_a_changed_due_date_changes_no_digest(term: Term) -> None:
    from autograder.course import load_course
    from autograder.grading.secret import suite_digest

    root = term.course.root
    before = suite_digest(term.course.assignments[0])
    settings = root / "source" / "masks" / "assignment.toml"
    settings.write_text(settings.read_text().replace("2026-05-01", "2026-06-01"))
    assert suite_digest(load_course(root).assignments[0]) == before
    settings.write_text(settings.read_text() + "[limits]\ncpu_seconds = 1\n")
    assert suite_digest(load_course(root).assignments[0]) != before


def test_a_due_date_missing_in_the_gradebook_still_prevents_zeros(term: Term) -> None:
    (term.folder / "due.csv").write_text("assignment,section,date\nmasks,,2999-01-01 12:00 UTC\n")
    # without the course, the command knows only the due date in the gradebook
    assert term.grades("--missing", "zero")["emil"]["masks/total"] == "0"
    course = ("--course", str(term.course.root))
    assert term.grades("--missing", "zero", *course)["emil"]["masks/total"] == ""
