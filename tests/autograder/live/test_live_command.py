"""The commands `autograder pull` and `autograder push` work as documented."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from autograder.cli import cli
from autograder.errors import UserError

from .conftest import Class
from .servers import Canvas


@pytest.fixture
def call(on_canvas: Class, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Returns a function that calls a command on the class, with the token in the environment."""
    monkeypatch.setenv("CANVAS_TOKEN", on_canvas.token)

    def run(name: str, *options: str) -> Result:
        where = [str(on_canvas.folder), "--course", str(on_canvas.course.root)]
        return CliRunner().invoke(cli, [name, "canvas", *where, *options], standalone_mode=False)

    return run


def test_a_dry_run_shows_all_and_changes_nothing(
    canvas: Canvas, on_canvas: Class, call: Callable[..., Result]
) -> None:
    canvas.submit(101, 991, "2026-11-20T10:00:00Z", {"masking.py": b"x = 1\n"})
    result = call("pull", "--at", canvas.course, "--dry-run")
    assert result.return_value == 0
    for line in (
        "roster: 4 new: ada, ben, ben2, emmy",
        "due date of masks: none -> 2026-11-20 23:59:59 Europe/Berlin",
        "submissions for masks: 1 to download: ada",
        "nothing was changed: this was a dry run",
    ):
        assert line in result.output
    assert list(on_canvas.folder.iterdir()) == []


def test_without_a_terminal_nothing_is_done_unasked(
    canvas: Canvas, on_canvas: Class, call: Callable[..., Result]
) -> None:
    result = call("pull", "--at", canvas.course)
    assert isinstance(result.exception, UserError)
    assert "use --yes" in str(result.exception)
    assert list(on_canvas.folder.iterdir()) == []


def test_machines_get_a_document_and_a_status(
    canvas: Canvas, on_canvas: Class, call: Callable[..., Result], graded: Callable[..., Any]
) -> None:
    canvas.submit(101, 991, "2026-11-20T10:00:00Z", {"notes.pdf": b"%PDF"})
    pulled = call("pull", "--at", canvas.course, "--yes", "--json")
    assert pulled.return_value == 3
    document = json.loads(pulled.stdout)
    assert document["roster"]["added"] == ["ada", "ben", "ben2", "emmy"]
    assert document["collected"]["look_at"]
    graded(ada=(2.0, 2.0, 2.0), zoe=(0.0, 0.0, 0.0))
    pushed = call("push", "--yes", "--json")
    assert pushed.return_value == 3
    document = json.loads(pushed.stdout)
    assert document["changes"] == [
        {"student": "ada", "assignment": "masks", "from": None, "to": 6.0, "feedback": False}
    ]
    assert document["needs_you"] == ["'zoe' is not in Canvas: no grade is written"]


def test_a_grade_is_shown_before_it_is_written(
    canvas: Canvas, on_canvas: Class, call: Callable[..., Result], graded: Callable[..., Any]
) -> None:
    on_canvas.pull()
    graded(ada=(2.0, 1.0, 0.0))
    result = call("push", "--dry-run")
    assert result.return_value == 0
    assert "masks: 1 new grade, 0 changed" in result.output
    assert "ada: none -> 3" in result.output
    assert canvas.submissions[991, 101]["score"] is None
