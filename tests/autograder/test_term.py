"""A whole term of a made-up class, every total compared with a calculation of its own.

Six assignments come in as Canvas, Moodle, Gradescope and a folder give them; some are late, some
very, one has an extension; one student submits again, one suite is fixed in the middle, one score
is entered by hand, two students wrote the same, one withdraws; grades go back to the platforms.
TERM_STUDENTS says how many students (12; 300 takes some minutes).
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, sync_playwright

import autograder
from autograder.classroom import Selection
from autograder.nbgrader import prepare_class_folder
from autograder.operations.grades import Showing
from autograder.records import Tier
from autograder.results.changes import Cause
from autograder.sandbox.doctor import examine

STUDENTS = int(os.environ.get("TERM_STUDENTS", "12"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
WEEKS = {1: "canvas", 2: "moodle", 3: "gradescope", 4: "canvas", 5: "moodle", 6: "folder"}
DUE = {2: "2026-05-01 12:00 UTC", 3: "2026-06-01 12:00 UTC"}

SOLUTION = '''\
"""Twice a number."""


def double{week}(x: int) -> int:
    """Twice `x`."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
'''
SUITE = """\
import pytest

from autograder.suite import Expect


@pytest.mark.question("double{week}", points=2)
def test_positive(expect: Expect) -> None:
    expect.value("double{week}", [3], 6, likely="three and three")


@pytest.mark.question("double{week}", points={negative})
def test_negative(expect: Expect) -> None:
    expect.value("double{week}", [-3], -6, likely="below zero")
"""
CHECK = """\
import pytest

from autograder.suite import Expect


@pytest.mark.question("double{week}", points=0)
def test_two(expect: Expect) -> None:
    expect.value("double{week}", [2], 4, likely="two and two")
"""
TEXT = "# Twice\n\n```{{code-cell}} ipython3\n:question: double{week}\n```\n"

#: what students write, and whether it passes the positive and the negative test
ANSWERS = {
    "right": ("return x + x", True, True),
    "absolute": ("return 2 * abs(x)", True, False),
    "stub": ("raise NotImplementedError", False, False),
    "unusual": (
        "sign = -1 if x < 0 else 1\n    steps = [sign for _ in range(abs(x)) for _ in (0, 1)]\n"
        "    total = sum(steps, start=0)\n    return total if steps else sign * total",
        True,
        True,
    ),
}


class Term:
    """The class, what everybody wrote, and what each total must be."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "course"
        self.downloads = root / "downloads"
        self.downloads.mkdir(parents=True)
        draw = random.Random(2026)
        kinds = ["right", "right", "absolute", "stub"]
        self.written = {(n, week): draw.choice(kinds) for n in range(STUDENTS) for week in WEEKS}
        self.written[0, 6] = "stub"  # submits again
        self.written[1, 6] = self.written[2, 6] = "unusual"
        self.written[4, 2] = self.written[6, 2] = "right"  # late, and late with an extension
        self.manual: dict[tuple[int, int], float] = {}
        self.withdrawn = {(3, 5)}

    def write_course(self) -> None:
        for week in WEEKS:
            name = f"week{week}"
            self._write(f"source/{name}/double{week}.md", TEXT, week)
            self._write(f"solutions/{name}/double{week}.py", SOLUTION, week)
            self._write(f"tests/public/{name}/test_double{week}.py", CHECK, week)
            self.write_suite(week, negative=2)
            due = f'duedate = "{DUE[week]}"\n' if week in DUE else ""
            settings = f'title = "Week {week}"\nexercises = ["double{week}"]\n{due}'
            (self.root / "source" / name / "assignment.toml").write_text(settings)
        autograder.release(course=self.root)
        config = prepare_class_folder(autograder.load_course(self.root), self.folder)
        text = config.read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
        config.write_text(text)

    def write_suite(self, week: int, negative: int) -> None:
        self._write(f"tests/hidden/week{week}/test_double{week}.py", SUITE, week, negative=negative)

    def _write(self, name: str, text: str, week: int, **more: object) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(week=week, **more))

    def hours_late(self, n: int, week: int) -> int:
        """Hours after the due date; below zero it was before."""
        if week == 2:
            return 2 if n in (4, 6) else 9 * 24 if n % 5 == 3 else -5
        return 30 if week == 3 and n % 7 == 5 else -5

    def answer(self, n: int, week: int) -> str:
        body = ANSWERS[self.written[n, week]][0]
        return f"# number {n}\ndef double{week}(x):\n    {body}\n"

    def expected(self, n: int, week: int) -> float | None:
        """The total of a student, worked out from the story alone; None where it does not count."""
        if (n, week) in self.withdrawn:
            return None
        if self.hours_late(n, week) > 0 and (n, week) != (6, 2):
            return 0.0
        if (n, week) in self.manual:
            return self.manual[n, week]
        _, positive, negative = ANSWERS[self.written[n, week]]
        return 2.0 * positive + (3.0 if week == 1 else 2.0) * negative

    def collect(self, week: int) -> None:
        archive = self.downloads / f"week{week}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for name, text in _ENTRIES[WEEKS[week]](self, week):
                file.writestr(name, text)
        times = self.worksheet(week) if WEEKS[week] == "moodle" and week in DUE else None
        report = autograder.collect(
            [archive], into=self.folder / "submitted", course=self.root,
            assignment=f"week{week}", times=times, zone="UTC" if times else None,
        )  # fmt: skip
        assert len(report.collected) == STUDENTS

    def moment(self, n: int, week: int) -> tuple[int, int]:
        """Day and hour of the month in which it is due."""
        hours = 12 + self.hours_late(n, week)
        return 1 + hours // 24, hours % 24

    def worksheet(self, week: int) -> Path:
        rows = [["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade",
                 "Last modified (submission)"]]  # fmt: skip
        for n in range(STUDENTS):
            day, hour = self.moment(n, week)
            when = f"Friday, {day} May 2026, {hour:02}:00"
            rows.append([f"Participant {n + 100}", name(n), f"s{n}@u.example", "", "", "4", when])
        return self.table(f"worksheet{week}.csv", rows)

    def canvas(self, week: int) -> Path:
        rows = [["Student", "ID", "SIS Login ID", "Section", f"Week{week} ({week})"]]
        rows += [["    Points Possible", "", "", "", "5"]]
        rows += [[last_first(n), str(n + 100), f"login{n}", "A", ""] for n in range(STUDENTS)]
        return self.table(f"canvas{week}.csv", rows)

    def table(self, file: str, rows: list[list[str]]) -> Path:
        path = self.downloads / file
        with path.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows(rows)
        return path

    def grade(self) -> None:
        submitted = self.folder / "submitted"
        report = autograder.grade(submitted, course=self.root, resume=True, jobs=2)
        assert report.run.failed == 0

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """Which student a folder's name is: everybody wrote their number into their files."""
        return {
            path.parent.parent.name: int(path.read_text().split()[2])
            for path in self.folder.glob("submitted/*/week*/double*.py")
        }

    def student(self, n: int, week: int) -> str:
        """The folder's name of a student in a week."""
        (found,) = (
            path.parent.parent.name
            for path in self.folder.glob(f"submitted/*/week{week}/double{week}.py")
            if path.read_text().startswith(f"# number {n}\n")
        )
        return found


def name(n: int) -> str:
    """Names with commas, quotes, umlauts, CJK and apostrophes among them."""
    odd = ["Zoë O'Brien", 'Jo "J" Doe', "小龙 李", "Chiara Müller"]
    return f"{odd[n % 4]} {n}" if n % 3 == 0 else f"Student Number{n}"


def last_first(n: int) -> str:
    first, _, last = name(n).rpartition(" ")
    return f"{last}, {first}"


def _canvas(term: Term, week: int) -> Iterator[tuple[str, str]]:
    for n in range(STUDENTS):
        who = "".join(sign for sign in last_first(n).lower() if sign.isalnum())
        late = "LATE_" if n % 4 == 1 else ""
        yield f"{who}_{late}{n + 100}_{n}77_double{week}.py", term.answer(n, week)


def _moodle(term: Term, week: int) -> Iterator[tuple[str, str]]:
    for n in range(STUDENTS):
        who = name(n).replace('"', "").replace("'", "")
        place = f"{who}_{n + 100}_assignsubmission_file"
        yield f"{place}/double{week}.py", term.answer(n, week)


def _gradescope(term: Term, week: int) -> Iterator[tuple[str, str]]:
    said = {}
    for n in range(STUDENTS):
        day, hour = term.moment(n, week)
        said[f"submission_{n}"] = {
            ":submitters": [{":name": name(n), ":sid": str(n), ":email": f"s{n}@u.example"}],
            ":created_at": f"2026-06-{day:02} {hour:02}:00:00 Z",
        }
        yield f"assignment_4711_export/submission_{n}/double{week}.py", term.answer(n, week)
    yield "assignment_4711_export/submission_metadata.yml", json.dumps(said)


def _folder(term: Term, week: int) -> Iterator[tuple[str, str]]:
    for n in range(STUDENTS):
        yield f"s{n}@u.example/week{week}/double{week}.py", term.answer(n, week)


_ENTRIES: Mapping[str, Callable[[Term, int], Iterator[tuple[str, str]]]] = {
    "canvas": _canvas, "moodle": _moodle, "gradescope": _gradescope, "folder": _folder,
}  # fmt: skip


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    """The class at the end of the term."""
    if not any(examine(tier).works for tier in (Tier.A, Tier.B, Tier.C)):
        pytest.skip("no submission is graded on this machine: see autograder doctor")
    term = Term(tmp_path_factory.mktemp("term"))
    term.write_course()
    for week in WEEKS:
        term.collect(week)
    term.grade()
    assert autograder.class_changes(term.folder).changes == ()
    term.write_suite(1, negative=3)  # a suite is fixed, and given out as it is now
    autograder.release(["week1"], course=term.root)
    term.written[0, 6] = "right"  # a resubmission
    term.collect(6)
    autograder.extend(term.folder, term.student(6, 2), "week2", "3h", "ill", course=term.root)
    autograder.withdraw(term.folder, term.student(3, 5), "week5", "left", course=term.root)
    term.grade()
    with Gradebook(f"sqlite:///{term.folder / 'gradebook.db'}") as gradebook:
        cell = gradebook.find_grade("check_double4", "double4", "week4", term.student(2, 4))
        cell.manual_score = 1.5
        gradebook.db.commit()
    term.manual[2, 4] = 1.5
    return term


def test_every_total_is_that_of_an_independent_calculation(term: Term) -> None:
    written = autograder.export("csv", term.folder)
    found: dict[tuple[int, int], float] = {}
    with written.path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            n = term.number_of[row["student"]]
            found |= {
                (n, week): float(row[f"week{week}/total"])
                for week in WEEKS
                if row[f"week{week}/total"]
            }
    totals = {(n, week): term.expected(n, week) for n in range(STUDENTS) for week in WEEKS}
    assert found == {key: total for key, total in totals.items() if total is not None}


def test_the_fixed_suite_and_the_resubmission_are_told_and_export_says_so(term: Term) -> None:
    assert any("nobody has looked" in note for note in autograder.export("csv", term.folder).notes)
    found = autograder.class_changes(term.folder)
    by_week = {week: [c for c in found.changes if c.assignment == f"week{week}"] for week in WEEKS}
    assert {week: len(own) for week, own in by_week.items()} == {
        1: STUDENTS, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1,
    }  # fmt: skip
    up = [change for change in by_week[1] if change.difference > 0]
    assert len(up) == sum(term.written[n, 1] == "right" for n in range(STUDENTS))
    assert {change.causes for change in by_week[1]} == {(Cause.SUITE, Cause.POINTS)}
    (again,) = by_week[6]
    assert (term.number_of[again.student], again.causes) == (0, (Cause.SUBMISSION,))
    assert (again.before and again.before.points, again.after and again.after.points) == (0.0, 4.0)
    (by_hand,) = found.manual
    assert term.number_of[by_hand.student] == 2
    assert not any("looked" in note for note in autograder.export("csv", term.folder).notes)


@pytest.mark.parametrize("week", [1, 4])
def test_canvas_gets_back_what_everybody_earned(term: Term, week: int) -> None:
    showing = Showing(Selection(assignment=f"week{week}"))
    written = autograder.export("canvas", term.folder, showing=showing, roster=term.canvas(week))
    with written.path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ID"]]
    got = {int(row["ID"]) - 100: float(row[f"Week{week} ({week})"]) for row in rows}
    assert got == {n: term.expected(n, week) for n in range(STUDENTS)}


@pytest.mark.parametrize("week", [2, 5])
def test_moodle_gets_back_what_everybody_earned(term: Term, week: int) -> None:
    showing = Showing(Selection(assignment=f"week{week}"))
    sheet = term.worksheet(week)
    written = autograder.export("moodle", term.folder, showing=showing, roster=sheet)
    path = written.path / f"week{week}.csv" if written.path.is_dir() else written.path
    with path.open(encoding="utf-8-sig", newline="") as file:
        grades = {int(row["Identifier"][12:]) - 100: row["Grade"] for row in csv.DictReader(file)}
    for n, grade in grades.items():
        expected = term.expected(n, week)
        assert grade == "" if expected is None else float(grade) == expected


def test_the_two_who_wrote_the_same_are_the_pair_to_look_at(term: Term) -> None:
    pairs = autograder.similar(term.folder, course=term.root)
    found = {tuple(sorted(term.number_of[s.student] for s in (p.left, p.right))) for p in pairs}
    assert found == {(1, 2)}


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_the_pages_of_the_term_open_in_a_browser_and_load_nothing(term: Term) -> None:
    from autograder.feedback import write_similar

    pages = [
        autograder.write_report(term.folder, course=term.root),
        autograder.write_changes(
            autograder.class_changes(term.folder), term.folder / "changes.html"
        ),
        write_similar(
            autograder.similar(term.folder, course=term.root), term.folder / "similar.html"
        ),
    ]
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        for path in pages:
            assert _opened(browser, path) == ([path.as_uri()], [])
        browser.close()


def _opened(browser: Browser, path: Path) -> tuple[list[str], list[str]]:
    """What a page asks for, and what goes wrong in it."""
    page = browser.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    return asked, errors
