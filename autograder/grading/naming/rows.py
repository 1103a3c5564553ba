"""Defines the rows for a question's mistakes, each with a name and a description for students."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from io import StringIO
from tokenize import NAME, TokenError, generate_tokens
from typing import Any

from ...suite.variants import Variant
from .families import Member
from .families.words import LEAD, frequency_place, id_of, lead_of, words_of

#: the note about a mistake that does not explain every value
NOTE = " There may be another mistake as well."
#: the family whose words don't say what is wrong
_VAGUE = "one_step_is_left_out"
_CONDITION = re.compile(r"^if ([^,]*), (.*)$")
_CODE = re.compile(r"`[^`]*?(\w+)[^\w`]*`")


@dataclass(frozen=True, slots=True)
class Row:
    """A mistake that can be reported.

    `code` contains the names that the description quotes; an answer that contains none of these
    names has a different mistake. Of the rows that fit, the one with the lowest rank is reported.
    `words` contains the description of the mistake. The row for a member of a family also contains
    the member's number (`member`), a `detail` about the change, and the family's key (`key`) and
    hint (`lead`). `in_check` is true if the mistake changes which inputs are rejected.
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
    key: str = ""

    @classmethod
    def of_entry(cls, variant: Variant) -> Row:
        """Returns the row for a catalog entry."""
        code = tuple(_CODE.findall(variant.confuses))
        return cls(variant.name, hint_of(variant), code=code, words=_happens_in(variant))

    @classmethod
    def of_member(cls, member: Member, number: int) -> Row:
        """Returns the row for a member of a family."""
        return cls._of_family(member.key, member.rank, member.detail(), number, member.in_check)

    @classmethod
    def _of_family(cls, key: str, rank: int, detail: str, number: int, in_check: bool) -> Row:
        words, lead = words_of(key), lead_of(key)
        own = (words, detail, lead, number, in_check, key)
        return cls(id_of(key), _as_if(words, lead), rank, (), *own)

    @classmethod
    def of_both(cls, one: Row, other: Row) -> Row:
        """Returns a row that describes two mistakes, named after the mistake with the lower rank.

        If only one of the two descriptions says what is wrong, the row describes only that mistake,
        because the other mistake may be a different way to get the same values.
        """
        told = [row for row in (one, other) if not row.is_vague]
        if len(told) == 1:
            return replace(told[0], hint=told[0].precise + NOTE, detail="")
        words = _both(one.words, other.words)
        detail = _both(one.detail or one.words, other.detail or other.words)
        name, rank = min(one, other, key=lambda row: row.rank).name, max(one.rank, other.rank)
        return cls(name, _as_if(words, LEAD), rank, words=words, detail=detail, lead=LEAD)

    @classmethod
    def shown(cls, name: str, sentence: str, lead: str) -> Row:
        """Returns a row that describes an answer's results instead of a known mistake."""
        return cls(name, f"{sentence[0].upper()}{sentence[1:]}. {lead}")

    @classmethod
    def from_json(cls, plain: Any) -> Row:
        """Converts the output of `to_json` back to a row."""
        if isinstance(plain, str):
            return cls(plain, "")
        if isinstance(plain, list):
            return cls._of_family(*plain)
        return cls(**{**plain, "code": tuple(plain["code"])})

    def to_json(self) -> Any:
        """Returns the row in the form in which a table stores it, without the description.

        Tables do not contain descriptions, because a description may be reworded when the results
        stay the same.
        """
        if self.is_entry:
            return self.name
        if self.key:
            return [self.key, self.rank, self.detail, self.member, self.in_check]
        return asdict(self)

    @property
    def is_entry(self) -> bool:
        """Returns whether the row is an entry in the catalog."""
        return self.member < 0

    @property
    def is_vague(self) -> bool:
        """Returns whether the row says only that something is missing, but not what is missing."""
        return self.key == _VAGUE and not self.detail

    @property
    def precise(self) -> str:
        """The text for a student, with the row's detail if there is one."""
        return _as_if(self.detail or self.words, self.lead) if self.lead else self.hint

    def is_spoken_of_in(self, text: str) -> bool:
        """Returns True if the description quotes a name that code contains, or quotes no name."""
        return not self.code or not names_in(text).isdisjoint(self.code)


def name_and_hint(entries: Sequence[Row], members: Sequence[Row]) -> tuple[str, str]:
    """Returns a name and a hint for rows that all fit; prefers entries, then rows of lowest rank.

    Of members with equal results, only those of the most frequent family count, because the others
    are rarer causes of the same behavior. If the remaining rows have different names, the name is
    empty; if they have different hints, the hint is empty.
    """
    rank = min((row.rank for row in members), default=0)
    lowest = [row for row in members if row.rank == rank]
    place = min((frequency_place(row.name) for row in lowest), default=0)
    rows = entries or [row for row in lowest if frequency_place(row.name) == place]
    names, hints = {row.name for row in rows}, {row.hint for row in rows}
    details = {row.precise for row in rows if row.detail}
    # rows with equal results may change different places
    hints = details if len(hints) == len(details) == 1 else hints
    return names.pop() if len(names) == 1 else "", hints.pop() if len(hints) == 1 else ""


def hint_of(variant: Variant) -> str:
    """Returns the text for a student: the likely mistake, and a question or a step."""
    confused, _, happens = variant.confuses.rstrip(".").partition(": ")
    lead = "The likely mistake:" if happens else "It looks as if this answer confuses"
    return f"{lead} {happens or confused}. {variant.hint}"


def _happens_in(variant: Variant) -> str:
    """Returns an entry's description in a form that can follow "This answer behaves as if"."""
    confused, _, happens = variant.confuses.rstrip(".").partition(": ")
    happens = _CONDITION.sub(r"\2 if \1", happens)  # not "as if if"
    return happens or f"it confuses {confused}"


@lru_cache(maxsize=8)
def names_in(text: str) -> frozenset[str]:
    """Returns the names in code, or all words in the code if it is not valid Python."""
    try:
        tokens = [*generate_tokens(StringIO(text).readline)]
    except (TokenError, SyntaxError):
        return frozenset(re.findall(r"\w+", text))
    return frozenset(token.string for token in tokens if token.type == NAME)


def _as_if(words: str, lead: str) -> str:
    """Describes only the answer's behavior, because different code may behave in the same way."""
    return f"This answer behaves as if {words}. {lead}"


def _both(one: str, other: str) -> str:
    return f"{one}, in two places" if one == other else f"{one}; and {other}"
