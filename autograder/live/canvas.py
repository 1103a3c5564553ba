"""Reads and writes a course on Canvas, through its REST API and the canvasapi package.

The API is documented at https://developerdocs.instructure.com/services/canvas, without version
numbers. canvasapi never gets the token: `session` adds it only to requests to the site itself, so
the token never appears in canvasapi's logs and is never sent to the other hosts from which files
are downloaded.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from ..classroom.times import read_time
from ..errors import UserError
from .canvas_session import session
from .http import (
    RetryPolicy,
    Token,
    TokenRefused,
    Unreachable,
    client,
    import_extra,
    origin,
    stream_to,
)
from .platform_records import (
    Attempt,
    Grade,
    GradeUpdate,
    Member,
    PlatformAssignment,
    SubmittedFile,
    UpdateOutcome,
    check_length,
    has_arrived,
    has_points,
    number_of,
    squeezed,
    typed_file,
)

T = TypeVar("T")

#: how many grades to send in a request, and how many times to try if the connection is lost
_BATCH, _TRIES = 50, 3
#: how many times to ask whether Canvas has written a batch, and how many seconds apart
_POLLS, _POLL_WAIT = 300, 2.0
#: how many seconds to wait after a lost connection, because Canvas may still be writing grades
_SETTLE = 20.0
_NO_TOKEN = "none"
#: kinds of submissions that are not files: what a note calls them, the name of the file to write,
#: and the field that contains the text
_TYPED = {
    "online_text_entry": ("a text", "text.html", "body"),
    "online_url": ("a web address", "link.html", "url"),
}


class Canvas:
    """One course on Canvas."""

    name = "Canvas"

    def __init__(self, site: str, course: str, token: Token, retry: RetryPolicy) -> None:
        self._site, self._number, self._token, self._retry = site, course, token, retry
        package = import_extra("canvasapi")
        # canvasapi warns about http, which is allowed only for a server on this machine
        with warnings.catch_warnings(action="ignore"):
            self._canvas = package.Canvas(site, _NO_TOKEN)
        self._requester = self._canvas._Canvas__requester
        self._requester._session = session(site, token, retry)
        self._client = client(site)
        self._known: Any = None

    def title(self) -> str:
        return str(getattr(self._course, "name", "") or f"course {self._number}")

    def zone(self) -> str:
        return str(getattr(self._course, "time_zone", "") or "")

    @property
    def _course(self) -> Any:
        if self._known is None:
            self._known = self._ask(lambda: self._canvas.get_course(self._number), "the settings")
        return self._known

    def members(self) -> Sequence[Member]:
        """Returns the active and invited students, except the test student."""
        users = self._list(
            lambda: self._course.get_users(
                enrollment_type=["student"],
                enrollment_state=["active", "invited"],
                include=["enrollments", "email"],
            ),
            "the students",
        )
        sections = {s.id: squeezed(str(s.name)) for s in self._sections()}
        groups = self._groups_of_people()
        return [_member(user, sections, groups.get(user.id, ())) for user in users]

    def _sections(self) -> Sequence[Any]:
        return self._list(self._course.get_sections, "the sections")

    def _groups(self) -> Sequence[Any]:
        """Returns the course's groups, or () if the token does not give access to them."""
        try:
            return self._list(lambda: self._course.get_groups(include=["users"]), "groups")
        except _PermissionDenied:
            return ()

    def _groups_of_people(self) -> Mapping[int, Sequence[str]]:
        found: dict[int, list[str]] = {}
        for group in self._groups():
            for user in getattr(group, "users", None) or ():
                found.setdefault(user["id"], []).append(squeezed(str(group.name)))
        return found

    def works(self) -> Sequence[PlatformAssignment]:
        """Returns the assignments, with their general due dates and all exceptions to them."""
        found = self._list(
            lambda: self._course.get_assignments(
                include=["overrides"], override_assignment_dates=False
            ),
            "the assignments",
        )
        names = {("section", s.id): squeezed(str(s.name)) for s in self._sections()}
        if any(getattr(work, "overrides", None) for work in found):
            names |= {("group", group.id): squeezed(str(group.name)) for group in self._groups()}
        return [_work(work, names) for work in found]

    def attempts(self, work: PlatformAssignment, members: Sequence[Member]) -> Sequence[Attempt]:
        """Returns all attempts of the members, with their files."""
        wanted = {member.number for member in members}
        there = self._submissions(work, ["submission_history"])
        found = [
            _attempt(record, number)
            for submission in there
            if (number := number_of(submission.user_id)) in wanted
            for record in getattr(submission, "submission_history", None) or ()
            if record.get("submitted_at")
        ]
        return sorted(found, key=lambda one: (one.student, one.number))

    def grades(self, work: PlatformAssignment) -> Mapping[str, Grade]:
        there = self._submissions(work, ["submission_comments"])
        return {str(submission.user_id): _grade(submission) for submission in there}

    def _submissions(self, work: PlatformAssignment, include: Sequence[str]) -> Sequence[Any]:
        assignment = self._assignment(work)
        found = self._list(lambda: assignment.get_submissions(include=include), work.title)
        if any(not getattr(submission, "user_id", None) for submission in found):
            raise UserError(
                f"{work.title!r} is graded anonymously on Canvas, which does not say who submitted "
                "what: turn this setting off, or use files (autograder collect, export)"
            )
        return found

    def _assignment(self, work: PlatformAssignment) -> Any:
        """Returns canvasapi's object for an assignment, without sending a request."""
        from canvasapi.assignment import Assignment

        return Assignment(self._requester, {"id": work.number, "course_id": self._number})

    def download(self, file: SubmittedFile, path: Path) -> None:
        """Writes an attachment to `path`; does not send the token to other hosts."""
        is_own = origin(file.url) == origin(self._site)
        headers = {"Authorization": f"Bearer {self._token.reveal()}"} if is_own else {}
        answer = self._retry.ask(
            self._site,
            lambda: stream_to(
                path,
                lambda: self._client.stream("GET", file.url, headers=headers),
                file.size,
                self._site,
            ),
            is_safe=True,
        )
        if answer.status_code == 401 and is_own:
            raise self._token_refused()
        if answer.status_code != 200:
            raise UserError(
                f"{self._site}: {file.path[-1]!r} can't be downloaded (status {answer.status_code})"
            )

    def send(
        self, work: PlatformAssignment, updates: Sequence[GradeUpdate]
    ) -> Iterator[Sequence[UpdateOutcome]]:
        """Writes grades in batches, and reads each batch back to check it."""
        for start in range(0, len(updates), _BATCH):
            batch = updates[start : start + _BATCH]
            yield self._send_batch(work, batch)

    def _send_batch(
        self, work: PlatformAssignment, batch: Sequence[GradeUpdate]
    ) -> Sequence[UpdateOutcome]:
        """Sends a batch; after a lost connection, resends the grades that have not arrived."""
        pending, problem = list(batch), ""
        for _ in range(_TRIES):
            try:
                problem = self._write(work, pending)
            except Unreachable:
                self._retry.sleep(_SETTLE)
                there = self.grades(work)
                pending = [one for one in pending if not has_arrived(one, there.get(one.student))]
                problem = "the connection was lost"
                if pending:
                    continue
            break
        there = self.grades(work)
        why = problem or "Canvas reports success, but still shows a different grade"
        return [
            UpdateOutcome(one, "" if has_points(one, there.get(one.student)) else why)
            for one in batch
        ]

    def _write(self, work: PlatformAssignment, updates: Sequence[GradeUpdate]) -> str:
        """Sends one request and waits until Canvas has handled it; returns the problem, or ""."""
        data: dict[str, dict[str, object]] = {}
        for update in updates:
            own: dict[str, object] = {"posted_grade": f"{update.points:.4f}"}
            if update.file is not None:
                own["file_ids"] = [self._upload(work, update)]
            elif update.comment:
                own["text_comment"] = update.comment
            data[update.student] = own
        assignment = self._assignment(work)
        progress = self._ask(
            lambda: assignment.submissions_bulk_update(grade_data=data), work.title
        )
        for _ in range(_POLLS):
            if progress.workflow_state in ("completed", "failed"):
                break
            self._retry.sleep(_POLL_WAIT)
            progress = self._ask(progress.query, "the progress of grading")
        if progress.workflow_state == "completed":
            return ""
        problem = self._token.without(str(getattr(progress, "message", "") or ""))[:200]
        return f"Canvas did not finish: {problem or progress.workflow_state}"

    def _upload(self, work: PlatformAssignment, update: GradeUpdate) -> int:
        """Uploads a feedback file under the update's file name; returns Canvas's number for it."""
        from canvasapi.upload import Uploader

        url = (
            f"courses/{self._number}/assignments/{work.number}/submissions/{update.student}"
            "/comments/files"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, update.file_name)
            path.write_bytes(update.file.read_bytes() if update.file else b"")
            _, record = self._ask(Uploader(self._requester, url, path).start, "feedback")
        return int(record["id"])

    def _token_refused(self) -> TokenRefused:
        return TokenRefused(self._site, "Account, Settings, New Access Token")

    def _list(self, call: Callable[[], Iterable[T]], what: str) -> Sequence[T]:

        def all_pages() -> Sequence[T]:
            found: list[T] = []
            for item in call():
                found.append(item)
                check_length(found)
            return found

        return self._ask(all_pages, what)

    def _ask(self, call: Callable[[], T], what: str) -> T:
        """Calls canvasapi, and converts its exceptions to `UserError`."""
        from canvasapi import exceptions

        try:
            return call()
        except exceptions.InvalidAccessToken:
            raise self._token_refused() from None
        except (exceptions.Unauthorized, exceptions.Forbidden):
            raise _PermissionDenied(
                f"{self._site}: the token's owner is not allowed to see or change {what} of "
                f"course {self._number}: use the token of one of its teachers"
            ) from None
        except exceptions.ResourceDoesNotExist:
            raise UserError(
                f"{self._site} has no course {self._number}, or the token's owner can't see {what} "
                "of it: is the address right?"
            ) from None
        except exceptions.CanvasException as error:
            reason = self._token.without(" ".join(str(error).split()))[:200]
            raise UserError(f"{self._site}: {what}: refused: {reason}") from None


