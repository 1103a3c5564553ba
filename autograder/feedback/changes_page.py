"""Writes a page that shows how regrading changed scores, by question and by student."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import replace_file
from ..results.changes import Attempts, Change, OutdatedScore, Score, scores
from ..results.manual import Request
from ..results.wording import points_text
from .attempts import AttemptCodes, CodeLine, side_by_side
from .rendering import render


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """The changes in a class's scores for a question: how many went up, went down, or changed back.

    `back` counts the students whose score changed and then changed back, and `other` counts the
    students for whom only the maximum changed.
    """

    assignment: str
    exercise: str
    question: str
    up: int
    down: int
    back: int
    other: int
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _AttemptTable:
    """A student's attempts at an assignment, side by side, with a row for each question.

    `codes` contains the questions whose code changed, each with the heading and the code of every
    attempt.
    """

    student: str
    assignment: str
    heads: tuple[str, ...]
    totals: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], bool], ...]
    codes: tuple[tuple[str, tuple[tuple[str, tuple[CodeLine, ...]], ...]], ...] = ()


def by_question(changes: Iterable[Change]) -> list[QuestionChange]:
    """Groups changes by question; the questions that changed for the most students come first."""
    found: defaultdict[tuple[str, str, str], list[Change]] = defaultdict(list)
    for change in changes:
        found[change.assignment, change.exercise, change.question].append(change)
    rows = [_of_question(key, own) for key, own in found.items()]
    return sorted(rows, key=lambda row: -(row.up + row.down + row.back + row.other))


def _of_question(key: tuple[str, str, str], own: Sequence[Change]) -> QuestionChange:
    signs = Counter(_sign(change.difference) for change in own)
    causes = dict.fromkeys(cause for change in own for cause in change.causes)
    back = sum(bool(change.between) and not _sign(change.difference) for change in own)
    reasons = tuple(map(str, causes))
    return QuestionChange(*key, signs[1], signs[-1], back, signs[0] - back, reasons)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def score_text(score: Score | None) -> str:
    """Formats points and the maximum; None means that the question did not exist."""
    return points_text(score.points, score.of) if score else "no such question"


def before_text(change: Change) -> str:
    """Describes the earlier score, then the scores `between` that score and the current one."""
    return ", then ".join(map(score_text, (change.before, *change.between)))


def write_changes(
    changes: Sequence[Change],
    manual: Sequence[Change],
    in_doubt: Sequence[OutdatedScore],
    attempts: Sequence[Attempts],
    path: Path,
    codes: AttemptCodes | None = None,
    requests: Sequence[Request] = (),
    titles: Mapping[str, str] | None = None,
) -> Path:
    """Writes the page to `path`; raises `UserError` if the page can't be written.

    `codes` contains the code in each attempt, as `attempt_codes` returns it; `requests` contains
    students' requests for a second look, and `titles` the titles of assignments.
    """
    page = render(
        "changes.html.jinja",
        titles=titles,
        questions=by_question(changes),
        changes=changes,
        students=len({change.student for change in changes}),
        manual=manual,
        doubts=in_doubt,
        requests=requests,
        attempts=[_attempt_table(one, codes or {}) for one in attempts],
        score=score_text,
        before=before_text,
    )
    return replace_file(path, page)


def _attempt_table(one: Attempts, codes: AttemptCodes) -> _AttemptTable:
    lines = [scores(line) for line in one.lines]
    keys = list(dict.fromkeys(key for line in lines for key in line))
    rows = []
    for exercise, question in keys:
        cells = tuple(score_text(line.get((exercise, question))) for line in lines)
        rows.append((f"{exercise}/{question}", cells, len(set(cells)) > 1))
    return _AttemptTable(
        *one.key,
        heads=_heads(one),
        totals=tuple(score_text(Score(line.score, line.max_score)) for line in one.lines),
        rows=tuple(rows),
        codes=tuple(_changed_code(one, codes, keys)),
    )


def _changed_code(
    one: Attempts, codes: AttemptCodes, questions: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, tuple[tuple[str, tuple[CodeLine, ...]], ...]]]:
    """Yields the questions whose code differs between attempts, with the code in each attempt."""
    submissions = {line.submission_digest: line.attempt for line in one.lines}
    known = {d: codes[*one.key, d] for d in submissions if (*one.key, d) in codes}
    heads = [f"Attempt {submissions[digest]}" for digest in known]
    for exercise, question in questions:
        versions = [written.get((exercise, question), "") for written in known.values()]
        if len(set(versions)) > 1:
            yield f"{exercise}/{question}", tuple(zip(heads, side_by_side(versions), strict=True))


def _heads(one: Attempts) -> tuple[str, ...]:
    """Returns a heading for each grading, such as the second grading of the first attempt."""
    seen: Counter[int] = Counter()
    heads = []
    for line in one.lines:
        seen[line.attempt] += 1
        again = f", graded again ({seen[line.attempt]})" if seen[line.attempt] > 1 else ""
        heads.append(f"Attempt {line.attempt}{again}")
    return tuple(heads)
