"""Connects a class to a platform, and matches the course's assignments with the platform's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ..classroom import Link, PeopleList, listed_people, read_links, write_links
from ..classroom.links import LINKS_FILE
from ..course import Course, words_of
from ..errors import UserError
from ..files import running_alone
from ..live import Member, Platform, PlatformAssignment, RetryPolicy, Token, address_of, connect
from ..records import Assignment
from ..submission.class_files import class_home
from .courses import class_course, course_of_class

_LOCK = ".live.lock"
_MOST = 8


@dataclass(frozen=True, slots=True)
class Access:
    """The options for connecting to a course on a platform.

    `at` is the address of the course page, which is needed only once, because it is stored with the
    class. `links` maps assignments to their numbers on the platform, if the platform uses different
    names. Tests replace `token` and `retry`.
    """

    at: str | None = None
    links: Mapping[str, str] | None = None
    token: Token | None = None
    retry: RetryPolicy | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection to a course on a platform.

    `works` maps each linked assignment in the course to the matching assignment on the platform.
    `unlinked` maps each other assignment to the reason why it is not linked; `notes` contains
    messages for the user.
    """

    key: str
    platform: Platform
    title: str
    address: str
    folder: Path
    course: Course
    course_folder: Path
    works: Mapping[str, PlatformAssignment]
    notes: tuple[str, ...]
    unlinked: Mapping[str, str]

    def keep(self) -> None:
        """Stores the address and the links in the class folder."""
        number = address_of(self.key, self.address).course
        own = Link(self.key, "", number, self.title, self.address)
        links = [Link(self.key, name, w.number, w.title) for name, w in self.works.items()]
        known = read_links(self.folder, self.key)
        now = {**known, **{link.assignment: link for link in (own, *links)}}
        if now != known:
            write_links(self.folder, self.key, now.values())

    def listed(self, members: Iterable[Member]) -> PeopleList:
        """Returns the platform's members as a list of people.

        The list contains members' numbers only for Canvas, where equal numbers always mean the same
        person.
        """
        is_canvas = self.key == "canvas"
        rows = [
            {
                "student": ""
                if m.login or m.sis_id or m.email or is_canvas
                else f"moodle{m.number}",
                "name": m.name,
                "email": m.email,
                "login": m.login,
                "sis_id": m.sis_id,
                "number": m.number if is_canvas else "",
                "section": "; ".join(m.sections),
                "group": "; ".join(m.groups),
            }
            for m in members
        ]
        if not rows:
            raise UserError(
                f"{self.address}: the course has no students, or the token gives no access to them"
            )
        found = listed_people(list(rows[0]), rows, Path(self.platform.name))
        return replace(found, has_sure_numbers=is_canvas)


def open_connection(
    platform: str,
    class_folder: Path | str,
    access: Access,
    course: Path,
    *,
    with_notebooks: bool = False,
) -> Connection:
    """Connects a class to its course on a platform.

    Raises `UserError` if the address or the token is missing, or if the platform refuses access. If
    `with_notebooks` is true, also links nbgrader's own assignments, which have grades but no
    exercises.
    """
    folder = class_home(class_folder)
    of_class = (class_course if with_notebooks else course_of_class)(course, folder)
    known = read_links(folder, platform)
    url = _url(platform, known.get(""), access.at, folder)
    there = connect(address_of(platform, url), access.token, access.retry)
    title = there.title()
    linking = _Linking(there.name, known, there.works(), access.links or {})
    works = {a.name: work for a in of_class.assignments if (work := linking.work_of(a))}
    linking.check_chosen(of_class)
    _check_apart(works)
    return Connection(
        key=platform,
        platform=there,
        title=title,
        address=url,
        folder=folder,
        course=of_class,
        course_folder=course,
        works=works,
        notes=tuple(linking.notes),
        unlinked=linking.unlinked(works),
    )


def _url(platform: str, known: Link | None, at: str | None, folder: Path) -> str:
    if at is None and known is None:
        raise UserError(
            f"{folder} has no course on {platform} yet: name it once, with --at and the address "
            "of the course's page in the browser"
        )
    if at is None or known is None:
        return at or (known.address if known else "")
    if address_of(platform, at) != address_of(platform, known.address):
        raise UserError(
            f"{folder} belongs to {known.address} ({known.title}), and not to {at}: use another "
            f"class folder, or delete {folder / LINKS_FILE} if the course has moved"
        )
    return at


def _check_apart(works: Mapping[str, PlatformAssignment]) -> None:
    names: dict[str, str] = {}
    for name, work in works.items():
        if (other := names.setdefault(work.number, name)) != name:
            raise UserError(
                f"{other} and {name} are both linked to {work.title!r} ({work.number}): link each "
                "to a different assignment, with --link NAME=NUMBER"
            )


class _Linking:
    """Finds the course's assignments on the platform, by a chosen or stored number or by name."""

    def __init__(
        self,
        platform: str,
        known: Mapping[str, Link],
        works: Sequence[PlatformAssignment],
        chosen: Mapping[str, str],
    ) -> None:
        self._platform, self._known, self._chosen = platform, known, chosen
        self._works = {work.number: work for work in works}
        self.notes: list[str] = []
        self._doubts: dict[str, str] = {}
        self._missing: list[str] = []

    def check_chosen(self, course: Course) -> None:
        """Raises `UserError` if a chosen assignment is not in the course or not on the platform."""
        for name, number in self._chosen.items():
            course.assignment(name)
            if number not in self._works:
                raise UserError(
                    f"{self._platform} has no assignment {number}; known: "
                    f"{self._listed(self._works.values())}"
                )

    def work_of(self, assignment: Assignment) -> PlatformAssignment | None:
        """Returns the platform's matching assignment, or None unless exactly one matches."""
        name = assignment.name
        if number := self._chosen.get(name):
            return self._works.get(number)
        link = self._known.get(name)
        if link is not None and (work := self._works.get(link.number)):
            if work.title != link.title:
                self.notes.append(f"{name}: {link.title!r} is now called {work.title!r}")
            return work
        if link is not None:
            self.notes.append(f"{name}: {link.title!r} ({link.number}) no longer exists")
        ours = {words_of(name), words_of(assignment.title)}
        found = [work for work in self._works.values() if words_of(work.title) in ours]
        if len(found) > 1:
            self._doubts[name] = f"{self._listed(found)} may both be {name}"
        elif not found:
            self._missing.append(name)
        return found[0] if len(found) == 1 else None

    def unlinked(self, works: Mapping[str, PlatformAssignment]) -> Mapping[str, str]:
        """Returns a message with the reason and the remedy for each unlinked assignment."""
        taken = {work.number for work in works.values()}
        others = [work for work in self._works.values() if work.number not in taken]
        there = self._listed(others) if others else "no other assignments"
        why = {name: f"{self._platform} has no assignment with this name" for name in self._missing}
        return {
            name: f"{name}: {reason}; it has {there}. Link it with --link {name}=NUMBER"
            for name, reason in (self._doubts | why).items()
        }

    @staticmethod
    def _listed(works: Iterable[PlatformAssignment]) -> str:
        found = [f"{work.title!r} ({work.number})" for work in works]
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        return f"{', '.join(found[:_MOST])}{more}"


def connected_alone(class_folder: Path) -> AbstractContextManager[None]:
    """Prevents other pulls and pushes during the block; raises `UserError` if one is running."""
    return running_alone(class_folder / _LOCK, "pull or push")
