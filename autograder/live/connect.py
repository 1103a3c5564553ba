"""Connects to a course on a platform, given its address in a browser."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from ..errors import UserError
from ..escaping import visible
from .canvas import Canvas
from .http import RetryPolicy, Token, find_token
from .moodle import Moodle
from .platform_records import Platform

_LOCAL = ("localhost", "127.0.0.1", "::1")
_CANVAS_COURSE = re.compile(r"/courses/(\d+)(?:/.*)?")
_MOODLE_COURSE = re.compile(r"(?P<folder>.*)/(?:course/\w+|user/index|grade/[\w/]+)\.php")
_EXAMPLES = {
    "canvas": "https://canvas.example.edu/courses/4711",
    "moodle": "https://moodle.example.edu/course/view.php?id=12",
}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a course: its site, without a slash at the end, and its number on the site."""

    platform: str
    site: str
    course: str


def address_of(platform: str, url: str) -> Address:
    """Finds the course in the URL of one of its pages; raises `UserError` if the URL names none.

    TLS is required, except for a server on this machine, because the token would otherwise be sent
    in plain text.
    """
    parts = urlsplit(url.strip())
    found = _PLATFORMS[platform].course_in(parts.path, parts.query)
    if parts.scheme not in ("http", "https") or not parts.hostname or found is None:
        raise UserError(
            f"{url!r} is not the address of a course: copy the address from the browser; "
            f"it should look like {_EXAMPLES[platform]}"
        )
    if parts.username or parts.password:
        raise UserError("the address contains a name or a password: leave them out")
    if parts.scheme != "https" and parts.hostname not in _LOCAL:
        raise UserError(f"{parts.hostname}: the address must begin with https://")
    folder, course = found
    return Address(platform, f"{parts.scheme}://{parts.netloc}{folder}", course)


def connect(
    address: Address, token: Token | None = None, retry: RetryPolicy | None = None
) -> Platform:
    """Returns a course on its platform; raises `UserError` if there is no token for its site."""
    known = token or find_token(address.platform, address.site)
    make = _PLATFORMS[address.platform].make
    platform = make(address.site, address.course, known, retry or RetryPolicy())
    return cast(Platform, _CheckedPlatform(platform, address.site))


class _CheckedPlatform:
    """Wraps a platform, so that a malformed reply raises an error that names the site."""

    def __init__(self, platform: Platform, site: str) -> None:
        self._platform, self._site = platform, site

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._platform, name)
        return partial(self._called, value) if callable(value) else value

    def _called(self, method: Callable[..., Any], *args: Any) -> Any:
        with self._of_its_form():
            found = method(*args)
        return self._each(found) if isinstance(found, Iterator) else found

    def _each(self, items: Iterator[Any]) -> Iterator[Any]:
        with self._of_its_form():
            yield from items

    @contextlib.contextmanager
    def _of_its_form(self) -> Iterator[None]:
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            text = f"{type(error).__name__}: {visible(str(error))}"
        except RecursionError:
            text = "it is nested too deeply"
        else:
            return
        name = self._platform.name
        raise UserError(
            f"{self._site}: the response does not have {name}'s format ({text}): is this the "
            f"address of a {name} site?"
        ) from None


def _canvas_course(path: str, _query: str) -> tuple[str, str] | None:
    found = _CANVAS_COURSE.fullmatch(path)
    return ("", found[1]) if found else None


def _moodle_course(path: str, query: str) -> tuple[str, str] | None:
    found = _MOODLE_COURSE.fullmatch(path)
    numbers = parse_qs(query).get("id", [])
    return (found["folder"], numbers[0]) if found and numbers and numbers[0].isdigit() else None


@dataclass(frozen=True, slots=True)
class _PlatformKind:
    """The functions for one kind of platform: to read an address, and to connect to a course."""

    course_in: Callable[[str, str], tuple[str, str] | None]
    make: Callable[[str, str, Token, RetryPolicy], Platform]


_PLATFORMS: Mapping[str, _PlatformKind] = {
    "canvas": _PlatformKind(_canvas_course, Canvas),
    "moodle": _PlatformKind(_moodle_course, Moodle),
}
PLATFORMS = tuple(_PLATFORMS)
