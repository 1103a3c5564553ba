"""The connection retries, reports problems, and sends its token only to the platform."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.errors import UserError
from autograder.live import Platform, RetryPolicy, Token, address_of, connect
from autograder.live.connect import Address
from autograder.live.http import find_token

from .servers import MOODLE_TOKEN, TOKEN, Canvas, Fault, Moodle, Response

THROTTLED = Response(b"403 Forbidden (Rate Limit Exceeded)", 403)


def open_canvas(canvas: Canvas, waited: list[float], token: str = TOKEN) -> Platform:
    """Connects to Canvas, and records the waits between retries instead of waiting."""
    address = address_of("canvas", canvas.course)
    return connect(address, Token(token), RetryPolicy(waited.append))


def open_moodle(moodle: Moodle, token: str = MOODLE_TOKEN) -> Platform:
    """Connects to Moodle, with no waits between retries."""
    return connect(address_of("moodle", moodle.course), Token(token), RetryPolicy(lambda _: None))


@pytest.mark.parametrize(
    "response",
    [THROTTLED, Response(b"", 429, {"Retry-After": "7"}), Response(b"", 502), None],
    ids=["throttled", "429", "502", "dropped"],
)
def test_a_page_that_fails_is_requested_again(canvas: Canvas, response: Response | None) -> None:
    waited: list[float] = []
    canvas.faults.append(Fault("users", response, times=2, skip=1))
    members = open_canvas(canvas, waited).members()
    assert [member.login for member in members] == ["ada", "ben", "ben2", "emmy"]
    assert len(waited) >= 2
    if response and "Retry-After" in response.headers:
        assert 7.0 in waited


def test_a_lasting_failure_is_reported_in_the_end(canvas: Canvas) -> None:
    canvas.faults.append(Fault("users", Response(b"", 503), times=99))
    with pytest.raises(
        UserError, match="it responded with status 503\n  fix: run the command again later"
    ):
        open_canvas(canvas, []).members()


def test_little_quota_slows_the_next_request_down(canvas: Canvas) -> None:
    waited: list[float] = []
    low = Response({"id": 4711, "name": "A"}, headers={"X-Rate-Limit-Remaining": "12.5"})
    canvas.faults.append(Fault("courses/4711", low))
    assert open_canvas(canvas, waited).title() == "A"
    assert waited == [1.0]


def test_a_revoked_token_is_reported_and_not_shown(canvas: Canvas, moodle: Moodle) -> None:
    for platform in (open_canvas(canvas, [], "7~revoked"), open_moodle(moodle, "revoked99")):
        with pytest.raises(UserError, match="does not accept the token") as caught:
            platform.title()
        assert "revoked" not in str(caught.value).replace("it was revoked", "")


def test_a_refusal_never_repeats_the_token(moodle: Moodle) -> None:
    text = {"errorcode": "strange", "exception": "e", "message": f"bad request: {MOODLE_TOKEN}"}
    moodle.faults.append(Fault("get_site_info", Response(text)))
    with pytest.raises(UserError, match="strange") as caught:
        open_moodle(moodle).title()
    assert MOODLE_TOKEN not in str(caught.value)


def test_a_function_outside_the_service_is_named(moodle: Moodle) -> None:
    denied = Response({"errorcode": "accessexception", "message": "Access control exception"})
    moodle.faults.append(Fault("get_assignments", denied))
    with pytest.raises(UserError, match="add the function mod_assign_get_assignments"):
        open_moodle(moodle).works()


def test_an_assignment_that_is_hidden_is_not_empty(moodle: Moodle) -> None:
    platform = open_moodle(moodle)
    (work,) = platform.works()
    warning = {"item": "assignment", "message": "No access rights in module context"}
    unseen = Response({"assignments": [], "warnings": [warning]})
    moodle.faults.append(Fault("get_submissions", unseen))
    with pytest.raises(UserError, match="No access rights in module context"):
        platform.attempts(work, [])


@pytest.mark.parametrize("name", ["canvas", "moodle"])
def test_a_page_that_is_not_a_platform_is_reported(
    name: str, canvas: Canvas, moodle: Moodle, request: pytest.FixtureRequest
) -> None:
    server = canvas if name == "canvas" else moodle
    server.faults.append(Fault("", Response(b"<html>Log in</html>"), times=99))
    platform = open_canvas(canvas, []) if name == "canvas" else open_moodle(moodle)
    with pytest.raises(UserError, match=f"is this the address of a {name.title()}"):
        platform.title()


def test_a_teacher_without_rights_is_reported(canvas: Canvas) -> None:
    canvas.faults.append(Fault("users", Response({"errors": [{"message": "no"}]}, 403), times=9))
    with pytest.raises(UserError, match="is not allowed to see or change the students"):
        open_canvas(canvas, []).members()


def test_only_the_site_gets_the_token(
    canvas: Canvas, moodle: Moodle, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canvas.submit(101, 991, "2026-11-20T10:00:00Z", {"masking.py": b"x = 1\n"})
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n"})
    for platform in (open_canvas(canvas, []), open_moodle(moodle)):
        (work,) = platform.works()
        (attempt,) = platform.attempts(work, platform.members())
        platform.download(attempt.files[0], tmp_path / platform.name)
        assert (tmp_path / platform.name).read_bytes() == b"x = 1\n"
        if platform.name == "Canvas":  # may give the other host's address
            url = f"{canvas.store.address}/store/{attempt.files[0].number}"
            platform.download(replace(attempt.files[0], url=url), tmp_path / "direct")
    assert len(canvas.store.requests) == 2
    for request in canvas.store.requests:
        assert "authorization" not in request.headers
    assert all(MOODLE_TOKEN not in str(request.query) for request in moodle.requests)
    assert caplog.records
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert TOKEN not in logged and TOKEN[-4:] not in logged and MOODLE_TOKEN not in logged


def test_a_file_that_ends_early_is_downloaded_again(canvas: Canvas, tmp_path: Path) -> None:
    canvas.submit(101, 991, "2026-11-20T10:00:00Z", {"masking.py": b"x = 1\n"})
    platform = open_canvas(canvas, [])
    (work,) = platform.works()
    (attempt,) = platform.attempts(work, platform.members())
    canvas.store.faults.append(Fault("store", Response(b"x =")))
    path = tmp_path / "masking.py"
    platform.download(attempt.files[0], path)
    assert path.read_bytes() == b"x = 1\n"


@pytest.mark.parametrize(
    ("platform", "url", "expected"),
    [
        ("canvas", "https://c.example/courses/7", ("https://c.example", "7")),
        ("canvas", "https://c.example/courses/7/gradebook?x=1", ("https://c.example", "7")),
        ("moodle", "https://m.example/course/view.php?id=7", ("https://m.example", "7")),
        ("moodle", "https://u.example/m/course/view.php?id=7#s", ("https://u.example/m", "7")),
        ("moodle", "https://m.example/user/index.php?id=7", ("https://m.example", "7")),
    ],
)  # fmt: skip
def test_the_address_may_be_copied_from_the_browser(
    platform: str, url: str, expected: tuple[str, str]
) -> None:
    assert address_of(platform, url) == Address(platform, *expected)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://c.example/courses/7", "must begin with https"),
        ("https://c.example/", "is not the address of a course"),
        ("courses/7", "is not the address of a course"),
        ("https://me:secret@c.example/courses/7", "leave them out"),
    ],
)
def test_other_addresses_are_refused(url: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        address_of("canvas", url)


def test_the_token_comes_from_the_environment_or_the_keyring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import keyring

    kept: dict[tuple[str, str], str] = {("autograder", "https://c.example"): "from-keyring"}
    monkeypatch.setattr(keyring, "get_password", lambda service, user: kept.get((service, user)))
    monkeypatch.delenv("CANVAS_TOKEN", raising=False)
    assert find_token("canvas", "https://c.example").reveal() == "from-keyring"
    monkeypatch.setenv("CANVAS_TOKEN", " from-environment\n")
    assert find_token("canvas", "https://c.example").reveal() == "from-environment"
    assert "from" not in repr(find_token("canvas", "https://c.example"))
    monkeypatch.delenv("CANVAS_TOKEN")
    with pytest.raises(UserError, match="keyring set autograder https://d.example"):
        find_token("canvas", "https://d.example")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "canvasapi", None)
    address = Address("canvas", "https://c.example", "7")
    with pytest.raises(UserError, match=r"pip install 'WHEEL\[live\]'"):
        connect(address, Token(TOKEN))
