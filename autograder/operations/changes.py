"""Reports what changed when a class was regraded, and remembers which changes have been seen."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import (
    ManualKey,
    ManualScores,
    ReviewMarks,
    Selection,
    anonymous,
    pseudonyms,
    read_requests,
    read_review_marks,
    read_roster,
    read_withdrawals,
    select,
    write_review_marks,
)
from ..counts import number_of
from ..errors import UserError
from ..records import Key
from ..results.changes import (
    Attempts,
    Cause,
    Change,
    OutdatedScore,
    attempts,
    changes,
    doubts,
    manual_changes,
)
from ..results.file import iterate_results
from ..results.last import keys_of
from ..results.manual import HumanWork, Request
from ..submission.class_files import EARLIER, RESULTS_FILE, class_home
from .courses import HERE, course_if_found
from .reading import last_class_results, results_file

if TYPE_CHECKING:  # packages that only instructors have are imported when they are needed
    from ..feedback import AttemptCodes
    from .grades import DisplayOptions


#: the key under which the review marks store the number of answered requests
_REQUESTS = "regrade requests"


@dataclass(frozen=True, slots=True)
class ClassChanges:
    """The changes in a class since somebody last viewed them, or since the first grading.

    `manual` contains the scores that people have set, since then, to something other than the
    automatic score. `in_doubt` contains manual scores that were entered before the automatic score,
    the maximum score or the answer changed. `attempts` contains the submissions with more than one
    result line, and `codes` contains the code of each attempt by students who submitted again.
    `requests` contains requests for a second look that are still open, or that have been answered
    since somebody last viewed the changes. `titles` contains the titles of assignments.
    """

    changes: tuple[Change, ...]
    manual: tuple[Change, ...]
    in_doubt: tuple[OutdatedScore, ...]
    attempts: tuple[Attempts, ...]
    codes: AttemptCodes = field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)


def class_changes(
    class_folder: Path | str, showing: DisplayOptions | None = None, *, since_first: bool = False
) -> ClassChanges:
    """Returns what changed when a class was regraded, and remembers that the changes were viewed.

    Compares the latest results with those that somebody viewed last or, if `since_first` is true,
    with the first result of each submission. If nothing is new since the last call, returns the
    same changes again. Calls that select only some students are not remembered.

        for change in autograder.class_changes("course").changes:
            print(change.student, change.question, change.before, change.after, change.causes)

    Raises `UserError` if nothing has been graded.
    """
    from ..feedback import attempt_codes
    from ..nbgrader import human_work
    from .grades import DisplayOptions

    folder, wanted = class_home(class_folder), showing or DisplayOptions()
    one = wanted.selection.assignment
    lines = _lines(results_file(folder))
    counts = {name: n for name, n in _by_assignment(lines).items() if one in (None, name)}
    requests = sorted(read_requests(folder), key=lambda request: request.answered_at)
    if requests:
        counts |= {_REQUESTS: sum(not request.is_open for request in requests)}
    work = human_work(folder)
    scores = _manual_scores(folder, lines, work, one)
    looks = ReviewMarks() if since_first else read_review_marks(folder).before(counts, scores)
    seen = looks.lines()
    found = _found(folder, lines, seen, wanted.selection, work)
    unseen = looks.new(scores)
    manual = (c for c in found.manual if _place(c) in unseen)
    found = replace(found, manual=tuple(manual))
    whole = wanted.selection.student is None and not wanted.selection.is_of_people
    if whole and folder.is_dir():
        with contextlib.suppress(UserError):  # the folder may be read-only
            write_review_marks(folder, counts, scores)
    found = replace(found, requests=tuple(_news(folder, requests, seen, wanted.selection)))
    codes = attempt_codes(folder, folder / EARLIER, found.attempts, is_plain=wanted.is_anonymous)
    found = replace(found, codes=codes, titles=course_if_found(HERE, folder).titles)
    return _without_names(found) if wanted.is_anonymous else found


def write_changes(found: ClassChanges, path: Path | str) -> Path:
    """Writes the changes as an HTML page; raises `UserError` if the file can't be written.

    autograder.write_changes(autograder.class_changes("course"), "course/changes.html")
    """
    from ..feedback import write_changes as write_page

    shown = found.changes, found.manual, found.in_doubt, found.attempts
    return write_page(*shown, Path(path), found.codes, found.requests, found.titles)


def _news(
    folder: Path, requests: Sequence[Request], seen: Mapping[str, int], selection: Selection
) -> Iterator[Request]:
    """Yields the selected students' open requests, and answered ones that nobody has seen yet."""
    roster, withdrawn = read_roster(folder), read_withdrawals(folder)
    answered = [request for request in requests if not request.is_open]
    open_ones = [request for request in requests if request.is_open]
    for request in (*open_ones, *answered[seen.get(_REQUESTS, 0) :]):
        student, assignment = request.key
        is_asked = selection.student in (None, student)
        is_asked &= selection.assignment in (None, assignment)
        is_asked &= selection.fits(roster.person(student))
        if is_asked and request.key not in withdrawn:
            yield request


