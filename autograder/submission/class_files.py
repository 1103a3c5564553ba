"""The names in a class folder, and whether a folder is part of students' work."""

from __future__ import annotations

from pathlib import Path

from ..escaping import for_file_name

#: folders in a class folder, as nbgrader calls them
SUBMITTED, AUTOGRADED, FEEDBACK = "submitted", "autograded", "feedback"
#: submissions that newer ones replaced, and new ones of students whose folder was edited by hand
EARLIER, WAITING = "earlier", "waiting"
#: what nbgrader reads and fills
CONFIG_FILE, GRADEBOOK_FILE = "nbgrader_config.py", "gradebook.db"
RESULTS_FILE = "results.jsonl"
ROSTER_FILE, DUE_FILE, COLLECTED_FILE = "roster.csv", "due.csv", "collected.csv"
EXTENSIONS_FILE, WITHDRAWALS_FILE = "extensions.csv", "withdrawals.csv"
#: folders that contain what students wrote
OF_STUDENTS = (SUBMITTED, AUTOGRADED, EARLIER, WAITING)


def is_of_students(folder: Path) -> bool:
    """Returns whether a folder is part of what students submitted, by the names around it.

    Nothing there is a course or a configuration, whose code would run as the instructor.
    """
    return not set(OF_STUDENTS).isdisjoint(folder.parts)


def submission_folder(
    class_folder: Path, student: str, assignment: str, below: str = SUBMITTED
) -> Path:
    """Returns the folder of a student's files; a name can never lead out of the class folder.

    `student` is the name of the folder; names that no folder can have were encoded before.
    """
    names = [
        for_file_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath(below, *names)
