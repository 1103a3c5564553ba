"""Lets each student's best submission count, if the class's rules say so.

The submission that counts is always in `submitted/`, and its result is the last one for that
student and assignment in the results file. If an earlier submission has earned more points, the
folders of the two submissions are swapped, and the better result is appended again, so that other
steps need not know about this rule.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ..classroom import (
    Allowances,
    CountingRule,
    arrival,
    digest_of,
    read_dates,
    read_extensions,
    read_late_days,
    read_roster,
    read_rules,
    read_uploads,
    write_uploads,
)
from ..deadlines import days_late, late_by
from ..errors import SubmissionError
from ..grading.run import grade_class
from ..grading.sources import RunEvents, RunOptions
from ..grading.suite_engine import SuiteEngine
from ..records import Assignment, DueDate, Key, SubmissionResult, SubmissionStatus
from ..results.file import ResultsFile, iterate_results
from ..results.wording import amount
from ..submission import FoundSubmissions, Submission
from ..submission.class_files import EARLIER, RESULTS_FILE, submission_folder
from ..submission.read import digest_of_files
from .courses import Courses


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A student's submission that may count: its folder and the digest of its files.

    `due` is the assignment's due date.
    """

    key: Key
    folder: Path
    digest: str
    due: DueDate | None


def let_best_count(courses: Courses, options: RunOptions, keys: Collection[Key]) -> tuple[str, ...]:
    """Moves each student's best submission to `submitted/`; returns a sentence about each swap.

    Does nothing if a different rule says which submission counts in the class, if the run graded
    only a shard, or if the run did not write to the class's results file. The best submission has
    the most points after the late penalty, which is waived if the student has enough late days
    left. Earlier submissions without a result from the current suite are graded first. Raises
    `UserError` if `collect` is running for the class.
    """
    own, class_folder = courses.own, courses.class_folder
    of_class = (class_folder / RESULTS_FILE).resolve() == options.results.resolve()
    is_whole = of_class and options.shard == (1, 1)
    if not own or not is_whole or read_rules(class_folder).counts is not CountingRule.BEST:
        return ()
    from ..collecting import collecting_alone

    assignments = {assignment.name: assignment for assignment in own.assignments}
    found = {
        key: candidates
        for key in sorted(keys)
        if key[1] in assignments
        if len(candidates := _candidates(class_folder, key, assignments[key[1]])) > 1
    }
    if not found:
        return ()
    results = options.results
    with collecting_alone(class_folder):
        lines = _lines(results, found)
        if ungraded := tuple(_ungraded(found, lines)):
            again = replace(options, resume=False, question=None, assignment=None)
            more = FoundSubmissions(ungraded, ())
            grade_class([SuiteEngine(own)], again, RunEvents(), found=more)
            lines = _lines(results, found)
        worth = _FinalPoints(class_folder)
        return tuple(_chosen(class_folder, results, found, lines, worth))


def _candidates(class_folder: Path, key: Key, assignment: Assignment) -> list[_Candidate]:
    """Returns the submission that counts, and all earlier submissions with different files."""
    kept = submission_folder(class_folder, *key, EARLIER)
    if not kept.is_dir():
        return []
    found: dict[str, _Candidate] = {}
    names = [exercise.name for exercise in assignment.exercises]
    for folder in (submission_folder(class_folder, *key), *sorted(kept.iterdir())):
        try:
            if folder.is_dir() and not folder.is_symlink():
                digest = digest_of_files(folder, names)
                found.setdefault(digest, _Candidate(key, folder, digest, assignment.duedate))
        except SubmissionError:
            continue
    return list(found.values())


def _lines(results: Path, keys: Collection[Key]) -> dict[Key, dict[str, SubmissionResult]]:
    """Returns the last result for each version (digest) of each submission, in file order."""
    found: defaultdict[Key, dict[str, SubmissionResult]] = defaultdict(dict)
    for line in iterate_results(results):
        if line.key in keys and line.status is SubmissionStatus.GRADED:
            found[line.key].pop(line.submission_digest, None)
            found[line.key][line.submission_digest] = line
    return found


def _ungraded(
    found: Mapping[Key, list[_Candidate]], lines: Mapping[Key, Mapping[str, SubmissionResult]]
) -> Iterator[Submission]:
    """Yields earlier submissions not graded with the same suite as the submission that counts."""
    for key, (counts, *others) in found.items():
        now = lines.get(key, {}).get(counts.digest)
        for one in others if now else ():
            line = lines[key].get(one.digest)
            if line is None or now is None or line.suite_digest != now.suite_digest:
                yield Submission(*key, one.folder)


def _chosen(
    class_folder: Path,
    results: Path,
    found: Mapping[Key, list[_Candidate]],
    lines: Mapping[Key, Mapping[str, SubmissionResult]],
    worth: _FinalPoints,
) -> Iterator[str]:
    with ResultsFile(results) as file:
        for key, candidates in found.items():
            graded = lines.get(key, {})
            ready = [one for one in candidates if one.digest in graded]
            if not ready or candidates[0] not in ready:
                continue
            points = {one.digest: worth.of(one, graded[one.digest]) for one in ready}
            best = max(ready, key=lambda one: points[one.digest])  # the first if several are equal
            last = list(graded)[-1]
            if best is not candidates[0]:
                _swap(class_folder, key, candidates[0].folder, best.folder)
                more, less = points[best.digest], points[candidates[0].digest]
                yield (
                    f"{key[0]}: a different submission of {key[1]} counts, with {amount(more)} "
                    f"points instead of {amount(less)}"
                )
            if last != best.digest:
                file.append(graded[best.digest])


class _FinalPoints:
    """Computes the points for submissions after the late penalty."""

    def __init__(self, class_folder: Path) -> None:
        from ..nbgrader import class_penalty

        self._budget = read_rules(class_folder).late_days
        self._taken = read_late_days(class_folder)
        tables = read_roster(class_folder), read_extensions(class_folder), read_dates(class_folder)
        # late days are counted in `of`, because the class's table has them for only one submission
        self._allowances = Allowances(*tables)
        self._penalty = class_penalty(class_folder)

    def of(self, one: _Candidate, result: SubmissionResult) -> float:
        due, arrived = one.due, arrival(one.folder).stamped
        if due is None or arrived is None:
            return result.score
        more = self._allowances.of(*one.key, due) or timedelta()
        end, own = due.naive_utc + more, self._allowances.duedate(one.key, due)
        late = late_by(arrived, end)
        if not late or days_late(arrived, end, own) <= self._left(*one.key):
            return result.score
        off = (
            self._penalty(one.key[0], exercise.score, late.total_seconds()) or 0.0
            for exercise in result.exercises
        )
        return result.score - sum(off)

    def _left(self, student: str, assignment: str) -> int:
        """Returns the student's late days that other assignments have not used."""
        others = (n for (s, a), n in self._taken.items() if s == student and a != assignment)
        return self._budget - sum(others)


def _swap(class_folder: Path, key: Key, counts: Path, best: Path) -> None:
    """Swaps two folders; records that the submission that now counts was not edited by hand."""
    from ..collecting import earlier_place

    os.rename(counts, earlier_place(class_folder, key, counts))
    os.rename(best, counts)
    known = read_uploads(class_folder).get(key)
    if known is not None:
        write_uploads(class_folder, [replace(known, placed=digest_of(counts))])
