"""Stores students' requests for a second look at a grade, with the answers, in `requests.csv`.

A request arrives as a file named `regrade_request.txt` in an upload, or as an issue in a code
classroom. Identical requests are stored only once. A request stays in the table after it has been
answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

from ..records import Key
from ..results.manual import Request
from .arrivals import utc_text
from .tables import change_table, read_table

REQUESTS_FILE = "requests.csv"
#: the file name of a request; platforms append a number if an upload contains several
_REQUEST = re.compile(r"regrade[_ -]request(?:-\d+| \(\d+\))?\.(?:txt|md)", re.IGNORECASE)
_LONGEST = 4_000
_COLUMNS = tuple(field.name for field in fields(Request))


def is_request(file: str) -> bool:
    """Returns whether a file name in an upload is the name of a request."""
    return _REQUEST.fullmatch(file) is not None


def request_text(*files: bytes) -> str:
    """Returns the text of a request, cut off at the maximum length.

    Several files in one upload count as one request, so that nobody can flood the list of requests.
    """
    texts = (data[: 4 * _LONGEST].decode("utf-8-sig", "replace").strip() for data in files)
    return "\n\n".join(dict.fromkeys(texts))[:_LONGEST]


def read_requests(class_folder: Path) -> tuple[Request, ...]:
    """Returns all requests in order of arrival; raises `UserError` for a malformed table."""
    rows = read_table(class_folder / REQUESTS_FILE, _COLUMNS)
    return tuple(Request(**row) for row in rows)


def requests_by_key(requests: Iterable[Request]) -> Mapping[Key, tuple[Request, ...]]:
    found: dict[Key, tuple[Request, ...]] = {}
    for one in requests:
        found[one.key] = (*found.get(one.key, ()), one)
    return found


def add_requests(class_folder: Path, requests: Iterable[Request]) -> tuple[Request, ...]:
    """Stores and returns new requests; identical requests count as one."""
    wanted, new = list(requests), list[Request]()

    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        known = {_same(Request(**row)) for row in rows}
        for one in wanted:
            if _same(one) not in known:
                known.add(_same(one))
                new.append(one)
        return [*rows, *(asdict(one) for one in new)]

    if wanted:
        change_table(class_folder / REQUESTS_FILE, _COLUMNS, change)
    return tuple(new)


def answer_requests(
    class_folder: Path, key: Key, question: str, answer: str, by: str
) -> tuple[Request, ...]:
    """Answers a student's open requests about a question; returns them with the answer added.

    If there are no requests about this question, answers requests about the whole assignment. An
    empty `question` answers all open requests about the assignment.
    """
    now = utc_text(datetime.now(UTC))
    answered: list[Request] = []

    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        open_ones = [r for r in rows if (r["student"], r["assignment"]) == key and not r["answer"]]
        own = [row for row in open_ones if row["question"] == question]
        chosen = (own or [r for r in open_ones if not r["question"]]) if question else open_ones
        for row in chosen:
            row |= {"answer": answer, "answered_by": by, "answered_at": now}
            answered.append(Request(**row))
        return rows

    change_table(class_folder / REQUESTS_FILE, _COLUMNS, change)
    return tuple(answered)


def _same(request: Request) -> tuple[str, ...]:
    words = " ".join(request.request.split())
    return request.student, request.assignment, request.question, words
