"""Reads the people, assignments, submissions and grades that Moodle's functions return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..classroom.times import read_time
from .platform_records import (
    Attempt,
    Member,
    PlatformAssignment,
    SubmittedFile,
    number_of,
    typed_file,
)

_STUDENT = "student"
#: Moodle's standard roles for people who do not submit
_STAFF = frozenset(("manager", "coursecreator", "editingteacher", "teacher", "guest"))

Values = Mapping[str, Any]


def students(users: Sequence[Values]) -> Sequence[Values]:
    """Returns the users with a student's role; if there are none, all users who are not staff."""
    roles = [{str(role.get("shortname")) for role in user.get("roles") or ()} for user in users]
    if any(_STUDENT in own for own in roles):
        return [user for user, own in zip(users, roles, strict=True) if _STUDENT in own]
    return [user for user, own in zip(users, roles, strict=True) if not own & _STAFF]


def member_of(user: Values) -> Member:
    groups = (str(group.get("name") or "") for group in user.get("groups") or ())
    name = str(user.get("fullname") or "").strip()
    first, last = (str(user.get(key) or "").strip() for key in ("firstname", "lastname"))
    return Member(
        number=number_of(user["id"]),
        name=name,
        sortable=f"{last}, {first}" if first and last else name,
        login=str(user.get("username") or "").strip(),
        email=str(user.get("email") or "").strip(),
        sis_id=str(user.get("idnumber") or "").strip(),
        groups=tuple(filter(None, groups)),
    )


def work_of(work: Values, flags: Sequence[Values]) -> PlatformAssignment:
    """Returns an assignment, with individual students' extensions, which are in `flags`."""
    people = {str(f["userid"]): at for f in flags if (at := _time(f.get("extensionduedate")))}
    points = float(work.get("grade") or 0)
    return PlatformAssignment(
        number=number_of(work["id"]),
        title=str(work["name"]),
        points=points if points > 0 else None,  # a negative number identifies a scale
        due=_time(work.get("duedate")),
        people=people,
    )


def attempt_of(submission: Values, student: str, identifier: str) -> Attempt:
    """Returns a student's submission; `identifier` is the student's number in file names."""
    files: list[SubmittedFile] = []
    typed: tuple[SubmittedFile, ...] = ()
    for plugin in submission.get("plugins") or ():
        for area in plugin.get("fileareas") or ():
            if plugin.get("type") == "file":
                files += [_file(record) for record in area.get("files") or ()]
        if plugin.get("type") == "onlinetext":
            texts = (field.get("text") for field in plugin.get("editorfields") or ())
            typed = typed_file("onlinetext.html", next(filter(None, texts), None))
    return Attempt(
        student=student,
        number=int(submission.get("attemptnumber") or 0) + 1,
        time=_time(submission.get("timemodified")),
        files=tuple(files) or typed,
        note="" if files else "a text" if typed else "no file",
        identifier=identifier,
    )


def _file(record: Values) -> SubmittedFile:
    folders = [part for part in str(record.get("filepath") or "/").split("/") if part]
    name, size = str(record["filename"]), record.get("filesize")
    path = (*folders, name)
    return SubmittedFile(
        "/".join(path), path, str(record["fileurl"]), None if size is None else int(size)
    )


def points_of(text: object) -> float | None:
    """Returns a grade, or None if there is none (-1) or the text is not a number."""
    try:
        points = float(str(text))
    except ValueError:
        return None
    return points if points >= 0 else None


def _time(seconds: object) -> datetime | None:
    if not seconds:
        return None
    try:
        moment = datetime.fromtimestamp(int(str(seconds)), UTC)
    except (ValueError, OverflowError, OSError):  # not a time
        return None
    return read_time(moment.isoformat())
