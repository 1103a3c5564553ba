"""Who is who: a name as one platform writes it, found among people as another one lists them.

Keys come in tiers of certainty; the surest tier that knows a name decides, and a name that fits two
people there fits nobody for certain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PARTICIPANT = "Participant "
#: what Moodle leaves out of a name when it makes a file's name of it (its PARAM_FILE)
_NOT_IN_FILES = re.compile(r"""[&<>"`|':\\/]""")


@dataclass(frozen=True, slots=True)
class Identity:
    """All that is known of one person: identifiers, a platform's number, names."""

    ids: tuple[str, ...] = ()
    number: str = ""
    names: tuple[str, ...] = ()

    def tiers(self) -> tuple[tuple[str, ...], ...]:
        """Keys, the surest first: identifiers, numbers, names, names without signs."""
        forms = tuple(form for name in self.names for form in _forms(name))
        numbered = [f"{form}_{self.number}" for form in (*forms, *map(squashed, forms))]
        mails = [id.partition("@")[0] for id in self.ids if "@" in id]
        number = [self.number, _PARTICIPANT + self.number, *numbered] if self.number else []
        return (
            tuple(map(normal, self.ids)),
            tuple(map(normal, number)),
            tuple(map(normal, (*forms, *mails))),
            tuple(map(squashed, forms)),
        )


def _forms(name: str) -> tuple[str, ...]:
    """`Lovelace, Ada` in both orders, and each as Moodle writes it into a file's name."""
    last, comma, first = (part.strip() for part in name.partition(","))
    whole = (name, f"{first} {last}") if comma else (name,)
    return tuple(dict.fromkeys((*whole, *(_NOT_IN_FILES.sub("", form) for form in whole))))


def number_in(text: str) -> str:
    """The number of `Participant 17`, in whatever language; another text as it is."""
    return re.sub(r"^[^0-9]+(?=[0-9]+$)", "", text.strip())


def canvas_number(number: str) -> str:
    """Canvas's number of a person as an identifier: it stays when the name there changes."""
    return f"Canvas {number}"


def moodle_number(number: str) -> str:
    """Moodle's number as an identifier: it is one person's in one assignment."""
    return f"Moodle participant {number}"


def is_number(name: str) -> bool:
    """Whether a name is a platform's number as an identifier, which no name beats."""
    return name.startswith((canvas_number(""), moodle_number("")))


def normal(text: str) -> str:
    """A name or identifier without what differs by accident: case, accents' form, spaces around."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def squashed(text: str) -> str:
    """Letters and digits alone, which is what Canvas leaves of a name."""
    return "".join(sign for sign in normal(text) if sign.isalnum())


class Index:
    """People by their keys."""

    def __init__(self, people: Sequence[Identity]) -> None:
        self._tiers: list[dict[str, set[int]]] = []
        for person, identity in enumerate(people):
            for tier, keys in enumerate(identity.tiers()):
                if tier == len(self._tiers):
                    self._tiers.append({})
                for key in filter(None, keys):
                    self._tiers[tier].setdefault(key, set()).add(person)

    def find(self, name: str) -> frozenset[int]:
        """The numbers of the people that a name may be; one where it is certain."""
        for tier, known in enumerate(self._tiers):
            key = squashed(name) if tier == len(self._tiers) - 1 else normal(name)
            if found := known.get(key):
                return frozenset(found)
        return frozenset()


def only(found: Iterable[int]) -> int | None:
    """The one that was found, or None where there are several or none."""
    numbers = list(found)
    return numbers[0] if len(numbers) == 1 else None
