"""Checks wrong answers as a student would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from autograder.student import check_folder


def named_entries(root: Path, folder: Path) -> None:
    """Checks the answers in `folder/entries.json`, which lists five things for each answer.

    These are its assignment, exercise, question, sentence and module. The function writes
    `folder/named.json`, which says for each answer whether `check` showed the sentence.
    """
    shutil.copytree(root / "assignments", folder / "work", ignore=shutil.ignore_patterns("*.ipynb"))
    named: list[tuple[str, bool]] = []
    for assignment, exercise, question, sentence, text in json.loads(
        (folder / "entries.json").read_text()
    ):
        module = folder / "work" / assignment / f"{exercise}.py"
        module.write_text(text)
        (found,) = check_folder(module.parent, [question])
        # if the question has the name of its exercise, all questions of the exercise are checked
        (asked,) = (result for result in found.questions if result.question == question)
        named.append((question, sentence in asked.mistake))
    (folder / "named.json").write_text(json.dumps(named))
