"""Matches people whose names are written differently on different platforms.

A person's keys are grouped in tiers, the most reliable first. The first tier in which a name is
found decides; if the name matches two people in that tier, nobody is matched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PARTICIPANT = "Participant "
#: the characters that Moodle removes from people's names in file names (its PARAM_FILE)
_NOT_IN_FILES = re.compile(r"""[&<>"`|':\\/]""")


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that is known about a person: identifiers, a platform's numbers, and names.

    `numbers` contains the numbers of platforms, written as identifiers such as `Canvas 17`.
    """

    ids: tuple[str, ...] = ()
    number: str = ""
    names: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Returns the keys in tiers: identifiers, numbers, names, and names without punctuation."""
        forms = tuple(form for name in self.names for form in _forms(name))
        numbered = [f"{form}_{self.number}" for form in (*forms, *map(squashed, forms))]
        mails = [id.partition("@")[0] for id in self.ids if "@" in id]
        number = [self.number, _PARTICIPANT + self.number, *numbered] if self.number else []
        return (
            tuple(map(normal, self.ids)),
            tuple(map(normal, (*self.numbers, *number))),
            tuple(map(normal, (*forms, *mails))),
            tuple(map(squashed, forms)),
        )


def _forms(name: str) -> tuple[str, ...]:
    """Returns the forms of a name such as `Lovelace, Ada`, including those in Moodle's files."""
    last, comma, first = (part.strip() for part in name.partition(","))
    whole = (name, f"{first} {last}") if comma else (name,)
    return tuple(dict.fromkeys((*whole, *(_NOT_IN_FILES.sub("", form) for form in whole))))


def number_in(text: str) -> str:
    """Returns the number in a string such as `Participant 17`, or the string if there is none."""
    return re.sub(r"^[^0-9]+(?=[0-9]+$)", "", text.strip())


def canvas_number(number: str) -> str:
    """Formats a Canvas number, which doesn't change with a person's name, as an identifier."""
    return f"Canvas {number}"


def moodle_number(number: str) -> str:
    """Formats a Moodle number, which identifies a person in one assignment, as an identifier."""
    return f"Moodle participant {number}"


def repository_login(login: str) -> str:
    """Formats a code-classroom login as an identifier that can't equal a login elsewhere."""
    return f"repository {login}"


def without_group(name: str) -> tuple[str, ...]:
    """Returns the text after each hyphen in a name, because Moodle puts a group's name first.

    `Blue Team-Orla Vell` gives `Orla Vell`; `Jean-Luc` gives `Luc`.
    """
    parts = name.split("-")
    return tuple("-".join(parts[start:]).strip() for start in range(1, len(parts)))


def is_number(name: str) -> bool:
    """Returns whether a name is a Canvas or Moodle number formatted as an identifier."""
    return name.startswith((canvas_number(""), moodle_number("")))


def normal(text: str) -> str:
    """Normalizes the case, the Unicode form and the spaces of a name or identifier."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def squashed(text: str) -> str:
    """Returns only a name's letters and digits, in lower case, as in Canvas's file names."""
    return "".join(sign for sign in normal(text) if sign.isalnum())


def in_any_order(name: str) -> str:
    """Sorts the parts of a name, so that `Lovelace, Ada` and `Ada Lovelace` become equal."""
    return " ".join(sorted(normal(name.replace(",", " ")).split()))


class Index:
    """Finds people by their keys."""

    def __init__(self, people: Sequence[Identity]) -> None:
        self._tiers: list[dict[str, set[int]]] = []
        for person, identity in enumerate(people):
            for tier, keys in enumerate(identity.tiers()):
                if tier == len(self._tiers):
                    self._tiers.append({})
                for key in filter(None, keys):
                    self._tiers[tier].setdefault(key, set()).add(person)

    def find(self, name: str) -> frozenset[int]:
        """Returns the positions of the people whom a name may mean: just one if there is no doubt.

        The name may have any form, such as `Lovelace, Ada`.
        """
        forms = _forms(name)
        for tier, known in enumerate(self._tiers):
            keys = map(squashed if tier == len(self._tiers) - 1 else normal, forms)
            if found := frozenset[int]().union(*(known.get(key, ()) for key in keys if key)):
                return found
        return frozenset()


def only_item(found: Iterable[int]) -> int | None:
    """Returns the only number in a set, or None if the set contains several or none."""
    numbers = list(found)
    return numbers[0] if len(numbers) == 1 else None
