"""Compares the result that a student predicts with the actual result of running the code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch
from IPython.display import display

from .display import notice

_TODO = "write your guess instead of None, then run the cell again"
_NO_NUMBER = (
    "your guess is text, but the answer is a number: write only the number, without quotes, "
    "then run the cell again"
)


def predict(guess: Any, run: Callable[[], Any], within: float = 5e-3) -> None:
    """Shows whether a guess is correct; without a guess, asks for one and runs nothing.

    Args:
        guess: a number, a string, a shape or a list of numbers; "error" for code that should fail;
            None if there is no guess yet.
        run: a function that is called without arguments; its result is compared with the guess.
        within: how much a numeric guess may differ from the result.
    """
    if guess is None:
        _say("○", _TODO)
        return
    try:
        found = _plain(run())
    except Exception as error:  # the student may have predicted it
        found = f"error: {type(error).__name__}: {error}".splitlines()[0]
    if _is_no_number(guess) and _is_number(found):
        _say("○", _NO_NUMBER)
    elif _alike(_plain(guess), found, within):
        _say("✓", f"as you said: {found}")
    else:
        result = str(found).rstrip(".")
        article = "an " if result.startswith("error: ") else ""
        _say("!", f"you said {_plain(guess)}, but it is {article}{result}. Why?")


def _plain(value: Any) -> Any:
    """Returns the value as a plain number or string, or as a nested list of them."""
    if isinstance(value, torch.Tensor):
        return _plain(value.detach().tolist())
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _alike(guess: Any, found: Any, within: float) -> bool:
    if isinstance(guess, list) and isinstance(found, list):
        pairs = zip(guess, found, strict=False)
        return len(guess) == len(found) and all(_alike(a, b, within) for a, b in pairs)
    if isinstance(guess, str) and not isinstance(found, str):
        return _alike(_parsed(guess), found, within)
    if isinstance(guess, str) and isinstance(found, str):
        guessed, is_error = guess.strip().casefold(), found.startswith("error")
        return "error" in guessed if is_error else guessed == found.strip().casefold()
    if isinstance(guess, int | float) and isinstance(found, int | float):
        return bool(abs(guess - found) <= within)
    return bool(guess == found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_no_number(guess: Any) -> bool:
    """Returns whether a guess is text that is neither a number nor the prediction of an error."""
    if not isinstance(guess, str) or "error" in guess.casefold() or "nan" in guess.casefold():
        return False
    return not _is_number(_parsed(guess))


def _parsed(text: str) -> Any:
    """Parses a number, shape or list that is written as text; returns None for any other text."""
    try:
        return _plain(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _say(sign: str, text: str) -> None:
    display(notice(sign, text))  # type: ignore[no-untyped-call]  # IPython has no types
