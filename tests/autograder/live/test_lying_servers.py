"""If a server sends invalid or endless data, it gets no token, and the error names it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import UserError
from autograder.live import (
    GradeUpdate,
    Platform,
    RetryPolicy,
    Token,
    address_of,
    connect,
    http,
    platform_records,
)

from .servers import MOODLE_TOKEN, TOKEN, Canvas, Fault, Moodle, Request, Response, Store

#: values that may replace a value in a response
_LIES: tuple[Any, ...] = (
    *(None, "x", "", [], {}, -1, 1e308, float("nan"), 10**30, True, "../../evil", "a\0b", "\ud800"),
    *([[]], [None], {"id": None}, "9" * 5000, "2026-99-99"),
)


@pytest.fixture(params=["canvas", "moodle"])
def site(request: pytest.FixtureRequest, canvas: Canvas, moodle: Moodle) -> Canvas | Moodle:
    """Returns Canvas or Moodle, with a submission of two files."""
    files = {"masking.py": b"x = 1\n", "heads.py": b"y = 1\n"}
    canvas.submit(101, 991, "2026-11-20T10:00:00Z", files)
    moodle.submit(11, 31, 1795200000, files)
    return canvas if request.param == "canvas" else moodle


def open_site(server: Canvas | Moodle) -> Platform:
    """Connects to a platform, with no waits between retries."""
    name = "canvas" if isinstance(server, Canvas) else "moodle"
    token = Token(TOKEN if isinstance(server, Canvas) else MOODLE_TOKEN)
    return connect(address_of(name, server.course), token, RetryPolicy(lambda _: None))


def read_all(platform: Platform) -> None:
    """Reads everything that a pull reads, except the files."""
    platform.title()
    platform.zone()
    members = platform.members()
    for work in platform.works():
        platform.attempts(work, members)
        platform.grades(work)


def lied(content: Any, chance: random.Random) -> Any:
    """Returns a response's content in which one value has been replaced."""
    box = [copy.deepcopy(content)]
    places = list(_places(box))
    holder, key = chance.choice(places)
    holder[key] = chance.choice(_LIES)
    return box[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        yield value, key
        if isinstance(part, dict | list):
            yield from _places(part)


def test_a_response_with_another_format_is_an_error(site: Canvas | Moodle) -> None:
    honest, lies, platform = site.answer, 0, open_site(site)
    for seed in range(8):
        chance = random.Random(seed)

        def lie(request: Request, chance: random.Random = chance) -> Response:
            found = honest(request)
            if isinstance(found.content, bytes) or chance.random() < 0.5:
                return found
            return Response(lied(found.content, chance), found.status, found.headers)

        site.answer = lie  # type: ignore[method-assign]
        try:
            read_all(platform)
        except UserError as error:
            lies += 1
            assert TOKEN not in str(error) and MOODLE_TOKEN not in str(error)
    assert lies > 2


def test_a_number_that_is_a_path_is_refused(canvas: Canvas, moodle: Moodle) -> None:
    canvas.users[0]["id"] = moodle.users[1]["id"] = "../../evil"
    for server in (canvas, moodle):
        with pytest.raises(UserError, match=r"does not have \w+'s format"):
            open_site(server).members()


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_takes_no_token_to_another_site(
    status: int, moodle: Moodle, tmp_path: Path
) -> None:
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n"})
    with Store() as other:
        platform = open_site(moodle)
        (work,) = platform.works()
        (attempt,) = platform.attempts(work, platform.members())
        away = Response(b"", status, {"Location": f"{other.address}/x"})
        moodle.faults.append(Fault("", away, times=9))
        for ask in (platform.title, lambda: platform.download(attempt.files[0], tmp_path / "x")):
            with pytest.raises(UserError, match="redirects to '127.0.0.1'"):
                ask()
        assert not other.requests


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("at", ["update_grades", "comments/files", "upload"])
def test_a_redirect_takes_no_grade_to_another_site(
    status: int, at: str, canvas: Canvas, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("ada has 7 points")
    with Store() as other:
        platform = open_site(canvas)
        (work,) = platform.works()
        away = Response(b"", status, {"Location": f"{other.address}/x"})
        for server in (canvas, canvas.store):
            server.faults.append(Fault(f"POST /{at}" if at == "upload" else at, away, times=9))
        with pytest.raises(UserError):
            list(platform.send(work, [GradeUpdate("101", 7.0, file=page, file_name="page.html")]))
        for request in other.requests:  # as in browsers, 301 to 303 become GET without data
            assert (request.method, request.form, request.body) == ("GET", {}, b"")
            assert "authorization" not in request.headers
        assert bool(other.requests) == (status < 307)


def test_an_endless_response_is_given_up(
    site: Canvas | Moodle, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = open_site(site)
    monkeypatch.setattr(http, "_MOST_ANSWER", 10)
    with pytest.raises(UserError, match="a response is larger than"):
        platform.title()
    monkeypatch.undo()
    monkeypatch.setattr(http, "_LONGEST_ANSWER", -1.0)
    with pytest.raises(UserError, match="a response is larger than"):
        platform.members()


def test_an_endless_list_is_given_up(
    canvas: Canvas, moodle: Moodle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform_records, "_MOST_ITEMS", 500)
    again = {"Link": f'<{canvas.address}/api/v1/courses/4711/users?page=1>; rel="next"'}
    canvas.faults.append(Fault("users", Response(canvas.users * 30, headers=again), times=10**6))
    page = [{**moodle.users[1], "id": number} for number in range(200)]
    moodle.faults.append(Fault("get_enrolled_users", Response(page), times=10**6))
    for server in (canvas, moodle):
        with pytest.raises(UserError, match="a list has more than 500 items"):
            open_site(server).members()
