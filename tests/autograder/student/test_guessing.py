"""`predict` asks for a guess and says whether it is right, but never reveals the answer."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograder.student.guessing import predict


def test_without_a_guess_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[int] = []
    predict(None, lambda: ran.append(1))
    assert ran == []
    assert "instead of None" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("guess", "result"),
    [
        (0.25, torch.tensor(0.25001)),
        ((2, 3), torch.zeros(2, 3).shape),
        ([0, 0.5], torch.tensor([0.0, 0.5])),
        ("Row", "row"),
        (True, True),
    ],
)
def test_a_right_guess_is_confirmed(
    guess: Any, result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(guess, lambda: result)
    assert capsys.readouterr().out.startswith("✓ as you said")


@pytest.mark.parametrize(
    ("guess", "result"), [(2, 3), ((2, 3), torch.zeros(2).shape), ("error", 1), ([1], [1, 2])]
)
def test_a_wrong_guess_shows_both(
    guess: Any, result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(guess, lambda: result)
    assert capsys.readouterr().out.startswith("! you said")


def test_an_error_can_be_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    predict("an error", lambda: torch.zeros(2) @ torch.zeros(3))
    assert capsys.readouterr().out.startswith("✓ as you said: error: RuntimeError")


@pytest.mark.parametrize(
    ("guess", "result"),
    [("4", torch.tensor(4.0)), ("(2, 3)", torch.zeros(2, 3).shape), (" [1, 2]", [1, 2])],
)
def test_a_right_guess_may_be_typed_as_a_text(
    guess: str, result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(guess, lambda: result)
    assert capsys.readouterr().out.startswith("✓ as you said")


@pytest.mark.parametrize("guess", ["four", "twice as long, so 4", "[4", ""])
def test_a_text_without_a_number_is_no_guess_yet(
    guess: str, capsys: pytest.CaptureFixture[str]
) -> None:
    predict(guess, lambda: torch.tensor(4.0))
    said = capsys.readouterr().out
    assert said.startswith("○ your guess is text, but the answer is a number")


@pytest.mark.parametrize("guess", ["5", "an error", "nan"])
def test_a_wrong_guess_in_quotes_is_wrong(guess: str, capsys: pytest.CaptureFixture[str]) -> None:
    predict(guess, lambda: torch.tensor(4.0))
    assert capsys.readouterr().out == f"! you said {guess}, but it is 4.0. Why?\n"


def test_a_wrong_guess_about_an_error_ends_with_one_period(
    capsys: pytest.CaptureFixture[str],
) -> None:
    predict("a shape", lambda: torch.zeros(2, 3).mT.view(6))
    assert ".reshape(...) instead. Why?" in capsys.readouterr().out
