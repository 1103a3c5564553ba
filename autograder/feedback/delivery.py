"""Delivers feedback to students: archives that platforms import, and a folder for mail merge.

In Moodle, *Upload multiple feedback files in a zip* imports a zip that contains a folder for each
participant, named as in Moodle's download. In Canvas, *Upload submissions* imports a zip that
contains a file for each student, whose name contains the numbers of the user and of a submitted
file; Canvas shows the file in a comment.
"""

from __future__ import annotations

import enum
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..classroom import Origin, Roster, without_group, write_table
from ..errors import UserError
from ..escaping import for_file_name
from ..files import replace_bytes, replacing
from ..records import Key, SubmissionResult
from ..results.last import keys_of, results_of
from ..results.wording import points_text, title_of
from ..submission.class_files import FEEDBACK

_CANVAS_NUMBERS = re.compile(r"(.*?_)(\d+)(_\d+_)(?=.)", re.DOTALL)
_MAIL_COLUMNS = ("email", "name", "student", "subject", "points", "html", "text")
#: the date of all files in a zip; it never changes, so that equal feedback gives equal archives
_NO_DATE = (1980, 1, 1, 0, 0, 0)


class DeliveryFormat(enum.StrEnum):
    """A format in which feedback is packed for students."""

    MOODLE = "moodle"
    CANVAS = "canvas"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """The packed files, the number of submissions, and notes about people who can't be reached.

    `waits` is true if a person must do something before everybody can be reached.
    """

    paths: tuple[Path, ...]
    submissions: int
    notes: tuple[str, ...]
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Recipients:
    """The data that identify students on platforms: their submissions' origins and the roster."""

    origins: Mapping[Key, Origin]
    roster: Roster


def deliver(
    way: DeliveryFormat,
    class_folder: Path,
    results: Sequence[SubmissionResult],
    to: Recipients,
    titles: Mapping[str, str] | None = None,
) -> DeliveryReport:
    """Packs the pages in `feedback/` in the chosen format; raises `UserError` if there are none.

    `titles` contains the titles of assignments.
    """
    pages = results_of(results, lambda key: page_of(class_folder, key).is_file())
    if not pages:
        raise UserError(f"{class_folder / 'feedback'} has no pages: run autograder feedback first")
    if way is DeliveryFormat.MAIL:
        return _mail(class_folder, pages, to, titles or {})
    return _archives(way, class_folder, pages, to)


def page_of(class_folder: Path, key: Key) -> Path:
    """Returns the path of a submission's page; a plain-text copy is in the same folder."""
    parts = map(for_file_name, key)
    return class_folder.joinpath(FEEDBACK, *parts, "feedback.html")


def _archives(
    way: DeliveryFormat, class_folder: Path, pages: Sequence[SubmissionResult], to: Recipients
) -> DeliveryReport:
    platform = way.value.capitalize()
    files: dict[str, dict[str, Path]] = {}
    notes: list[str] = []
    waits = False
    for student, assignment in keys_of(pages):
        origin = to.origins.get((student, assignment))
        if origin is None or origin.platform != platform:
            notes.append(f"{student}/{assignment}: not collected from {platform}")
        elif way is DeliveryFormat.MOODLE and not _is_of_person(origin, to):
            notes.append(
                f"{student}/{assignment}: not on the roster, so Moodle's number {origin.number} "
                "may belong to a group: import a roster with this person, or one with the groups"
            )
            waits = True
        elif name := _NAMES[way](origin):
            page = page_of(class_folder, (student, assignment))
            # members of a group who have no number of their own share the number of the group's
            # upload
            files.setdefault(assignment, {}).setdefault(name, page)
        else:
            notes.append(f"{student}/{assignment}: {_NO_NUMBER[way]}")
            waits = True
    if not files:
        raise UserError(
            f"{class_folder}: no submission was collected from {platform}, so there "
            "is nothing to pack\n  fix: collect the archive of its submissions, or pack for "
            "another platform"
            if not any(origin.platform == platform for origin in to.origins.values())
            else f"{class_folder}: nothing can be packed for {platform}:\n{notes[0]}"
        )
    target = class_folder / f"feedback.{way}"
    paths = [
        _zipped(own.items(), target / for_file_name(name, ".zip"))
        for name, own in sorted(files.items())
    ]
    return DeliveryReport(tuple(paths), len(pages) - len(notes), tuple(notes), waits)