def unseen_note(class_folder: Path) -> str:
    """Returns a note for exports about changes that nobody has seen yet, or "" if there are none.

    To save memory, keeps the results of only those submissions that were graded more than once.
    """
    path = class_folder / RESULTS_FILE
    if not path.is_file():
        return ""
    lines = _lines(path)
    counts = _by_assignment(lines)
    looks, withdrawn = read_review_marks(class_folder), read_withdrawals(class_folder)
    several = {
        key
        for key, number in lines.items()
        if number > 1 and key not in withdrawn and counts[key[1]] not in looks.numbers(key[1])
    }
    if not several:
        return ""
    again = attempts(iterate_results(path), looks.before(counts).lines(), several)
    found = [change for change in changes(again) if Cause.SUBMISSION not in change.causes]
    if not found:
        return ""
    people = len({change.student for change in found})
    return (
        f"grading again changed scores that nobody has looked at yet ({len(found)} in all, of "
        f"{number_of(people, 'student')}): see autograder changes {class_folder}"
    )


def _manual_scores(
    folder: Path, lines: Mapping[Key, int], work: HumanWork, assignment: str | None
) -> ManualScores:
    """Returns the entries that change scores, for one assignment or for all."""
    withdrawn = read_withdrawals(folder)
    return {
        (student, name, f"{exercise}/{question}"): f"{grade.score} {grade.extra_credit}"
        for (student, name, exercise, question), grade in work.grades.items()
        if grade.changes_score
        and (student, name) in lines
        and (student, name) not in withdrawn
        and assignment in (None, name)
    }


def _place(change: Change) -> ManualKey:
    return change.student, change.assignment, f"{change.exercise}/{change.question}"


def _found(
    folder: Path,
    lines: Mapping[Key, int],
    seen: Mapping[str, int],
    selection: Selection,
    work: HumanWork,
) -> ClassChanges:
    by_hand = {(student, assignment) for student, assignment, *_ in work.grades}
    roster, withdrawn = read_roster(folder), read_withdrawals(folder)
    chosen = select(last_class_results(folder), roster, withdrawn, selection)
    # nothing can have changed for other submissions, so don't keep their lines in memory
    keys = {key for key in keys_of(chosen) if lines[key] > 1 or key in by_hand}
    found = attempts(iterate_results(results_file(folder)), seen, keys)
    return ClassChanges(
        tuple(changes(found)),
        tuple(manual_changes(found, work)),
        tuple(doubts(found, work)),
        tuple(one for one in found if len(one.lines) > 1),
    )


def _without_names(found: ClassChanges) -> ClassChanges:
    students = [one.key[0] for one in found.attempts]
    students += [change.student for change in (*found.changes, *found.manual)]
    students += [request.student for request in found.requests]
    names = pseudonyms(students + [doubt.student for doubt in found.in_doubt])
    return ClassChanges(
        tuple(replace(change, student=names[change.student]) for change in found.changes),
        tuple(replace(change, student=names[change.student]) for change in found.manual),
        tuple(replace(doubt, student=names[doubt.student]) for doubt in found.in_doubt),
        tuple(replace(one, lines=tuple(anonymous(one.lines, names))) for one in found.attempts),
        {(names[s], a, digest): code for (s, a, digest), code in found.codes.items()},
        tuple(replace(request, student=names[request.student]) for request in found.requests),
        found.titles,
    )


def _lines(path: Path) -> Counter[Key]:
    return Counter(line.key for line in iterate_results(path))


def _by_assignment(lines: Mapping[Key, int]) -> Counter[str]:
    counts = Counter[str]()
    for (_, assignment), number in lines.items():
        counts[assignment] += number
    return counts
