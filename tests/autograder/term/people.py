"""The people of the made-up class, with names, platforms' numbers and sections."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = ("Zoë", 'Jo "J"', "小龙", "Chiara", "Seán", "María José")
_LAST = ("O'Brien", "Doe", "李", "Müller", "van der Berg", "Gutiérrez-García")


#: two people with the same name
NAMESAKES = (9, 11)
#: the members of a team, its name, and the assignment of Moodle that it submits once for both
TEAM, TEAM_NAME, TEAM_WEEK = (0, 4), "Night Owls", 5


@dataclass(frozen=True)
class Student:
    """One person of the class, as all platforms know them."""

    n: int

    @property
    def last_first(self) -> str:
        """The sortable name on Canvas; some have commas, quotes, umlauts or CJK characters."""
        if self.n in NAMESAKES:
            return "Müller, Chiara"
        if self.n % 3:
            return f"Number{self.n}, Student"
        return f"{_LAST[self.n // 3 % 6]} {self.n}, {_FIRST[self.n // 18 % 6]}"

    @property
    def name(self) -> str:
        """The name as people write it."""
        last, _, first = self.last_first.partition(", ")
        return f"{first} {last}"

    @property
    def login(self) -> str:
        """The name on the roster."""
        return f"login{self.n}"

    @property
    def github(self) -> str:
        """The account of the code classroom."""
        return f"octo-{self.n}"

    @property
    def email(self) -> str:
        """The e-mail address."""
        return f"s{self.n}@u.example"

    @property
    def canvas(self) -> int:
        """Canvas's number of the person."""
        return 100 + self.n

    def participant(self, week: int) -> int:
        """Moodle's number of the person, which differs in each assignment."""
        return 5000 * week + 7 * self.n

    @property
    def team(self) -> str:
        """One of the two groups on Moodle."""
        return ("Blue Team", "Red-Team")[self.n % 2]

    @property
    def group(self) -> str:
        """The group on the roster."""
        return TEAM_NAME if self.n in TEAM else ""

    @property
    def section(self) -> str:
        """One of the three sections."""
        return "ABC"[self.n % 3]
