"""Times that a worksheet or nbgrader states are the moments that they name, or unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.collecting import collect
from autograder.collecting.moodle_times import moodle_time

SIX = datetime(2026, 11, 20, 18, 5)
COURSE = {"simplified_attention": ("scores", "softmax")}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Friday, 20 November 2026, 6:05 PM", SIX),
        ("Friday, 20 November 2026, 18:05", SIX),
        ("Friday, 20 November 2026, 12:05 AM", SIX.replace(hour=0)),
        ("Friday, 20 November 2026, 12:05 PM", SIX.replace(hour=12)),
        ("Freitag, 20. November 2026, 18:05", SIX),
        ("Freitag, 6. März 2026, 18:05", datetime(2026, 3, 6, 18, 5)),
        ("Freitag, 6. Ma\u0308rz 2026, 18:05", datetime(2026, 3, 6, 18, 5)),
        ("vendredi 20 novembre 2026, 18:05", SIX),
        ("viernes, 20 de noviembre de 2026, 18:05", SIX),
        ("piątek, 20 listopada 2026, 18:05", SIX),
        ("úterý, 7. července 2026, 08:05", datetime(2026, 7, 7, 8, 5)),
        ("Friday, 20 November 2026, 13:05 PM", None),
        ("Friday, 31 November 2026, 18:05", None),
        ("Freitag, 20. Nebelung 2026, 18:05", None),
        ("11/20/2026, 18:05", None),
        ("20 November 2026, 18:05 or later", None),
    ],
)
def test_moodles_time_is_read_in_the_language_of_whoever_downloaded_it(
    text: str, time: datetime | None
) -> None:
    assert moodle_time(text) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-19 10:00:00.123456 UTC", "2026-11-19 10:00:00"),
        ("2026-11-19 10:00:00", "2026-11-19 10:00:00"),
        ("2026-11-19 13:00:00 CET", "2026-11-19 12:00:00"),
        ("2026-11-30 10:00:00 America/New_York", "2026-11-30 15:00:00"),
        ("2026-11-30 10:00:00 XYZ", None),
        ("soon", None),
    ],
)
def test_the_time_that_nbgrader_wrote_is_told_and_kept_as_the_moment_it_names(
    text: str, time: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "submitted" / "ada" / "simplified_attention"
    folder.mkdir(parents=True)
    (folder / "scores.py").write_text("x")
    (folder / "timestamp.txt").write_text(text + "\n")
    report = collect([tmp_path / "submitted"], tmp_path / "course" / "submitted", COURSE)
    (made,) = report.collected
    stamp = made.folder / "timestamp.txt"
    if time is None:
        assert made.time is None
        assert not stamp.exists()
        assert "unknown" in report.skipped[0].reason
        return
    assert made.time == datetime.fromisoformat(time).replace(tzinfo=UTC)
    assert stamp.read_text() == f"{time} UTC\n"
    kept = (tmp_path / "course" / "collected.csv").read_text()
    assert f"{time} UTC,timestamp.txt" in kept
