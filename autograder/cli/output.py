"""Prints commands' output for people and for machines; defines the class of all commands."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Console

from ..escaping import for_json

F = TypeVar("F", bound=Callable[..., Any])

#: the exit status of a command that did everything it could, but left something to a person
WAITS = 3

#: the width, in columns, of output to a log or a file instead of a terminal
_WIDE = 160

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _WIDE)
errors = Console(stderr=True, highlight=False, emoji=False)


def emit(document: Any) -> None:
    """Prints the JSON document that is the whole output of a command called with `--json`."""
    click.echo(for_json(document, indent=2, default=str))


def as_json(command: F) -> F:
    """Adds the option `--json` to a command."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else."
    )(command)


class StrictCommand(click.Command):
    """A command that rejects an option given twice, for which click would use the last value.

    Flags may be repeated, and so may options that accept several values.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments after checking how many times each option is given."""
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            for option, times in Counter(given).items():
                if times > 1 and isinstance(option, click.Option) and _says_one_thing(option):
                    name = "/".join((*option.opts, *option.secondary_opts))
                    ctx.fail(f"{name} was given {times} times; give it only once.")
        return super().parse_args(ctx, args)


def _says_one_thing(option: click.Option) -> bool:
    is_plain_flag = option.is_flag and not option.secondary_opts
    return not (option.multiple or option.count or is_plain_flag)


command = functools.partial(click.command, cls=StrictCommand)