class _PermissionDenied(UserError):
    """Raised if the token's owner lacks a permission."""


def _member(user: Any, sections: Mapping[int, str], groups: Sequence[str]) -> Member:
    own = (e.get("course_section_id") for e in getattr(user, "enrollments", None) or ())
    names = (sections[number] for number in own if number in sections)
    return Member(
        number=number_of(user.id),
        name=_text(user, "name"),
        sortable=_text(user, "sortable_name"),
        login=_text(user, "login_id"),
        email=_text(user, "email"),
        sis_id=_text(user, "sis_user_id"),
        sections=tuple(dict.fromkeys(names)),
        groups=tuple(dict.fromkeys(groups)),
    )


def _text(item: Any, name: str) -> str:
    return str(getattr(item, name, None) or "").strip()


def _work(work: Any, names: Mapping[tuple[str, int], str]) -> PlatformAssignment:
    sections: dict[str, datetime] = {}
    people: dict[str, datetime] = {}
    for override in getattr(work, "overrides", None) or ():
        due = _time(getattr(override, "due_at", None))
        if due is None:
            continue
        for kind, key in (("section", "course_section_id"), ("group", "group_id")):
            if name := names.get((kind, getattr(override, key, None) or 0)):
                sections[name] = due
        people |= {str(number): due for number in getattr(override, "student_ids", None) or ()}
    points = getattr(work, "points_possible", None)
    return PlatformAssignment(
        number=number_of(work.id),
        title=str(work.name),
        points=None if points is None else float(points),
        due=_time(getattr(work, "due_at", None)),
        sections=sections,
        people=people,
    )


