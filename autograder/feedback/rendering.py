"""Templates become self-contained pages: escaped, no scripts, nothing from outside."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..results.wording import amount, readable, readable_test


def render(template: str, **values: Any) -> str:
    """The page of a template; its policy allows its own style sheet and nothing else."""
    style = _style()
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return _environment().get_template(template).render(style=style, policy=policy, **values)


@cache
def _style() -> str:
    return files(__package__).joinpath("templates", "style.css").read_text(encoding="utf-8")


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
