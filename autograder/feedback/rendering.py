"""Templates become self-contained pages: escaped, with no script but ours, nothing from outside."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..results.wording import amount, readable, readable_test


def render(template: str, script: str = "", **values: Any) -> str:
    """The page of a template; its policy allows its own style sheet and nothing else.

    `script` names one of ours beside the templates, which its policy then allows, too.
    """
    style, code = _text("style.css"), _text(script) if script else ""
    scripts = f"script-src {_source(code)}; " if code else ""
    policy = (
        f"default-src 'none'; style-src {_source(style)}; {scripts}"
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    return page.render(style=style, script=code, policy=policy, **values)


def _source(text: str) -> str:
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"amount": amount, "readable": readable, "test_name": readable_test}
    return environment
