"""Repeats requests that have failed, and keeps tokens out of messages and responses.

Requests are repeated later if a platform is overloaded or throttles them. A request that must not
be carried out twice is repeated only if the platform has definitely not carried it out.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from ..errors import UserError, install_with
from ..escaping import visible
from ..files import replacing
from ..untrusted_json import read_untrusted_json

if TYPE_CHECKING:
    import httpx

_TRIES = 6
_LONGEST_WAIT = 60.0
_TIMEOUT = 60.0
#: the maximum number of bytes in a file whose size is not announced, and in any other response
_MOST_BYTES, _MOST_ANSWER = 100 << 20, 64 << 20
#: the maximum number of seconds that a response may take to arrive
_LONGEST_ANSWER = 1800.0
#: headers that no longer apply to a body after it is decoded
_OF_TRANSPORT = ("content-encoding", "content-length", "transfer-encoding")
#: how many bytes of a body to search for an error
_HEAD = 2_000
_OVERLOADED = (500, 502, 503, 504)
#: what Canvas says when it throttles requests with the status 403
_THROTTLED = "rate limit exceeded"
#: if less than this is left of Canvas's quota, the next request waits, so that it is not refused
_LOW_QUOTA = 50.0
#: the service name of tokens in the keyring; their user name is the platform's address
KEYRING = "autograder"
_SECRET = "***"


class NoResponse(Exception):
    """Raised if a request gets no complete response; the exception's text is the reason."""


class DifferentFile(NoResponse):
    """Raised if a file's size differs from the announced one, although the response is complete."""


class ErrorBody(Exception):
    """Raised if a platform sends an error instead of a file's content; `error` is this error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__("an error instead of a file")
        self.error = error


class PlatformFailure(UserError):
    """Raised if later requests, such as those for the next student, can't succeed either."""


class TokenRefused(PlatformFailure):
    """Raised if the platform does not accept the token."""

    def __init__(self, site: str, where: str) -> None:
        super().__init__(
            f"{site} does not accept the token: it was revoked, has expired, or is for another site"
            f"\n  fix: create a new one ({where})"
        )


class Unreachable(PlatformFailure):
    """Raised if the platform does not respond, or responds only with server errors.

    If the request was meant to write something, it is unknown whether the platform has written it.
    """


class Token:
    """A platform's access token, whose text appears only in requests."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        if not self._text or not self._text.isprintable() or not self._text.isascii():
            raise UserError(
                "the token is empty, or contains characters that no token contains: copy it again"
            )

    def __repr__(self) -> str:
        return f"Token({_SECRET})"

    def reveal(self) -> str:
        return self._text

    def without(self, text: str) -> str:
        """Hides the token in a platform's text, in case the platform repeats the token."""
        return text.replace(self._text, _SECRET)


def find_token(platform: str, site: str) -> Token:
    """Finds a site's token in the environment or keyring; raises `UserError` if there is none."""
    variable = f"{platform.upper()}_TOKEN"
    text = os.environ.get(variable, "") or _from_keyring(site)
    if not text.strip():
        raise UserError(
            f"there is no token for {site}\n"
            f"  fix: run keyring set {KEYRING} {site}, or set the environment variable {variable}; "
            "the token is never taken from a file or an option"
        )
    return Token(text)


def _from_keyring(site: str) -> str:
    try:
        import keyring

        return keyring.get_password(KEYRING, site) or ""
    except Exception:  # no keyring is installed, or it has no working service
        return ""


class Response(Protocol):
    """The part of a response that determines whether to repeat the request."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; their names are not case-sensitive."""
        ...

    @property
    def text(self) -> str: ...


