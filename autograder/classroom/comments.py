"""Reads and writes `comments.csv`, a class's bank of comments that graders reuse.

A grader writes `#name` in a comment, in formgrader or with `autograder mark`; students read the
bank's text instead. A comment in the bank applies to one question, or to all questions if
`question` is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..errors import UserError
from .tables import change_table, read_table

COMMENTS_FILE = "comments.csv"
_NAME = r"[a-z][\w-]*"
_MENTION = re.compile(rf"(?<![\w#&/])#({_NAME})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BankComment:
    """A comment in the bank; `question` is `exercise/question`, or empty for all questions."""

    question: str
    name: str
    text: str


_COLUMNS = tuple(field.name for field in fields(BankComment))


@dataclass(frozen=True, slots=True)
class ExpandedComment:
    """A comment as students read it, with the known and the unknown names in the grader's text."""

    text: str
    used: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class CommentBank:
    """A class's bank of comments, keyed by name and question."""

    def __init__(self, comments: Iterable[BankComment] = ()) -> None:
        self.comments = tuple(comments)
        self._texts = {(c.name.casefold(), c.question): c for c in self.comments}

    def expanded(self, text: str, question: str) -> ExpandedComment:
        """Replaces each `#name` in a comment with the bank's text; keeps unknown names."""
        used: list[str] = []
        unknown: list[str] = []

        def replaced(found: re.Match[str]) -> str:
            known = self.find(found[1], question)
            (used if known else unknown).append(known.name if known else found[1])
            return known.text if known else found[0]

        whole = _MENTION.sub(replaced, text) if self.comments else text
        return ExpandedComment(whole, tuple(dict.fromkeys(used)), tuple(dict.fromkeys(unknown)))

    def unknown(self, text: str, question: str) -> tuple[str, ...]:
        """Returns the names in a comment that are not in the bank."""
        names = dict.fromkeys(found[1] for found in _MENTION.finditer(text))
        return tuple(name for name in names if self.find(name, question) is None)

    def find(self, name: str, question: str) -> BankComment | None:
        """Returns the comment with this name for the question or, otherwise, for all questions.

        Returns None if there is no such comment at all.
        """
        folded = name.casefold()
        return self._texts.get((folded, question)) or self._texts.get((folded, ""))


def read_bank(class_folder: Path) -> CommentBank:
    """Returns a class's comment bank, or an empty one; raises `UserError` for a malformed table."""
    path = class_folder / COMMENTS_FILE
    comments = [BankComment(**row) for row in read_table(path, _COLUMNS)]
    for comment in comments:
        _check(comment, f"{path}: ")
    return CommentBank(comments)


def keep_comment(class_folder: Path, comment: BankComment) -> bool:
    """Adds a comment to the bank, or replaces its text; returns True if the comment is new.

    Raises `UserError` if the name or the text is not allowed.
    """
    _check(comment)
    key = comment.question, comment.name.casefold()
    known: list[dict[str, str]] = []

    def change(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        same = [row for row in rows if (row["question"], row["name"].casefold()) == key]
        known.extend(same)
        return [*(row for row in rows if row not in same), asdict(comment)]

    change_table(class_folder / COMMENTS_FILE, _COLUMNS, change)
    return not known


def _check(comment: BankComment, where: str = "") -> None:
    if not re.fullmatch(_NAME, comment.name, re.IGNORECASE):
        raise UserError(
            f"{where}{comment.name!r} is not a valid name for a comment; expected a letter, "
            "then letters, digits, - or _, as in no-batch"
        )
    if not comment.text.strip():
        raise UserError(f"{where}the comment {comment.name!r} has no text")
