"""Creates canvasapi's HTTP session, which adds the token, repeats requests and limits responses."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .http import (
    NoResponse,
    RetryPolicy,
    Token,
    import_extra,
    limited,
    no_connection,
    origin,
    refused_redirect,
)

if TYPE_CHECKING:
    import requests

_TIMEOUT = 60.0
#: how many bytes of a response to read at a time
_CHUNK = 1 << 16


def session(site: str, token: Token, retry: RetryPolicy) -> requests.Session:
    """Returns a session that adds the token, and waits if Canvas throttles requests."""
    package = import_extra("requests")
    own = origin(site)

    class Session(package.Session):  # type: ignore[name-defined,misc]  # imported when needed
        def send(self, request: Any, **kwargs: Any) -> Any:
            """Sends a request, which may follow a redirect, but sends no token to other sites."""
            request.headers.pop("Authorization", None)
            if origin(request.url) == own:
                request.headers["Authorization"] = f"Bearer {token.reveal()}"
            kwargs["timeout"] = _TIMEOUT

            def once() -> Any:
                try:
                    return super(Session, self).send(request, **kwargs)
                except package.Timeout:
                    raise NoResponse(f"no response within {_TIMEOUT:.0f} s") from None
                except package.RequestException as error:
                    raise NoResponse(no_connection(error)) from None

            return retry.ask(site, once, is_safe=request.method == "GET")

        def rebuild_auth(self, request: Any, response: Any) -> None:
            """Refuses to follow a redirect that would send data, such as grades, to other sites."""
            if request.method not in ("GET", "HEAD") and origin(request.url) != origin(
                response.url
            ):
                raise refused_redirect(site, request.url)

    class Adapter(package.adapters.HTTPAdapter):  # type: ignore[name-defined,misc]  # as above
        def send(self, request: Any, stream: bool = False, **kwargs: Any) -> Any:
            """Reads the body of every response, including redirects, within limits."""
            answer = super().send(request, stream=True, **kwargs)
            with contextlib.closing(answer.raw):
                answer._content = limited(answer.iter_content(_CHUNK), site)
            return answer

    made: requests.Session = Session()
    for scheme in ("https://", "http://"):
        made.mount(scheme, Adapter())
    return made
