"""Groups failures with one cause: it is shown once, with the names of the other checks."""

from __future__ import annotations

from collections.abc import Sequence

from .results import CheckedTest


def grouped(tests: Sequence[CheckedTest]) -> list[tuple[CheckedTest, tuple[str, ...]]]:
    """Return the tests to show, each with the names of later ones that fail for the same cause."""
    names: dict[str, list[str]] = {}
    first: list[CheckedTest] = []
    for test in tests:
        if test.cause and test.cause in names:
            names[test.cause].append(test.name)
            continue
        first.append(test)
        if test.cause:
            names[test.cause] = []
    return [(test, tuple(names.get(test.cause, ()))) for test in first]
