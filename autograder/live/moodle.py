"""Reads and writes a course on Moodle, through its web services over REST.

Uses functions that Moodle 4.1 and later document under Site administration, Server, Web services,
API documentation. The token appears only in the bodies of requests, never in an address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..untrusted_json import read_untrusted_json
from .http import (
    ErrorBody,
    RetryPolicy,
    Token,
    TokenRefused,
    client,
    connecting,
    origin,
    read_answer,
    stream_to,
)
from .moodle_rows import Values, attempt_of, member_of, points_of, students, work_of
from .platform_records import (
    Attempt,
    Grade,
    GradeUpdate,
    Member,
    PlatformAssignment,
    SubmittedFile,
    UpdateOutcome,
    check_length,
    number_of,
)

_PAGE, _BATCH = 200, 25
_SUBMITTED = "submitted"
#: Moodle's number for the format of an HTML text
_HTML = 1
#: the error codes for a token that does not exist or has expired
_BAD_TOKENS = ("invalidtoken", "tokenexpired")


class _MoodleError(UserError):
    """Raised if Moodle responds to a call with an error."""


class Moodle:
    """One course on Moodle."""

    name = "Moodle"

    def __init__(self, site: str, course: str, token: Token, retry: RetryPolicy) -> None:
        self._site, self._number, self._token, self._retry = site, course, token, retry
        self._client = client(site)
        self._members_of: dict[str, list[str]] = {}

    def title(self) -> str:
        """Returns the title of the course, after checking that the site knows the token."""
        self._call("core_webservice_get_site_info")
        found = self._call("core_course_get_courses_by_field", field="id", value=self._number).get(
            "courses"
        )
        if not found:
            raise UserError(
                f"{self._site}: the token's owner can't see course {self._number}: use the token "
                "of one of its teachers"
            )
        return str(found[0].get("fullname") or f"course {self._number}")

    def zone(self) -> str:
        """Returns an empty string, because no function reports the site's time zone."""
        return ""

    def members(self) -> Sequence[Member]:
        """Returns the active participants who have a student's role."""
        found: list[Values] = []
        while True:
            options = {"onlyactive": 1, "limitfrom": len(found), "limitnumber": _PAGE}
            page = self._call(
                "core_enrol_get_enrolled_users",
                courseid=self._number,
                options=[{"name": name, "value": value} for name, value in options.items()],
            )
            found += page
            check_length(found)
            if len(page) < _PAGE:
                break
        people = students(found)
        for user in people:
            for group in user.get("groups") or ():
                self._members_of.setdefault(str(group["id"]), []).append(number_of(user["id"]))
        return [member_of(user) for user in people]

    def works(self) -> Sequence[PlatformAssignment]:
        """Returns the assignments, with the extensions of individual students."""
        reply = self._call(
            "mod_assign_get_assignments", courseids=[self._number], includenotenrolledcourses=1
        )
        found = [work for course in reply["courses"] for work in course["assignments"]]
        if not reply["courses"]:
            raise self._unseen("the assignments", reply)
        flags = self._by_assignment("mod_assign_get_user_flags", "userflags", found)
        return [work_of(work, flags.get(str(work["id"]), ())) for work in found]

    def _by_assignment(
        self, function: str, part: str, works: Iterable[Values], *, must_be_seen: bool = False
    ) -> Mapping[str, Sequence[Values]]:
        """Returns the rows for each assignment, keyed by the assignment's number.

        Moodle omits hidden assignments, and assignments without rows.
        """
        numbers = [work["id"] for work in works]
        if not numbers:
            return {}
        reply = self._call(function, assignmentids=numbers)
        found = {str(one["assignmentid"]): one[part] for one in reply["assignments"]}
        if must_be_seen and not found:
            raise self._unseen(part, reply)
        return found

    def _unseen(self, what: str, reply: Values) -> UserError:
        """Returns the error for something that Moodle omitted; a warning contains the reason."""
        why = next((str(one.get("message")) for one in reply.get("warnings") or ()), "no reason")
        return UserError(
            f"{self._site}: the token's owner is not allowed to see {what} of course "
            f"{self._number} ({self._token.without(why)[:200]}): use the token of one of its "
            "teachers"
        )

    def attempts(self, work: PlatformAssignment, members: Sequence[Member]) -> Sequence[Attempt]:
        """Returns only each student's last attempt, because Moodle does not report earlier ones.

        A group's submission counts for each of its members.
        """
        own = [{"id": work.number}]
        there = self._by_assignment(
            "mod_assign_get_submissions", "submissions", own, must_be_seen=True
        )
        numbers = self._identifiers(work)
        known = {member.number for member in members}
        found = [
            attempt_of(submission, student, numbers.get(student, ""))
            for submission in there.get(work.number, ())
            if submission.get("status") == _SUBMITTED
            for student in self._owners(submission, known)
        ]
        return sorted(found, key=lambda one: one.student)

    def _identifiers(self, work: PlatformAssignment) -> Mapping[str, str]:
        """Returns each participant's number in Moodle's file names, or {} if access is denied."""
        try:
            found = self._by_assignment(
                "mod_assign_get_user_mappings", "mappings", [{"id": work.number}]
            )
        except _MoodleError:
            return {}
        return {str(one["userid"]): number_of(one["id"]) for one in found.get(work.number, ())}

    def _owners(self, submission: Values, known: Collection[str]) -> Sequence[str]:
        """Returns the students who own a submission; a group's submission has no user."""
        if submission.get("userid"):
            number = str(submission["userid"])
            return [number] if number in known else []
        return self._members_of.get(str(submission.get("groupid") or ""), [])

    def grades(self, work: PlatformAssignment) -> Mapping[str, Grade]:
        """Returns the grades without feedback: Moodle reports feedback for one grade at a time."""
        there = self._by_assignment("mod_assign_get_grades", "grades", [{"id": work.number}])
        last: dict[str, Values] = {}
        for grade in there.get(work.number, ()):
            number = str(grade["userid"])
            if number not in last or grade["attemptnumber"] >= last[number]["attemptnumber"]:
                last[number] = grade
        return {number: Grade(points_of(grade.get("grade"))) for number, grade in last.items()}

    def download(self, file: SubmittedFile, path: Path) -> None:
        """Writes a submitted file to `path`; refuses to download it from a different site."""
        if origin(file.url) != origin(self._site):
            raise UserError(
                f"{self._site}: {file.path[-1]!r} is on another site, so it is not downloaded"
            )
        data = {"token": self._token.reveal()}
        try:
            answer = self._retry.ask(
                self._site,
                lambda: stream_to(
                    path,
                    lambda: self._client.stream("POST", file.url, data=data),
                    file.size,
                    self._site,
                ),
                is_safe=True,
            )
        except ErrorBody as error:
            self._call("core_webservice_get_site_info")  # raises an error if the token is refused
            # The token works, so only this file is affected: a student may have written the error.
            raise UserError(
                f"{self._site}: {file.path[-1]!r} can't be downloaded: the response is an error, "
                f"{self._reason(error.error)}"
            ) from None
        if answer.status_code != 200:
            raise UserError(
                f"{self._site}: {file.path[-1]!r} can't be downloaded (status "
                f"{answer.status_code}): does the token's service allow downloads?"
            )

    def send(
        self, work: PlatformAssignment, updates: Sequence[GradeUpdate]
    ) -> Iterator[Sequence[UpdateOutcome]]:
        """Writes grades in batches; if a batch is rejected, writes its grades one by one.

        Moodle clears the fields of a grade that a request leaves out, so the comment and the state
        of the marking workflow are sent back unchanged.
        """
        flags = self._by_assignment("mod_assign_get_user_flags", "userflags", [{"id": work.number}])
        states = {
            str(flag["userid"]): str(flag.get("workflowstate") or "")
            for flag in flags.get(work.number, ())
        }
        for start in range(0, len(updates), _BATCH):
            rows: list[tuple[GradeUpdate, Values]] = []
            refused: list[UpdateOutcome] = []
            for update in updates[start : start + _BATCH]:
                try:
                    rows.append((update, self._row(work, update, states.get(update.student, ""))))
                except _MoodleError as error:
                    refused.append(UpdateOutcome(update, str(error)))
            yield [*refused, *self._save_rows(work, rows)]

    def _save_rows(
        self, work: PlatformAssignment, rows: Sequence[tuple[GradeUpdate, Values]]
    ) -> Sequence[UpdateOutcome]:
        try:
            if rows:
                self._save(work, [row for _, row in rows])
        except _MoodleError as error:
            if len(rows) == 1:
                return [UpdateOutcome(rows[0][0], str(error))]
            return [sent for row in rows for sent in self._save_rows(work, [row])]
        return [UpdateOutcome(update) for update, _ in rows]

    def _save(self, work: PlatformAssignment, rows: Sequence[Values]) -> None:
        self._call("mod_assign_save_grades", assignmentid=work.number, applytoall=0, grades=rows)

    def _row(self, work: PlatformAssignment, update: GradeUpdate, state: str) -> Values:
        row = {
            "userid": update.student,
            "grade": f"{update.points:.5f}",
            "attemptnumber": -1,
            "addattempt": 0,
            "workflowstate": state,
        }
        comment = update.comment or self._comment(work, update.student)
        # Moodle expects this field in every request, so send it even if it is empty
        plugins: dict[str, Any] = {
            "assignfeedbackcomments_editor": {"text": comment, "format": _HTML}
        }
        if update.file is not None:
            plugins["files_filemanager"] = self._upload(update.file, update.file_name)
        return {**row, "plugindata": plugins}

    def _comment(self, work: PlatformAssignment, student: str) -> str:
        """Returns the existing comment on Moodle, or an empty string if there is none."""
        reply = self._call("mod_assign_get_submission_status", assignid=work.number, userid=student)
        return next(
            (
                str(field.get("text") or "")
                for plugin in (reply.get("feedback") or {}).get("plugins") or ()
                if plugin.get("type") == "comments"
                for field in plugin.get("editorfields") or ()
            ),
            "",
        )

    def _upload(self, path: Path, name: str) -> int:
        """Uploads a file into a new draft area; returns the area's number."""
        data = {"token": self._token.reveal(), "filearea": "draft", "itemid": "0"}
        content = path.read_bytes()
        reply = self._post(
            f"{self._site}/webservice/upload.php",
            "upload.php",
            is_safe=True,  # Moodle deletes unused drafts
            data=data,
            files={"file_1": (name, content, "text/html")},
        )
        return int(reply[0]["itemid"])

    def _call(self, function: str, **values: Any) -> Any:
        """Calls a Moodle function. Calls can safely be repeated: they set the same values again."""
        data = {
            **dict(flattened(values)),
            "wstoken": self._token.reveal(),
            "wsfunction": function,
            "moodlewsrestformat": "json",
        }
        url = f"{self._site}/webservice/rest/server.php"
        return self._post(url, function, is_safe=True, data=data)

    def _post(self, url: str, what: str, *, is_safe: bool, **values: Any) -> Any:
        def once() -> Any:
            with connecting(), self._client.stream("POST", url, **values) as response:
                return read_answer(response, self._site)

        answer = self._retry.ask(self._site, once, is_safe=is_safe)
        try:
            reply = read_untrusted_json(answer.content)
        except ValueError:
            raise UserError(
                f"{self._site}: {what}: the response is not from Moodle (status "
                f"{answer.status_code}): is this the address of a Moodle site with REST web "
                "services enabled?"
            ) from None
        if isinstance(reply, Mapping) and (reply.get("errorcode") or reply.get("exception")):
            raise self._refusal(what, reply)
        return reply

    def _refusal(self, what: str, reply: Values) -> UserError:
        code = str(reply.get("errorcode") or "")
        if code in _BAD_TOKENS:
            return TokenRefused(self._site, "Preferences, Security keys")
        fix = (
            f"\n  fix: add the function {what} to the token's service, or use a teacher's token"
            if code == "accessexception"
            else ""
        )
        return _MoodleError(f"{self._site}: {what} was refused: {self._reason(reply)}{fix}")

    def _reason(self, reply: Values) -> str:
        text = " ".join(str(reply.get("message") or reply.get("error")).split())
        return f"{self._token.without(text)[:200]} ({reply.get('errorcode') or ''})"


def flattened(values: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields nested values with names in Moodle's REST format, such as `grades[0][userid]`."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from flattened(value, f"{name}[{key}]" if name else key)
    elif isinstance(values, (list, tuple)):
        for place, value in enumerate(values):
            yield from flattened(value, f"{name}[{place}]")
    else:
        yield name, str(values)