def _attempt(record: Mapping[str, Any], student: str) -> Attempt:
    files = tuple(map(_file, record.get("attachments") or ()))
    note = ""
    if not files:
        kind = str(record.get("submission_type"))
        note, name, field = _TYPED.get(kind, ("no file", "", ""))
        files = typed_file(name, record.get(field))
    return Attempt(
        student=student,
        number=int(record.get("attempt") or 1),
        time=_time(record.get("submitted_at")),
        files=files,
        note=note,
    )


def _file(record: Mapping[str, Any]) -> SubmittedFile:
    name = str(record.get("display_name") or record.get("filename") or record["id"])
    size = record.get("size")
    return SubmittedFile(
        str(record["id"]), (name,), str(record["url"]), None if size is None else int(size)
    )


def _grade(submission: Any) -> Grade:
    score = getattr(submission, "entered_score", None)
    if score is None:
        score = getattr(submission, "score", None)
    comments = getattr(submission, "submission_comments", None) or ()
    texts = {str(c.get("comment") or "") for c in comments}
    names = {str(a.get("display_name") or "") for c in comments for a in c.get("attachments") or ()}
    return Grade(
        points=None if score is None else float(score),
        deducted=float(getattr(submission, "points_deducted", None) or 0.0),
        feedback=frozenset(map(squeezed, texts | names)),
        is_excused=bool(getattr(submission, "excused", False)),
    )


def _time(text: str | None) -> datetime | None:
    """Converts a time to UTC; raises `MissingZone`, a `ValueError`, if it has no time zone."""
    return read_time(text) if text else None
