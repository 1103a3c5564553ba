"""Servers with the documented endpoints of Canvas and Moodle, for tests of the connection.

The servers run in threads of the test's process, split lists into pages as the platforms do, check
tokens, and fail on demand. No test needs a real platform.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "7~tokenOfATeacher"
MOODLE_TOKEN = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Request:
    """A request as a server received it; `form` combines the fields of the address and the body."""

    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    body: bytes
    headers: dict[str, str]


@dataclass
class Response:
    """The response of a server; `content` is sent unchanged if it is bytes, otherwise as JSON."""

    content: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return (
            self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        )


@dataclass
class Fault:
    """A fault for requests whose method, path and web service function contain the text `at`.

    The server sends `response`, or drops the connection if `response` is None. With `is_after`, the
    server first carries out the request. The first `skip` of these requests succeed, and the next
    `times` requests fail.
    """

    at: str
    response: Response | None = None
    times: int = 1
    skip: int = 0
    is_after: bool = False


class Server:
    """A server in a thread that records requests and applies the faults."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Any:
        threading.Thread(target=lambda: self._http.serve_forever(0.01), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: Request) -> Response:
        """Responds to one request; subclasses override this method."""
        raise NotImplementedError

    def name_of(self, request: Request) -> str:
        """Describes a request; a fault applies if its `at` occurs in this description."""
        return f"{request.method} {request.path} {request.form.get('wsfunction', '')}"

    def _fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.at in self.name_of(request) and fault.times:
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def respond(self, request: Request) -> Response | None:
        """Returns the response, or None to drop the connection."""
        self.requests.append(request)
        fault = self._fault(request)
        if fault is None:
            return self.answer(request)
        if fault.is_after:
            self.answer(request)
        return fault.response

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                response = server.respond(self._request())
                if response is None:
                    self.close_connection = True
                    return
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(response.data)))
                self.end_headers()
                self.wfile.write(response.data)

            def _request(self) -> Request:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                form = {**query, **_fields(body, self.headers.get("Content-Type", ""))}
                headers = {name.lower(): value for name, value in self.headers.items()}
                return Request(self.command, parts.path, query, form, body, headers)

            def log_message(self, format: str, *args: Any) -> None:
                """Does nothing, so that the server prints no log."""

        return Handler


def _fields(body: bytes, kind: str) -> dict[str, str]:
    if kind.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    found = re.findall(rb'name="([^"]+)"\r\n\r\n(.*?)\r\n--', body, re.DOTALL)
    return {name.decode(): value.decode() for name, value in found}