def _is_of_person(origin: Origin, to: Recipients) -> bool:
    """Returns whether a Moodle number belongs to a person.

    A number that follows a group's name is the group's number. Without a roster, groups can't be
    recognized, so every number counts as that of a person.
    """
    names = (origin.student, origin.name, origin.email, *without_group(origin.name))
    people = to.roster.people
    if not people or len(to.roster.without(filter(None, names))) < len(people):
        return True
    # with blind marking, all people, but not groups, have the same name (in English, with the
    # number)
    numbers = {one.number for one in to.origins.values() if one.name == origin.name}
    return len(numbers) > 1 or origin.name.endswith(f" {origin.number}")


def _moodle_name(origin: Origin) -> str | None:
    if not origin.number:
        return None
    name = origin.name.replace("_", " ").replace("/", " ")
    # Moodle before 4.1 requires the underscore at the end, and later versions accept it
    return f"{name}_{origin.number}_assignsubmission_file_/feedback.html"


def _canvas_name(origin: Origin) -> str | None:
    is_anonymous = origin.number and not origin.number.isdigit()
    match = None if is_anonymous else _CANVAS_NUMBERS.match(origin.entry)
    return f"{match[1]}{origin.number or match[2]}{match[3]}feedback.html" if match else None


_NO_NUMBER = {
    DeliveryFormat.MOODLE: "Moodle's number for this person is not known; collect the archive "
    "again with --times and the assignment's grading worksheet",
    DeliveryFormat.CANVAS: "Canvas can't accept files for submissions typed as text (autograder "
    "push writes a comment instead) or downloaded anonymously; download the submissions again "
    "with names",
}
_NAMES = {DeliveryFormat.MOODLE: _moodle_name, DeliveryFormat.CANVAS: _canvas_name}


def _zipped(files: Iterable[tuple[str, Path]], path: Path) -> Path:
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, page in sorted(files):
            info = zipfile.ZipInfo(name, _NO_DATE)
            archive.writestr(info, page.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def _mail(
    class_folder: Path,
    pages: Sequence[SubmissionResult],
    to: Recipients,
    titles: Mapping[str, str],
) -> DeliveryReport:
    """Writes a folder with a table for mail merge, and each page as HTML and as text."""
    folder = class_folder / "feedback.mail"
    notes: list[str] = []
    rows = list(_letters(class_folder, pages, to, titles, notes))
    if not rows:
        raise UserError(
            f"{class_folder}: nobody who submitted has an email address, so there is nothing to "
            "send\n  fix: run autograder roster CLASS FILE with a list that has addresses"
        )
    write_table(folder / "mail.csv", _MAIL_COLUMNS, rows)
    return DeliveryReport((folder / "mail.csv",), len(rows), tuple(notes), waits=bool(notes))


def _letters(
    class_folder: Path,
    pages: Sequence[SubmissionResult],
    to: Recipients,
    titles: Mapping[str, str],
    notes: list[str],
) -> Iterator[dict[str, str]]:
    folder = class_folder / "feedback.mail"
    for result in pages:
        page = page_of(class_folder, result.key)
        person = to.roster.person(result.student)
        origin = to.origins.get(result.key)
        known = (person.email if person else "", origin.email if origin else "", result.student)
        email = next((text for text in known if _is_address(text)), "")
        if not email:
            note = f"{result.student}: no email address; import a roster that contains one"
            notes += [note] if note not in notes else []  # one note for each student
            continue
        name = f"{result.student}.{result.assignment}"
        html, text = (folder / for_file_name(name, suffix) for suffix in (".html", ".txt"))
        replace_bytes(html, page.read_bytes())
        replace_bytes(text, page.with_suffix(".txt").read_bytes())
        points = points_text(result.score, result.max_score)
        name = _as_spoken(person.name) if person and person.name else result.student
        subject = f"Feedback: {title_of(result.assignment, titles)}"
        cells = (email, name, result.student, subject, points, html.name, text.name)
        yield dict(zip(_MAIL_COLUMNS, cells, strict=True))


def _as_spoken(name: str) -> str:
    """Returns a name in the form used in letters: `Ada Lovelace` for Canvas's `Lovelace, Ada`."""
    last, comma, first = name.rpartition(", ")
    return f"{first} {last}" if comma else name


def _is_address(text: str) -> bool:
    """Returns whether a string is one email address, and contains no formula or line break."""
    return re.fullmatch(r"[\w][\w.+%-]*@[\w.-]+", text) is not None