A = TypeVar("A", bound=Response)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Repeats failed requests after a wait.

    `on_wait` is called with the reason for each wait. Tests replace `sleep`, so that they don't
    have to wait.
    """

    sleep: Callable[[float], None] = time.sleep
    on_wait: Callable[[str], None] = lambda text: None

    def ask(self, site: str, once: Callable[[], A], *, is_safe: bool) -> A:
        """Sends a request, repeats it if the platform can't respond yet, and returns the response.

        `once` sends the request, and raises `NoResponse` if there is no response. `is_safe` means
        that the request may be repeated even if it has been carried out. Raises `Unreachable` if
        all tries fail, or `UserError` if the last try receives a file that does not have the
        announced size.
        """
        problem, is_of_one_file = "", False
        for tried in range(_TRIES):
            try:
                answer = once()
            except NoResponse as error:
                problem, wait, may_repeat = str(error), 2.0**tried, is_safe
                is_of_one_file = isinstance(error, DifferentFile)
            else:
                is_of_one_file = False
                is_throttled = _is_throttled(answer)  # a throttled request has not been carried out
                if not is_throttled and answer.status_code not in _OVERLOADED:
                    self._keep_quota(answer.headers)
                    return answer
                problem = f"it responded with status {answer.status_code}"
                wait = max(2.0**tried, _wanted_wait(answer.headers))
                may_repeat = is_safe or is_throttled
                if is_throttled:
                    problem = "too many requests in a short time"
            if not may_repeat or tried == _TRIES - 1:
                break
            self.on_wait(f"{site}: {problem}; trying again in {wait:.0f} s")
            self.sleep(wait)
        if is_of_one_file:
            raise UserError(f"{site}: {problem}, perhaps because it was replaced: pull again")
        raise Unreachable(
            f"{site} can't be reached: {problem}\n  fix: run the command again later; finished "
            "work is kept"
        )

    def _keep_quota(self, headers: Mapping[str, str]) -> None:
        """Waits if Canvas reports that little of the quota for requests is left."""
        with contextlib.suppress(ValueError):
            if float(headers.get("X-Rate-Limit-Remaining", "inf")) < _LOW_QUOTA:
                self.sleep(1.0)


def _is_throttled(answer: Response) -> bool:
    if answer.status_code == 429:
        return True
    return answer.status_code == 403 and _THROTTLED in answer.text.lower()


def _wanted_wait(headers: Mapping[str, str]) -> float:
    try:
        return min(max(float(headers.get("Retry-After", "0")), 0.0), _LONGEST_WAIT)
    except ValueError:  # ignore a date
        return 0.0


def client(site: str) -> httpx.Client:
    """Returns an HTTP client; raises `UserError` if the package httpx is not installed.

    The client refuses redirects that would send a form to another site, because a form contains the
    token.
    """

    def check(request: httpx.Request) -> None:
        if request.method == "POST" and origin(str(request.url)) != origin(site):
            raise refused_redirect(site, str(request.url))

    made: httpx.Client = import_extra("httpx").Client(
        timeout=_TIMEOUT, follow_redirects=True, event_hooks={"request": [check]}
    )
    return made


def refused_redirect(site: str, url: str) -> PlatformFailure:
    """Returns the error for a redirect that would take a token or grades to another site."""
    host = visible(urlsplit(url).hostname or "")
    return PlatformFailure(
        f"{site}: it redirects to {host!r}, which must not get the token or any grade: is the "
        "address right?"
    )


def limited(parts: Iterable[bytes], site: str) -> bytes:
    """Joins the parts of a response; raises `PlatformFailure` if it is too large or too slow."""
    found, size, end = [], 0, time.monotonic() + _LONGEST_ANSWER
    for part in parts:
        found.append(part)
        size += len(part)
        if size > _MOST_ANSWER or time.monotonic() > end:
            raise PlatformFailure(
                f"{site}: a response is larger than {_MOST_ANSWER >> 20} MB, or takes more than "
                f"{_LONGEST_ANSWER / 60:.0f} minutes: is this the address of the right site?"
            )
    return b"".join(found)


def import_extra(module: str) -> Any:
    """Imports a package in the `live` extra; raises `UserError` with a remedy if it is missing."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"pull and push need {error.name}: run {install_with('live')}") from error


@contextlib.contextmanager
def connecting() -> Iterator[None]:
    """Converts connection errors to `NoResponse`, whose text contains no address."""
    import httpx

    try:
        yield
    except httpx.TimeoutException:
        raise NoResponse(f"no response within {_TIMEOUT:.0f} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NoResponse(no_connection(error)) from None


def no_connection(error: Exception) -> str:
    """Returns why a connection failed, without quoting the error, which may contain anything."""
    text = str(error).lower()
    if "certificate" in text or "ssl" in text:
        return "its certificate is not valid, or it does not speak TLS"
    if "name or service" in text or "name resolution" in text or "getaddrinfo" in text:
        return "there is no such host"
    return f"the connection failed ({type(error).__name__})"


def origin(url: str) -> tuple[str, str, int | None]:
    """Returns the scheme, host and port of an address, which identify its site."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)


def _error_in(body: bytes) -> Mapping[str, Any]:
    """Returns Moodle's error in a body, or an empty mapping if the body is something else."""
    with contextlib.suppress(ValueError):
        document = read_untrusted_json(body)
        return document if isinstance(document, Mapping) and "errorcode" in document else {}
    return {}


def read_answer(response: httpx.Response, site: str) -> httpx.Response:
    """Reads the body of an open response; raises `PlatformFailure` if it is too large or slow."""
    import httpx

    body = limited(response.iter_bytes(), site)
    headers = {n: v for n, v in response.headers.items() if n not in _OF_TRANSPORT}
    return httpx.Response(response.status_code, headers=headers, content=body)


def stream_to(path: Path, request: Callable[[], Any], size: int | None, site: str) -> Response:
    """Writes the body of a successful response to `path` in one step; returns the response.

    `request` opens an httpx response as a stream. Raises `NoResponse` if the body ends early or
    takes too long, `DifferentFile` if its size differs from the announced one, and `ErrorBody` if
    the body looks like an error that Moodle sends with a success status.
    """
    with connecting(), request() as response:
        if response.status_code != 200:
            return read_answer(response, site)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            written, head = 0, b""
            end = time.monotonic() + _LONGEST_ANSWER
            for part in response.iter_bytes():
                written += file.write(part)
                if time.monotonic() > end:
                    raise NoResponse(
                        f"{path.name} took more than {_LONGEST_ANSWER / 60:.0f} minutes"
                    )
                head = head or part[:_HEAD]
                if written > (_MOST_BYTES if size is None else size):
                    break
            is_other = size is not None and written != size
            if is_other and (error := _error_in(head)):
                raise ErrorBody(error)
            if is_other or written > _MOST_BYTES:
                raise DifferentFile(
                    f"{path.name!r} does not have the size that the platform reported"
                )
        done: Response = response
        return done
