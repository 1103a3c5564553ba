"""The mistakes of a question as rows: what each is called, and what a student reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from io import StringIO
from tokenize import NAME, TokenError, generate_tokens
from typing import Any

from ...suite.variants import Variant
from .families import Member
from .families.words import LEAD, id_of, lead_of, words_of

_CODE = re.compile(r"`[^`]*?(\w+)[^\w`]*`")


@dataclass(frozen=True, slots=True)
class Row:
    """One mistake that can be told.

    `code` are the words of code that it speaks of: an answer without them is another mistake. Of
    those that fit, the lowest rank is told. A family's row has `words`, a `detail` that its member
    says of itself, a `lead` from there, and the `member`'s number; it is `in_check` where it
    changes what is refused.
    """

    name: str
    hint: str
    rank: int = 0
    code: tuple[str, ...] = ()
    words: str = ""
    detail: str = ""
    lead: str = ""
    member: int = -1
    in_check: bool = False

    @classmethod
    def of_entry(cls, variant: Variant) -> Row:
        """Of an entry of the catalogue."""
        return cls(variant.name, hint_of(variant), code=tuple(_CODE.findall(variant.confuses)))

    @classmethod
    def of_member(cls, member: Member, number: int) -> Row:
        """Of a member of a family."""
        words, lead = words_of(member.key), lead_of(member.key)
        return cls(
            id_of(member.key),
            _as_if(words, lead),
            member.rank,
            words=words,
            detail=member.detail(),
            lead=lead,
            member=number,
            in_check=member.in_check,
        )

    @classmethod
    def of_both(cls, one: Row, other: Row) -> Row:
        """Of two members at once: both sentences, and the name of the lower rank."""
        words = _both(one.words, other.words)
        detail = _both(one.detail or one.words, other.detail or other.words)
        name, rank = min(one, other, key=lambda row: row.rank).name, max(one.rank, other.rank)
        return cls(name, _as_if(words, LEAD), rank, words=words, detail=detail, lead=LEAD)

    @classmethod
    def shown(cls, name: str, told: str, lead: str) -> Row:
        """Of what an answer shows by itself, in words; no code does the same."""
        return cls(name, f"{told[0].upper()}{told[1:]}. {lead}")

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Row:
        """As `to_json` wrote it."""
        return cls(**{**plain, "code": tuple(plain["code"])})

    def to_json(self) -> dict[str, Any]:
        """As a table keeps it."""
        return asdict(self)

    @property
    def is_entry(self) -> bool:
        """Whether the catalogue holds it."""
        return self.member < 0

    @property
    def precise(self) -> str:
        """What a student reads where all that fit say the same of themselves."""
        return _as_if(self.detail or self.words, self.lead) if self.words else self.hint

    def is_spoken_of_in(self, text: str) -> bool:
        """Whether code has one of the words that the mistake speaks of, if it does of any."""
        return not self.code or not names_in(text).isdisjoint(self.code)


def name_and_hint(entries: Sequence[Row], members: Sequence[Row]) -> tuple[str, str]:
    """What is told of rows that all fit: of entries, else of the lowest rank; empty for no one."""
    rank = min((row.rank for row in members), default=0)
    rows = entries or [row for row in members if row.rank == rank]
    names, hints = {row.name for row in rows}, {row.hint for row in rows}
    if len(hints) == 1:  # what one says of itself is true of all that answer alike
        hints = {next((row.precise for row in rows if row.detail), *hints)}
    return names.pop() if len(names) == 1 else "", hints.pop() if len(hints) == 1 else ""


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    confused, _, happens = variant.confuses.rstrip(".").partition(": ")
    if happens:
        return f"The likely mistake: {happens}. {variant.hint}"
    return f"It looks as if this answer confuses {confused}. {variant.hint}"


@lru_cache(maxsize=8)
def names_in(text: str) -> frozenset[str]:
    """The words of code, and of no comment or text in it; all of them where it is no Python."""
    try:
        tokens = [*generate_tokens(StringIO(text).readline)]
    except (TokenError, SyntaxError):
        return frozenset(re.findall(r"\w+", text))
    return frozenset(token.string for token in tokens if token.type == NAME)


def _as_if(words: str, lead: str) -> str:
    """It speaks of behaviour: code that does the same in another way has no such step or tensor."""
    return f"This answer behaves as if {words}. {lead}"


def _both(one: str, other: str) -> str:
    return f"{one}, in two places" if one == other else f"{one}; and {other}"
