"""grade, record, feedback, report and export treat students' names, in any alphabet, as data."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from autograder.cli import cli
from autograder.escaping import for_file_name
from autograder.results.file import read_results
from autograder.submission import find_submissions

ROOT = Path(__file__).resolve().parents[3]
ANSWER = b"def query_scores(inputs, query):\n    return inputs @ query\n"
NAMES = [
    *("..evil", "...", "a;rm -rf x", "$(reboot)", "`id`", "-rf", "--help", "~root", "%2e%2e%2f"),
    *("<script>alert(1)<", "<img src=x onerror=alert(1)>", "&lt;b&gt;"),
    *("=cmd()", "=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "a,b", 'say "hi"', "it's"),
    *(
        "{{7*7}}",
        "${HOME}",
        "%s%n",
        "[red]x",
        "{% raw %}",
        "\\",
        "a\\..\\b",
        "con",
        "nul",
    ),
    *(
        "new\nline",
        "cr\rname",
        "\x1b[31mred",
        "bell\x07",
        "\u202eevil",
        "\u2028",
        "zero\u200bwidth",
    ),
    *(
        "x" * 255,
        "字" * 85,
        "名前",
        "Ελένη",
        "עברית",
        "محمد",
        "नाम",
        "ไทย",
        "አማርኛ",
        "🎓👩‍🔬",
        "ɐpɐ",
    ),
    *("Zoë", "Zoe\u0308", "ada", "Ada", "ADA", " leading", "trailing ", "two words", "caf\udce9"),
    *("\udcff\udcfe", "select * from", "'; drop table student;--", "null", "0", "1e5", "True"),
]


@dataclass(frozen=True)
class Outcome:
    """A class folder after all commands, and the commands' results."""

    folder: Path
    results: dict[str, Result]


def _run(*arguments: str) -> Result:
    # in standalone mode, click would return 0 whatever a command returns
    return CliRunner().invoke(cli, [*arguments], catch_exceptions=True, standalone_mode=False)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, fork_server: object) -> Iterator[Outcome]:
    folder = tmp_path_factory.mktemp("names") / "class"
    for name in NAMES:
        place = folder / "submitted" / name / "simplified_attention"
        place.mkdir(parents=True)
        (place / "scores.py").write_bytes(ANSWER)
    course = ("--course", str(ROOT))
    results = {
        "grade": _run("grade", str(folder / "submitted"), "--jobs", "2", *course),
        "record": _run("record", str(folder), *course),
        "feedback": _run("feedback", str(folder), *course),
        "report": _run("report", str(folder)),
        "export": _run("export", "csv", str(folder)),
    }
    yield Outcome(folder, results)


@pytest.mark.parametrize(
    ("command", "status"),
    # nbgrader can't store some of the names, so their results wait for a person
    [("grade", 3), ("record", 3), ("feedback", 0), ("report", 0), ("export", 0)],
)
def test_every_command_does_its_job_and_keeps_the_terminal_clean(
    command: str, status: int, outcome: Outcome
) -> None:
    result = outcome.results[command]
    assert (result.exception, result.return_value) == (None, status), result.output
    unsafe = {sign for sign in result.output if not sign.isprintable()} - {"\n"}
    assert not unsafe


def test_every_student_has_one_result(outcome: Outcome) -> None:
    results = read_results(outcome.folder / "results.jsonl")
    assert sorted(result.student for result in results) == sorted(NAMES)
    assert len({result.score for result in results}) == 1


def test_nothing_is_written_outside_the_class_folder(outcome: Outcome) -> None:
    assert os.listdir(outcome.folder.parent) == ["class"]
    pages = list((outcome.folder / "feedback").iterdir())
    assert len(pages) == len(NAMES)
    assert {page.name for page in pages} == {for_file_name(name) for name in NAMES}


def test_pages_show_names_as_text(outcome: Outcome) -> None:
    pages = list(outcome.folder.rglob("*.html"))
    assert len(pages) > len(NAMES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<img src=x" not in text
        assert "<script>alert" not in text
        assert "49" not in text.partition("<title>")[2].partition("</title>")[0]


def test_a_table_holds_every_student_and_no_formula(outcome: Outcome) -> None:
    with open(outcome.folder / "grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    students = [row[0] for row in rows[1:]]
    assert len(students) == len(NAMES)
    assert not [
        cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    ]


def test_a_name_that_nbgrader_can_not_take_is_reported(outcome: Outcome) -> None:
    document = json.loads(
        _run("record", str(outcome.folder), "--course", str(ROOT), "--json").output
    )
    notes = "\n".join(document["notes"])
    assert "rename the folder" in notes
    assert document["submissions"] > len(NAMES) // 2


def test_links_to_submissions_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "zoe" / "lab").mkdir(parents=True)
    (tmp_path / "mal").mkdir()
    (tmp_path / "mal" / "lab").symlink_to(tmp_path / "zoe" / "lab")
    (tmp_path / "eve").symlink_to(tmp_path / "zoe")
    found = find_submissions(tmp_path, ("lab",))
    assert [submission.student for submission in found.submissions] == ["zoe"]
    assert {(item.path.name, item.reason) for item in found.skipped} == {
        ("eve", "a link: links are not followed"),
        ("lab", "a link: links are not followed"),
    }


def test_a_hidden_folder_counts_if_it_contains_an_assignment(tmp_path: Path) -> None:

    for path in (".dot/simplified_attention", "ada/simplified_attention", ".git/objects"):
        (tmp_path / path).mkdir(parents=True)
    found = find_submissions(tmp_path, ["simplified_attention"])
    assert [submission.student for submission in found.submissions] == [".dot", "ada"]
    assert found.skipped == ()


def test_an_unreadable_folder_is_reported_and_the_others_are_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    for student in ("ada", "bob"):
        (tmp_path / student / "simplified_attention").mkdir(parents=True)
    scandir = os.scandir

    def refusing(path: str | Path) -> Any:
        if Path(path) == tmp_path / "ada":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)  # imitated, because root may read every folder
    found = find_submissions(tmp_path, ["simplified_attention"])
    assert [submission.student for submission in found.submissions] == ["bob"]
    assert [(item.path.name, item.reason.partition(";")[0]) for item in found.skipped] == [
        ("ada", "can't be read (Permission denied)")
    ]
