"""A damaged results file is reported in one line, and is not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.errors import UserError
from autograder.records import SubmissionResult
from autograder.results.file import ResultsFile, graded_key, read_results

MakeResult = Callable[..., SubmissionResult]


@pytest.fixture
def results(tmp_path: Path, make_result: MakeResult) -> Path:
    path = tmp_path / "results.jsonl"
    with ResultsFile(path) as file:
        file.append(make_result("ada"))
        file.append(make_result("ben"))
    return path


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x00bytes", b"[" * 100_000, b"{}", b"[]", b"3", b'{"schema": "another/v9"}', b"nan"],
)
def test_a_line_that_is_not_a_result_is_reported_briefly(line: bytes, results: Path) -> None:
    results.write_bytes(results.read_bytes() + line + b"\n")
    with pytest.raises(UserError, match=r"results\.jsonl:3 is not a line of results") as error:
        read_results(results)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("points", ['"4.0"', "null", "true"])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_points_that_are_not_numbers_damage_a_line(place: int, points: str, results: Path) -> None:
    pieces = results.read_text().split('"score": ')
    pieces[place] = points + pieces[place][pieces[place].index(",") :]
    results.write_text('"score": '.join(pieces))
    with pytest.raises(UserError, match=r"results\.jsonl:1 is not a line of results.*a number"):
        read_results(results)


@pytest.mark.parametrize(
    "use",
    [
        autograder.class_results,
        autograder.final_results,
        autograder.report,
        autograder.write_report,
        lambda folder: autograder.export("csv", folder),
        lambda folder: autograder.record(folder),
        lambda folder: autograder.write_feedback(folder),
    ],
)
def test_an_incomplete_last_line_is_refused_with_the_repairing_command(
    use: Callable[[Path], object], results: Path, class_folder: Path
) -> None:
    whole = results.read_bytes()
    (class_folder / "results.jsonl").write_bytes(whole[:-20])
    with pytest.raises(UserError, match=r"grade again: autograder grade .*submitted --resume"):
        use(class_folder)
    assert not list(class_folder.glob("*.csv"))


def test_a_truncated_line_is_set_aside_by_the_next_run(results: Path) -> None:
    whole = results.read_bytes()
    results.write_bytes(whole[:-20])
    with ResultsFile(results) as file:
        assert file.truncated is not None
        assert file.truncated.read_bytes().startswith(b'{"schema"')
        history = file.history()
    (left,) = read_results(results)
    assert len(history) == 1 and graded_key(left) in history
    assert left.student == "ada"


def test_a_line_with_nan_is_refused(results: Path) -> None:
    """Another program may have written NaN, which a report could not show."""
    text = results.read_text()
    results.write_text(text.replace('"score": ', '"score": NaN, "x": ', 1))
    with pytest.raises(
        UserError, match=r"results\.jsonl:1 is not a line.*NaN is not a valid number"
    ):
        read_results(results)
