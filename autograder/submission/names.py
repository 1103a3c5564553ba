"""Checks student names as data: safe names of folders, and names that nbgrader accepts."""

from __future__ import annotations

from pathlib import Path

from ..escaping import for_file_name, path_problem

_NBGRADER_LONGEST = 128


def submission_folder(
    class_folder: Path, student: str, assignment: str, below: str = "submitted"
) -> Path:
    """Returns the folder of a student's files; a name can never lead out of the class folder.

    `student` is the name of the folder; names that no folder can have were encoded before.
    """
    names = [
        for_file_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath(below, *names)


def nbgrader_problem(name: str) -> str | None:
    """Returns why nbgrader can't use this name of a student or assignment, or None if it can."""
    if problem := path_problem(name):
        return problem
    if len(name) > _NBGRADER_LONGEST or len(name.encode()) > 255:
        return f"is longer than {_NBGRADER_LONGEST} characters"
    return None
