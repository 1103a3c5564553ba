"""A command class that refuses an option given twice, because it is unclear which value applies."""

from __future__ import annotations

import functools
from collections import Counter

import click


class StrictCommand(click.Command):
    """A command that refuses an option given twice; click would silently use the last value.

    Options that may be repeated, and plain flags, are left alone.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments, after checking how often each option is given."""
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            for option, times in Counter(given).items():
                if times > 1 and isinstance(option, click.Option) and _says_one_thing(option):
                    name = "/".join((*option.opts, *option.secondary_opts))
                    ctx.fail(f"{name} was given {times} times: which one is meant? Give it once.")
        return super().parse_args(ctx, args)


def _says_one_thing(option: click.Option) -> bool:
    is_plain_flag = option.is_flag and not option.secondary_opts
    return not (option.multiple or option.count or is_plain_flag)


command = functools.partial(click.command, cls=StrictCommand)
