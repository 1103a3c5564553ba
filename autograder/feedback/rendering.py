"""Renders templates as self-contained pages; values are escaped, and only known scripts run."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..counts import number_of
from ..escaping import for_html
from ..results.wording import (
    amount,
    penalty_text,
    readable,
    readable_test,
    title_of,
    worth_text,
)


def render(template: str, **values: Any) -> str:
    """Returns a page made from a template; the page's security policy allows no scripts."""
    return "".join(rendered(template, **values))


def rendered(
    template: str, script: str = "", titles: Mapping[str, str] | None = None, **values: Any
) -> Iterator[str]:
    """Yields the parts of the page that `render` returns, so that memory never holds a large page.

    If `script` names a script next to the templates, the page contains the script, and the security
    policy allows it. `titles` contains the titles of assignments.
    """
    style, code = _text("style.css"), _text(script) if script else ""
    scripts = f"script-src {_source(code)}; " if code else ""
    policy = (
        f"default-src 'none'; style-src {_source(style)}; {scripts}"
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    values |= {"title_of": partial(title_of, titles=titles or {}), "number_of": number_of}
    return page.generate(style=style, script=code, policy=policy, **values)


def _source(text: str) -> str:
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


class _Markup(str):
    """Text that is put into a page without being escaped."""

    def __html__(self) -> _Markup:
        return self


def _escaped(value: Any) -> Any:
    """Escapes a string for a page; returns markup and values of other types unchanged."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return _Markup(for_html(value)) if is_text else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escaped,
    )
    environment.filters |= {"amount": amount, "readable": readable, "test_name": readable_test}
    environment.filters |= {"worth": worth_text, "penalty": penalty_text, "number_of": number_of}
    return environment
