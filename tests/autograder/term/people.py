"""Who is in the made-up class: names, numbers of the platforms, sections."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = ("Zoë", 'Jo "J"', "小龙", "Chiara", "Seán", "María José")
_LAST = ("O'Brien", "Doe", "李", "Müller", "van der Berg", "Gutiérrez-García")


#: two who have one name
NAMESAKES = (9, 11)


@dataclass(frozen=True)
class Student:
    """One of the class, as all platforms know them."""

    n: int

    @property
    def last_first(self) -> str:
        """As Canvas sorts them: commas, quotes, umlauts, CJK and apostrophes are among them."""
        if self.n in NAMESAKES:
            return "Müller, Chiara"
        if self.n % 3:
            return f"Number{self.n}, Student"
        return f"{_LAST[self.n // 3 % 6]} {self.n}, {_FIRST[self.n // 18 % 6]}"

    @property
    def name(self) -> str:
        """As people write it."""
        last, _, first = self.last_first.partition(", ")
        return f"{first} {last}"

    @property
    def login(self) -> str:
        """What the roster calls them."""
        return f"login{self.n}"

    @property
    def github(self) -> str:
        """The account of the code classroom."""
        return f"octo-{self.n}"

    @property
    def email(self) -> str:
        """Where they are reached."""
        return f"s{self.n}@u.example"

    @property
    def canvas(self) -> int:
        """Canvas's number of them."""
        return 100 + self.n

    def participant(self, week: int) -> int:
        """Moodle's number of them, another one in each assignment."""
        return 5000 * week + 7 * self.n

    @property
    def team(self) -> str:
        """One of two groups on Moodle."""
        return ("Blue Team", "Red-Team")[self.n % 2]

    @property
    def section(self) -> str:
        """One of three."""
        return "ABC"[self.n % 3]
