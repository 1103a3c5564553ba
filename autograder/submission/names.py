"""A student's name is data: which folder it may become, and whether nbgrader can take it."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from urllib.parse import quote

_LONGEST_FOLDER = 120
_NBGRADER_LONGEST = 128


def folder_name(name: str) -> str:
    """A folder name of its own for any text: the text itself where that is safe, else encoded."""
    if _is_plain(name):
        return name
    encoded = quote(name, safe=" ", errors="surrogatepass").replace(".", "%2E") or "%00"
    if len(encoded) <= _LONGEST_FOLDER:
        return encoded
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{encoded[: _LONGEST_FOLDER - 17]}-{digest}"


def submission_folder(class_folder: Path, student: str, assignment: str) -> Path:
    """Where a student's files are: below the very name, which is a folder's and not a way out."""
    names = [
        folder_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath("submitted", *names)


def _is_plain(name: str) -> bool:
    return _path_problem(name) is None and len(name.encode()) <= 255 and "%" not in name


def _path_problem(name: str) -> str | None:
    if name.strip() in {"", ".", ".."} or name != name.strip():
        return "is empty, all dots, or begins or ends with a space"
    if any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in name):
        return "holds a control character or is no valid Unicode"
    if "/" in name or "\\" in name:
        return "holds a slash or backslash"
    return None


def nbgrader_problem(name: str) -> str | None:
    """Why nbgrader can't take a student or assignment of this name; None where it can."""
    if problem := _path_problem(name):
        return problem
    if len(name) > _NBGRADER_LONGEST or len(name.encode()) > 255:
        return f"is longer than {_NBGRADER_LONGEST} characters"
    return None
