"""The results that count are not kept in memory, but read from the file when they are needed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.records import SubmissionResult
from autograder.results.file import ResultsFile, read_results
from autograder.results.last import LastResults, last_of

MakeResult = Callable[..., SubmissionResult]


@pytest.fixture
def path(tmp_path: Path, make_result: MakeResult) -> Path:
    ada = make_result("ada")
    with ResultsFile(tmp_path / "results.jsonl") as file:
        for result in (make_result("cid"), ada, make_result("ben"), replace(ada, attempt=2)):
            file.append(result)
    return tmp_path / "results.jsonl"


def test_last_results_are_the_last_lines_of_submissions(path: Path) -> None:
    expected = list(last_of(read_results(path)))
    results = LastResults(path)
    assert [r.attempt for r in results] == [2, 1, 1]
    assert list(results) == list(results) == expected
    assert [results[n] for n in range(len(results))] == expected
    assert list(results[1:]) == expected[1:]
    assert results[-1] == expected[-1]
    assert list(results.where(lambda r: r.student != "ben")) == [expected[0], expected[2]]
    some = LastResults(path, {("ben", expected[1].assignment)})
    assert list(some) == expected[1:2]
    assert list(LastResults(path.with_name("none.jsonl"))) == []


def test_derived_results_are_computed_when_they_are_read(
    path: Path, make_result: MakeResult
) -> None:
    results = LastResults(path)
    other = make_result("bea")
    ada, bea, ben, cid = results.together_with([other])
    assert (ada.student, bea, ben.student, cid.student) == ("ada", other, "ben", "cid")
    named = {"ada": "Z", "ben": "Y", "cid": "X"}
    halved = results.changed(lambda result: replace(result, score=result.score / 2))
    hidden = halved.renamed(
        lambda key: (named[key[0]], key[1]), lambda r: replace(r, student=named[r.student])
    )
    assert [student for student, _ in hidden.keys] == ["X", "Y", "Z"]
    assert list(hidden.of(lambda key: key[0] != "Y")) == [
        replace(cid, student="X", score=cid.score / 2),
        replace(ada, student="Z", score=ada.score / 2),
    ]
    path.write_text("gone")
    assert len(hidden) == 3 and results.together_with([other])[1] == other


def test_a_large_class_needs_little_memory_for_each_submission(
    tmp_path: Path, make_result: MakeResult
) -> None:
    count, path = 300, tmp_path / "results.jsonl"
    with open(path, "wb") as file:
        with ResultsFile(tmp_path / "one.jsonl") as one:
            one.append(make_result("ada"))
        line = (tmp_path / "one.jsonl").read_bytes()
        for number in range(count):
            file.write(line.replace(b'"ada"', f'"s{number:04}"'.encode()))
    tracemalloc.start()
    try:
        results = LastResults(path)
        total = sum(result.score for result in results)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == count * results[0].score
    assert peak < 500 * count + 200_000
