"""Defines the invented class: the students' names, numbers on the platforms, and sections."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST = ("Zoë", 'Jo "J"', "小龙", "Chiara", "Seán", "María José")
_LAST = ("O'Brien", "Doe", "李", "Müller", "van der Berg", "Gutiérrez-García")


#: two people with the same name
NAMESAKES = (9, 11)
#: the members of a team, its name, and the week in which it submits once for both on Moodle
TEAM, TEAM_NAME, TEAM_WEEK = (0, 4), "Night Owls", 5


@dataclass(frozen=True)
class Student:
    """One person in the class, as all platforms know them."""

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
        """The name, with the first name before the last."""
        last, _, first = self.last_first.partition(", ")
        return f"{first} {last}"

    @property
    def login(self) -> str:
        """The student's name in the roster's column `student`."""
        return f"login{self.n}"

    @property
    def github(self) -> str:
        """The account in the code classroom."""
        return f"octo-{self.n}"

    @property
    def email(self) -> str:
        return f"s{self.n}@u.example"

    @property
    def canvas(self) -> int:
        """The student's number in Canvas."""
        return 100 + self.n

    def participant(self, week: int) -> int:
        """Returns the student's number in Moodle, which differs in each assignment."""
        return 5000 * week + 7 * self.n

    @property
    def team(self) -> str:
        """The student's group in Moodle's group mode."""
        return ("Blue Team", "Red-Team")[self.n % 2]

    @property
    def group(self) -> str:
        """The group on the roster, which is empty for students outside the team."""
        return TEAM_NAME if self.n in TEAM else ""

    @property
    def section(self) -> str:
        return "ABC"[self.n % 3]
