"""A student's name is data: which folder it may become, and whether nbgrader can take it."""

from __future__ import annotations

from pathlib import Path

from ..escaping import for_file_name, path_problem

_NBGRADER_LONGEST = 128


def submission_folder(class_folder: Path, student: str, assignment: str) -> Path:
    """Where a student's files are: below the very name, which is a folder's and not a way out."""
    names = [
        for_file_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath("submitted", *names)


def nbgrader_problem(name: str) -> str | None:
    """Why nbgrader can't take a student or assignment of this name; None where it can."""
    if problem := path_problem(name):
        return problem
    if len(name) > _NBGRADER_LONGEST or len(name.encode()) > 255:
        return f"is longer than {_NBGRADER_LONGEST} characters"
    return None