class Store(Server):
    """The host to which Canvas redirects downloads; it must never receive the token."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.uploaded: Callable[[str, bytes], dict[str, Any]] = lambda name, data: {}

    def answer(self, request: Request) -> Response:
        if request.method == "POST":
            data = request.body.partition(b'name="file"')[2].partition(b"\r\n\r\n")[2]
            content = data.rpartition(b"\r\n--")[0]
            return Response(self.uploaded(request.form["name"], content), 201)
        found = self.files.get(request.path.rpartition("/")[2])
        return Response(b"no such file", 404) if found is None else Response(found)


class Canvas(Server):
    """A simulated Canvas site with one course; a page of a list has at most `page` items."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        store.uploaded = self._uploaded
        self.token = TOKEN
        self.page = 3
        self.users: list[dict[str, Any]] = []
        self.sections: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []
        self.assignments: list[dict[str, Any]] = []
        self.submissions: dict[tuple[int, int], dict[str, Any]] = {}
        self.uploads: dict[int, str] = {}
        self.contents: dict[int, bytes] = {}
        self.progress: dict[int, list[str]] = {}

    @property
    def course(self) -> str:
        """The address of the course's page."""
        return f"{self.address}/courses/4711"

    def enrol(self, number: int, name: str, login: str, section: int = 1) -> None:
        """Adds a student; the name is given in the form `Lovelace, Ada`."""
        last, _, first = (part.strip() for part in name.partition(","))
        enrollment = {"type": "StudentEnrollment", "course_section_id": section}
        self.users.append(
            {
                "id": number,
                "name": f"{first} {last}",
                "sortable_name": name,
                "login_id": login,
                "sis_user_id": f"S{number}",
                "email": f"{login}@uni.example",
                "enrollments": [enrollment],
            }
        )

    def submit(
        self, number: int, assignment: int, time: str, files: dict[str, bytes], typed: str = ""
    ) -> None:
        """Adds a student's attempt, which consists of files or of typed text."""
        own = self.submissions.setdefault((assignment, number), _nothing(assignment, number))
        attempt = len(own["submission_history"]) + 1
        attachments = []
        for name, data in files.items():
            file = 9000 + len(self.store.files)
            self.store.files[str(file)] = data
            attachments.append(
                {
                    "id": file,
                    "display_name": name,
                    "filename": name.replace(" ", "+"),
                    "size": len(data),
                    "url": f"{self.address}/files/{file}/download?verifier=xyz",
                }
            )
        own["submission_history"].append(
            {
                "user_id": number,
                "attempt": attempt,
                "submitted_at": time,
                "submission_type": "online_upload" if files else "online_text_entry",
                "attachments": attachments,
                "body": typed or None,
            }
        )

    def answer(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            errors = {"errors": [{"message": "Invalid access token."}]}
            return Response(errors, 401, {"WWW-Authenticate": 'Bearer realm="canvas-lms"'})
        if found := re.fullmatch(r"/files/(\d+)/download", request.path):
            return Response(b"", 302, {"Location": f"{self.store.address}/store/{found[1]}"})
        for pattern, method, do in self._routes():
            found = re.fullmatch(f"/api/v1{pattern}", request.path)
            if found and method == request.method:
                return do(request, *map(int, found.groups()))
        return Response({"errors": [{"message": "The specified resource does not exist."}]}, 404)

    def _routes(self) -> Iterator[tuple[str, str, Callable[..., Response]]]:
        course = "/courses/4711"
        work = rf"{course}/assignments/(\d+)/submissions"
        yield (
            course,
            "GET",
            lambda _: Response(
                {"id": 4711, "name": "Attention 2026", "time_zone": "Europe/Berlin"}
            ),
        )
        yield rf"{course}/(?:search_)?users", "GET", lambda r: self._paged(r, self.users)
        yield f"{course}/sections", "GET", lambda r: self._paged(r, self.sections)
        yield f"{course}/groups", "GET", lambda r: self._paged(r, self.groups)
        yield f"{course}/assignments", "GET", lambda r: self._paged(r, self.assignments)
        yield work, "GET", self._listed
        yield f"{work}/update_grades", "POST", self._graded
        yield rf"{work}/(\d+)/comments/files", "POST", self._upload
        yield r"/progress/(\d+)", "GET", self._progress

    def _paged(self, request: Request, items: list[dict[str, Any]]) -> Response:
        start = int(request.query.get("page") or 1)
        part = items[(start - 1) * self.page : start * self.page]
        links = [f'<{self.address}{request.path}?page=1>; rel="first"']
        if start * self.page < len(items):
            links.append(f'<{self.address}{request.path}?page={start + 1}>; rel="next"')
        return Response(part, 200, {"Link": ", ".join(links), "X-Rate-Limit-Remaining": "600.0"})

    def _listed(self, request: Request, assignment: int) -> Response:
        own = [
            self.submissions.setdefault((assignment, user["id"]), _nothing(assignment, user["id"]))
            for user in self.users
        ]
        return self._paged(request, own)

    def _graded(self, request: Request, assignment: int) -> Response:
        for name, value in request.form.items():
            found = re.fullmatch(r"grade_data\[(\d+)\]\[(\w+)\](?:\[\])?", name)
            if not found:
                continue
            own = self.submissions[assignment, int(found[1])]
            if found[2] == "posted_grade":
                own["entered_score"] = own["score"] = float(value)
            elif found[2] == "text_comment":
                own["submission_comments"].append({"comment": value, "attachments": []})
            elif found[2] == "file_ids":
                file = {"id": int(value), "display_name": self.uploads[int(value)]}
                own["submission_comments"].append({"comment": "", "attachments": [file]})
        number = len(self.progress) + 1
        self.progress[number] = ["running", "completed"]
        return Response({"id": number, "workflow_state": "queued"})

    def _progress(self, _: Request, number: int) -> Response:
        states = self.progress[number]
        state = states.pop(0) if len(states) > 1 else states[0]
        return Response({"id": number, "workflow_state": state, "message": ""})

    def _upload(self, request: Request, assignment: int, user: int) -> Response:
        return Response(
            {
                "upload_url": f"{self.store.address}/upload",
                "upload_params": {"name": request.form["name"], "key": "k"},
            }
        )

    def _uploaded(self, name: str, data: bytes) -> dict[str, Any]:
        number = 700 + len(self.uploads)
        self.uploads[number], self.contents[number] = name, data
        return {"id": number, "url": "http://unused.example", "display_name": name}


def _nothing(assignment: int, user: int) -> dict[str, Any]:
    return {
        "assignment_id": assignment,
        "user_id": user,
        "score": None,
        "entered_score": None,
        "excused": False,
        "submission_history": [],
        "submission_comments": [],
    }


class Moodle(Server):
    """A simulated Moodle site with one course, whose id is 12."""

    def __init__(self) -> None:
        super().__init__()
        self.token = MOODLE_TOKEN
        self.users: list[dict[str, Any]] = []
        self.assignments: list[dict[str, Any]] = []
        self.submissions: dict[tuple[int, int], dict[str, Any]] = {}
        self.flags: dict[tuple[int, int], dict[str, Any]] = {}
        self.grades: dict[tuple[int, int], float] = {}
        self.comments: dict[tuple[int, int], str] = {}
        self.drafts: dict[int, tuple[str, bytes]] = {}
        self.feedback_files: dict[tuple[int, int], str] = {}
        self.mappings: dict[tuple[int, int], int] = {}
        self.files: dict[str, bytes] = {}
        self.refused: set[int] = set()

    @property
    def course(self) -> str:
        """The address of the course's page."""
        return f"{self.address}/course/view.php?id=12"

    def enrol(
        self, number: int, name: str, login: str, role: str = "student", group: int = 0
    ) -> None:
        """Adds a person; the name is given in the form `Ada Lovelace`."""
        first, _, last = name.partition(" ")
        groups = [{"id": group, "name": f"Group {group}"}] if group else []
        self.users.append(
            {
                "id": number,
                "fullname": name,
                "firstname": first,
                "lastname": last,
                "username": login,
                "email": f"{login}@uni.example",
                "roles": [{"shortname": role}],
                "groups": groups,
            }
        )

    def submit(
        self,
        number: int,
        assignment: int,
        time: int,
        files: dict[str, bytes],
        *,
        group: int = 0,
        status: str = "submitted",
        typed: str = "",
    ) -> None:
        """Sets the submission of a student, or of a group if the student's number is 0.

        If the name of a file contains a slash, the file is in a folder.
        """
        own = []
        for name, data in files.items():
            place = f"/webservice/pluginfile.php/77/assignsubmission_file/{number}{group}/{name}"
            self.files[place] = data
            own.append(
                {
                    "filename": name.rpartition("/")[2],
                    "filepath": f"/{name.rpartition('/')[0]}/".replace("//", "/"),
                    "filesize": len(data),
                    "fileurl": f"{self.address}{place}",
                }
            )
        self.submissions[assignment, number or -group] = {
            "userid": number,
            "groupid": group,
            "attemptnumber": 0,
            "timemodified": time,
            "status": status,
            "plugins": [
                {"type": "file", "fileareas": [{"area": "files", "files": own}]},
                {"type": "onlinetext", "editorfields": [{"name": "onlinetext", "text": typed}]},
            ],
        }

    def answer(self, request: Request) -> Response:
        token = request.form.get("wstoken") or request.form.get("token")
        if "token" in " ".join(request.query):
            return Response({"errorcode": "leak", "message": "a token in an address"})
        if token != self.token:
            return _error("invalidtoken", f"Invalid token - token not found: {token}")
        if request.path in self.files:
            return Response(self.files[request.path])
        if request.path == "/webservice/upload.php":
            return self._uploaded(request)
        function = getattr(self, f"_{request.form['wsfunction']}", None)
        if function is None:
            return _error("accessexception", "Access control exception")
        answer: Response = function(request.form)
        return answer

    def _uploaded(self, request: Request) -> Response:
        number = 500 + len(self.drafts)
        found = re.search(rb'filename="([^"]+)".*?\r\n\r\n(.*?)\r\n--', request.body, re.DOTALL)
        assert found is not None
        self.drafts[number] = found[1].decode(), found[2]
        return Response([{"itemid": number, "filename": found[1].decode()}])

    def _core_webservice_get_site_info(self, _: dict[str, str]) -> Response:
        return Response({"sitename": "A Moodle", "release": "4.5"})

    def _core_course_get_courses_by_field(self, form: dict[str, str]) -> Response:
        is_there = (form["field"], form["value"]) == ("id", "12")
        courses = [{"id": 12, "fullname": "Attention 2026"}] if is_there else []
        return Response({"courses": courses, "warnings": []})

    def _core_enrol_get_enrolled_users(self, form: dict[str, str]) -> Response:
        names = {form[f"options[{n}][name]"]: form[f"options[{n}][value]"] for n in range(3)}
        start, most = int(names["limitfrom"]), int(names["limitnumber"])
        return Response(self.users[start : start + most])

    def _mod_assign_get_assignments(self, form: dict[str, str]) -> Response:
        assert form["courseids[0]"] == "12"
        return Response({"courses": [{"id": 12, "assignments": self.assignments}], "warnings": []})

    def _rows(self, form: dict[str, str], part: str, rows: dict[Any, Any]) -> Response:
        numbers = [int(value) for name, value in form.items() if name.startswith("assignmentids")]
        found = [
            {"assignmentid": number, part: own}
            for number in numbers
            if (own := [row for key, row in rows.items() if key[0] == number])
            or part == "submissions"
        ]
        return Response({"assignments": found, "warnings": []})

    def _mod_assign_get_user_flags(self, form: dict[str, str]) -> Response:
        rows = {key: {"userid": key[1], **flag} for key, flag in self.flags.items()}
        return self._rows(form, "userflags", rows)

    def _mod_assign_get_user_mappings(self, form: dict[str, str]) -> Response:
        rows = {key: {"id": own, "userid": key[1]} for key, own in self.mappings.items()}
        return self._rows(form, "mappings", rows)

    def _mod_assign_get_submissions(self, form: dict[str, str]) -> Response:
        return self._rows(form, "submissions", self.submissions)

    def _mod_assign_get_grades(self, form: dict[str, str]) -> Response:
        rows = {
            key: {"userid": key[1], "attemptnumber": 0, "grade": f"{points:.5f}"}
            for key, points in self.grades.items()
        }
        return self._rows(form, "grades", rows)

    def _mod_assign_get_submission_status(self, form: dict[str, str]) -> Response:
        text = self.comments.get((int(form["assignid"]), int(form["userid"])), "")
        fields = [{"name": "comments", "text": text}]
        return Response({"feedback": {"plugins": [{"type": "comments", "editorfields": fields}]}})

    def _mod_assign_save_grades(self, form: dict[str, str]) -> Response:
        """Saves row by row, as Moodle does, so the rows before an invalid row are saved."""
        for row in range(len({n.split("]")[0] for n in form if n.startswith("grades[")})):
            user = int(form[f"grades[{row}][userid]"])
            key = int(form["assignmentid"]), user
            if user in self.refused:
                return _error("invalidparameter", f"user {user} is not in the course")
            self.grades[key] = float(form[f"grades[{row}][grade]"])
            plugins = f"grades[{row}][plugindata]"
            self.comments[key] = form[f"{plugins}[assignfeedbackcomments_editor][text]"]
            if draft := form.get(f"{plugins}[files_filemanager]"):
                self.feedback_files[key] = self.drafts[int(draft)][0]
            self.flags.setdefault(key, {})["workflowstate"] = form[f"grades[{row}][workflowstate]"]
        return Response(None)


def _error(code: str, message: str) -> Response:
    return Response({"exception": "moodle_exception", "errorcode": code, "message": message})


@contextmanager
def canvas_server() -> Iterator[Canvas]:
    """Starts a simulated Canvas with two sections, four students and the assignment `Masks`."""
    with Store() as store, Canvas(store) as canvas:
        canvas.sections += [{"id": 1, "name": "Tutorial A"}, {"id": 2, "name": "Tutorial B"}]
        canvas.enrol(101, "Lovelace, Ada", "ada")
        canvas.enrol(102, "Müller, Ben", "ben")
        canvas.enrol(103, "Müller, Ben", "ben2", section=2)
        canvas.enrol(104, "Noether, Emmy", "emmy", section=2)
        canvas.assignments.append(
            {
                "id": 991,
                "name": "Masks",
                "points_possible": 6.0,
                "due_at": "2026-11-20T22:59:59Z",
                "overrides": [],
            }
        )
        yield canvas


@contextmanager
def moodle_server() -> Iterator[Moodle]:
    """Starts a simulated Moodle with a teacher, three students and the assignment `Masks`."""
    with Moodle() as moodle:
        moodle.enrol(2, "Tom Teacher", "tom", role="editingteacher")
        moodle.enrol(11, "Ada Lovelace", "ada", group=5)
        moodle.enrol(12, "Ben Müller", "ben", group=5)
        moodle.enrol(13, "Emmy Noether", "emmy")
        moodle.assignments.append({"id": 31, "name": "Masks", "grade": 6, "duedate": 1795215599})
        yield moodle
