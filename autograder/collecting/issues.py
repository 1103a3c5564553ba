"""Reads requests for a second look that are not in uploads, but in issues, tables and folders.

Issues are read from a JSON list in the format of the APIs and command-line tools of GitHub and
GitLab.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..classroom import MissingZone, is_request, read_own_csv, read_time, request_text, utc_text
from ..errors import SubmissionError, UserError
from ..submission.opened import read_bytes
from ..untrusted_json import read_untrusted_json

_MOST_BYTES = 20 << 20
_LONGEST_FILE, _MOST_FILES = 1 << 16, 100
#: the keys that GitHub, GitLab and their tools use for each fact
_WRITERS = ("author", "user")
_ACCOUNTS = ("login", "username")
_BODIES = ("body", "description")
_ADDRESSES = ("url", "html_url", "web_url")
_TIMES = ("createdAt", "created_at")
_FIELDS = "author,title,body,createdAt,url"
_ISSUES = f"a JSON list of issues, such as the output of `gh issue list --json {_FIELDS}`"


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A student's request: the student's login, name or address, and the request's text and source.

    `repository` is the name of the issue's repository. `assignment` and `question` are empty unless
    they are stated outside the text.
    """

    who: str
    text: str
    source: str
    at: str = ""
    repository: str = ""
    assignment: str = ""
    question: str = ""


def read_asked(source: Path) -> list[FoundRequest]:
    """Returns the requests in a JSON list of issues, a CSV table or a folder of submissions.

    A table has the columns student and request, and may also have assignment, question and time. In
    a folder, each `<student>/<assignment>/regrade_request.txt` is a request. Raises `UserError` for
    anything else.
    """
    if source.is_dir():
        return list(_of_folder(source))
    if zipfile.is_zipfile(source):
        raise UserError(f"{source} is an archive: run autograder collect, which reads its requests")
    if source.suffix.lower() == ".json":
        return _of_issues(_issues(source), source)
    return list(_of_table(source))


def _of_folder(folder: Path) -> Iterator[FoundRequest]:
    for own in sorted(folder.glob("*/*")):
        if files := [path for path in sorted(own.glob("*")) if is_request(path.name)]:
            text = request_text(*map(_words, files[:_MOST_FILES]))
            yield FoundRequest(own.parent.name, text, files[0].name, assignment=own.name)


def _words(path: Path) -> bytes:
    """Returns the bytes of a file; if it can't be read, the reason becomes the request's text."""
    try:
        return read_bytes(path, _LONGEST_FILE)
    except SubmissionError as error:
        return f"{path.name} {error}".encode(errors="replace")


_OF_TABLE = ("student", "request", "assignment", "question", "time")


def _of_table(path: Path) -> Iterator[FoundRequest]:
    columns, rows = read_own_csv(path, _OF_TABLE)
    if missing := [name for name in ("student", "request") if name not in columns]:
        raise UserError(
            f"{path}: no column {missing[0]!r}; expected student and request, and "
            "optionally assignment, question and time"
        )
    for row in rows:
        asked = (row.get(name, "").strip() for name in ("assignment", "question"))
        when = _time(row.get("time", ""))
        yield FoundRequest(
            row["student"].strip(), row["request"].strip(), path.name, when, "", *asked
        )


def _issues(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise UserError(f"{path} does not exist; expected a CSV file or a JSON list of issues")
    try:
        found = read_untrusted_json(read_bytes(path, _MOST_BYTES))
    except (SubmissionError, ValueError) as error:
        raise UserError(f"{path}: can't be read as JSON: {error}; expected {_ISSUES}") from error
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise UserError(f"{path}: expected {_ISSUES}")
    return found


def _of_issues(issues: list[dict[str, Any]], path: Path) -> list[FoundRequest]:
    found = [_of_issue(issue) for issue in issues]
    # an issue has no author if the account has been deleted
    if found and not any(one.who and one.source for one in found):
        raise UserError(
            f"{path}: no issue has both an author and an address; expected the fields author, "
            "title, body, createdAt and url"
        )
    return found


def _of_issue(issue: Mapping[str, Any]) -> FoundRequest:
    writer = _first(issue, _WRITERS)
    who = _text(_first(writer, _ACCOUNTS) if isinstance(writer, dict) else writer)
    address = _text(_first(issue, _ADDRESSES))
    text = f"{_text(issue.get('title') or '')}\n{_text(_first(issue, _BODIES))}".strip()
    # .../<owner>/<repository>/issues/7, in GitLab .../<repository>/-/issues/7
    parts = [part for part in address.split("/") if part != "-"]
    repository = parts[-3] if len(parts) > 3 and parts[-2] == "issues" else ""
    when = _time(_text(_first(issue, _TIMES)))
    return FoundRequest(who, request_text(text.encode()), address, when, repository)


def _first(document: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((document[name] for name in names if document.get(name)), "")


def _text(value: object) -> str:
    """Returns a JSON value as text; replaces lone surrogates, which can't be encoded as UTF-8."""
    return str(value).encode("utf-8", "replace").decode()


def _time(text: str) -> str:
    try:
        moment = read_time(text)
    except MissingZone:
        return ""
    return utc_text(moment)
