"""`make grade` runs its commands in one process and returns one exit code for all of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from tools import in_turn


@pytest.mark.parametrize(
    ("statuses", "ran", "whole"),
    [
        ([0, 0, 0], 3, 0),
        ([3, 0, 0], 3, 3),
        ([0, 3, 0], 3, 3),
        ([3, 2, 0], 2, 2),
        ([1, 0, 0], 1, 1),
    ],
)
def test_commands_after_one_that_waits_for_a_person_run(
    statuses: Sequence[int], ran: int, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def main() -> None:
        asked.append(sys.argv[1:])
        raise SystemExit(statuses[len(asked) - 1])

    monkeypatch.setattr(in_turn, "main", main)
    monkeypatch.setattr(sys, "argv", ["in_turn.py"])
    commands = [["grade", "course/submitted"], ["feedback", "course"], ["export", "csv", "course"]]
    words = [*commands[0], "+", *commands[1], "+", *commands[2]]
    assert in_turn.run(words) == whole
    assert asked == commands[:ran]


def test_a_wrong_command_ends_the_run_with_its_message(capfd: pytest.CaptureFixture[str]) -> None:
    assert in_turn.run(["feedbak", "course", "+", "export", "csv", "course"]) == 1
    out, err = capfd.readouterr()
    assert "Did you mean 'feedback'?" in err
    assert out.count("==>") == 1
