"""Commands whose options are given once: of two values nobody can tell which one was meant."""

from __future__ import annotations

import functools
from collections import Counter

import click


class Once(click.Command):
    """A command that refuses an option which is given twice; click would take the last in silence.

    Options that may be given several times, and flags that say the same again, are left alone.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, after a look at what was given how often."""
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


command = functools.partial(click.command, cls=Once)
