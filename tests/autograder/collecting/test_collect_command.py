"""The command `autograder collect` reports its results and returns the right exit code."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from click.testing import CliRunner, Result

from autograder.cli import cli
from autograder.collecting.platform_times import read_times
from autograder.deadlines import zone_of

ROOT = Path(__file__).resolve().parents[3]


def run(folder: Path, *options: str) -> Result:
    with zipfile.ZipFile(folder / "download.zip", "w") as archive:
        archive.writestr("lovelaceada_12_34_masking.py", "x = 1\n")
        archive.writestr("e\x1bvil_12_34_masking.py", "x = 1\n")
    source, target = str(folder / "download.zip"), str(folder / "course" / "submitted")
    arguments = ["collect", source, "--into", target, "--course", str(ROOT), *options]
    return CliRunner().invoke(cli, arguments, standalone_mode=False)


def test_people_read_what_was_skipped_and_why(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.return_value == 3  # one file was left out
    assert "1 collected into" in result.output
    assert "\\x1bvil_12_34_masking.py: a name with control characters" in result.output
    assert "\x1b" not in result.output


def test_machines_read_one_document(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, "--json").output)
    (item,) = document["collected"]
    assert (item["student"], item["assignment"]) == ("lovelaceada", "causal_attention")
    assert item["new"]
    assert len(document["skipped"]) == 1


def test_an_archive_without_a_submission_is_not_a_success(tmp_path: Path) -> None:
    result = run(tmp_path, "--assignment", "nonsense")
    assert result.exit_code != 0
    assert "this course has" in str(result.exception)


def test_the_list_of_another_platform_updates_the_roster_first(tmp_path: Path) -> None:
    roster = tmp_path / "canvas.csv"
    roster.write_text('Student,ID,SIS Login ID,Section\n"Lovelace, Ada",12,al1815,Tutorial A\n')
    result = run(tmp_path, "--roster", str(roster))
    assert result.return_value == 3  # one file was left out
    assert (tmp_path / "course" / "submitted" / "al1815").is_dir()
    assert "Tutorial A" in (tmp_path / "course" / "roster.csv").read_text(encoding="utf-8")


def test_a_roster_without_people_collects_nothing(tmp_path: Path) -> None:
    roster = tmp_path / "colors.csv"
    roster.write_text("color\nred\n")
    result = run(tmp_path, "--roster", str(roster))
    assert "not a list of people" in str(result.exception)
    assert not (tmp_path / "course").exists()


def test_a_folder_without_files_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    arguments = ["collect", str(tmp_path / "empty"), "--into", str(tmp_path / "course")]
    result = CliRunner().invoke(cli, [*arguments, "--course", str(ROOT)])
    assert "nothing was found: expected a download from Canvas" in result.output


def test_times_that_cannot_be_read_wait_for_a_person(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("student,time\nlovelaceada,28/11/26 23:59\n")
    result = run(tmp_path, "--times", str(table))
    assert result.return_value == 3
    output = " ".join(result.output.split())
    assert "times.csv: 1 time can't be read with certainty, such as '28/11/26 23:59'" in output
    assert "'28/11/26 23:59' for lovelaceada" in output
    assert "Write them as '2027-01-31 23:59 Europe/Berlin' and collect again" in output


def test_a_time_that_occurs_twice_has_its_own_remedy(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("student,time\nlovelaceada,25.10.2026 02:30\nben,28/11/26 23:59\n")
    twice, other = read_times(table, zone_of("Europe/Berlin")).notes
    assert "such as '25.10.2026 02:30' for lovelaceada, which occurs twice" in twice
    assert "as '2026-10-25T02:30+02:00' or '2026-10-25T02:30+01:00' and collect again" in twice
    assert "such as '28/11/26 23:59' for ben" in other
