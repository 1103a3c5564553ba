"""If the best submission counts, `submitted/` contains it, and its result is in the last line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.classroom import Upload, digest_of, read_uploads, write_uploads
from autograder.collecting import Outcome, collect
from autograder.course import Course
from autograder.grading.sources import RunOptions
from autograder.nbgrader import prepare_class_folder
from autograder.operations import best
from autograder.operations.best import let_best_count
from autograder.operations.courses import Courses
from autograder.records import SubmissionResult
from autograder.results.last import LastResults
from autograder.submission import FoundSubmissions
from autograder.submission.read import digest_of_files

KEY = ("ada", "masks")
HALF = """
from nbgrader.plugins import LateSubmissionPlugin


class Half(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score / 2


c.AssignLatePenalties.plugin_class = Half
"""
IN_TIME, LATE = "2026-05-01 09:00:00 UTC\n", "2026-05-01 11:30:00 UTC\n"

Make = Callable[..., SubmissionResult]


class Class:
    """A class in which ada submitted twice, with known points."""

    def __init__(self, course: Course, make_result: Make) -> None:
        self.course, self.folder = course, course.root / "course"
        self.results = self.folder / "results.jsonl"
        self.counts = self.folder / "submitted" / KEY[0] / KEY[1]
        self.earlier = self.folder / "earlier" / KEY[0] / KEY[1] / "2026-05-01T090000"
        self.asked: list[Path] = []
        self._make = make_result
        settings = prepare_class_folder(course, self.folder)
        settings.write_text(settings.read_text() + HALF)
        (self.folder / "class.toml").write_text('counts = "best"\n')

    def put(self, folder: Path, points: float, stamp: str, *, is_graded: bool = True) -> None:
        """Writes a submission with these points into a folder, and grades it if `is_graded`."""
        folder.mkdir(parents=True)
        (folder / "masking.py").write_text(f"# {points}\n")
        (folder / "timestamp.txt").write_text(stamp)
        if is_graded:
            self.grade(folder)

    def grade(self, folder: Path) -> None:
        """Appends the result of a folder, as a grading run does."""
        points = float((folder / "masking.py").read_text()[2:])
        line = replace(
            self._make(scores=(points / 2, points / 2, 0.0)),
            submission_digest=digest_of_files(folder, ["masking", "dropout"]),
        )
        with self.results.open("a") as file:
            file.write(json.dumps(line.to_json()) + "\n")

    def more(self, *_: object, found: FoundSubmissions) -> None:
        """Stands in for `grade_class`: grades more submissions, and records their folders."""
        for submission in found.submissions:
            self.asked.append(submission.folder)
            self.grade(submission.folder)

    def choose(self) -> tuple[str, ...]:
        submitted, none = self.folder / "submitted", FoundSubmissions((), ())
        courses = Courses(self.course, self.course, None, none, submitted)
        return let_best_count(courses, RunOptions(submitted, self.results), [KEY])

    def text(self) -> str:
        """Returns the text of the file in the submission that counts."""
        return (self.counts / "masking.py").read_text()

    def score(self) -> float:
        return LastResults(self.results)[0].score


@pytest.fixture
def term(
    make_course: Callable[..., Course],
    make_result: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Class:
    course = make_course(tmp_path / "term", duedate="2026-05-01 12:00 Europe/Berlin")
    made = Class(course, make_result)
    monkeypatch.setattr(best, "grade_class", made.more)
    return made


def test_an_earlier_submission_that_earned_more_counts_again(term: Class) -> None:
    term.put(term.earlier, 3.0, IN_TIME)
    term.put(term.counts, 1.0, LATE)
    (sentence,) = term.choose()
    assert sentence == "ada: a different submission of masks counts, with 3 points instead of 0.5"
    assert (term.text(), term.score()) == ("# 3.0\n", 3.0)
    (kept,) = term.earlier.parent.iterdir()
    assert (kept.name, (kept / "masking.py").read_text()) == ("2026-05-01T113000", "# 1.0\n")
    assert (term.choose(), term.asked) == ((), [])
    assert len(term.results.read_text().splitlines()) == 3


def test_with_equal_points_the_newest_submission_counts(term: Class) -> None:
    term.put(term.earlier, 2.0, IN_TIME)
    term.put(term.counts, 2.0, LATE)
    (term.counts / "masking.py").write_text("# 2.00\n")
    term.grade(term.counts)
    (term.folder / "class.toml").write_text('counts = "best"\nlate_days = 1\n')
    assert term.choose() == ()
    assert term.text() == "# 2.00\n"


@pytest.mark.parametrize(("days", "counts"), [(0, 2.0), (1, 3.0)])
def test_late_work_earns_what_penalty_and_budget_leave(
    term: Class, days: int, counts: float
) -> None:
    term.put(term.earlier, 2.0, IN_TIME)
    term.put(term.counts, 3.0, LATE)
    (term.folder / "class.toml").write_text(f'counts = "best"\nlate_days = {days}\n')
    term.choose()
    assert term.score() == counts


def test_late_days_of_another_assignment_reduce_the_budget(term: Class) -> None:
    term.put(term.earlier, 2.0, IN_TIME)
    term.put(term.counts, 3.0, LATE)
    (term.folder / "class.toml").write_text('counts = "best"\nlate_days = 1\n')
    (term.folder / "late_days.csv").write_text("student,assignment,days,left\nada,other,1,0\n")
    term.choose()
    assert term.score() == 2.0


def test_an_earlier_submission_without_a_current_line_is_graded(
    term: Class,
) -> None:
    term.put(term.earlier, 1.0, IN_TIME, is_graded=False)
    term.put(term.counts, 3.0, IN_TIME)
    assert term.choose() == ()
    assert term.asked == [term.earlier]
    assert term.score() == 3.0  # the last line is the result that counts


def test_collecting_the_same_upload_again_leaves_the_better_one(
    term: Class, tmp_path: Path
) -> None:
    term.put(term.earlier, 3.0, IN_TIME)
    term.put(term.counts, 1.0, IN_TIME)
    upload = tmp_path / "upload" / KEY[0] / KEY[1]
    upload.mkdir(parents=True)
    (upload / "masking.py").write_text(term.text())
    same = digest_of(term.counts)
    write_uploads(term.folder, [Upload(*KEY, same, same)])
    term.choose()
    assert read_uploads(term.folder)[KEY].upload == same
    names = {"masks": ("masking", "dropout")}
    (made,) = collect([tmp_path / "upload"], term.folder / "submitted", names).collected
    assert (made.outcome, term.text()) == (Outcome.WORSE, "# 3.0\n")
    (upload / "masking.py").write_text("# 2.5\n")
    (made,) = collect([tmp_path / "upload"], term.folder / "submitted", names).collected
    assert (made.outcome, term.text()) == (Outcome.NEW, "# 2.5\n")
