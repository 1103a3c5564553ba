"""Checks wrong answers as a student would: `python named_entries.py ROOT FOLDER`.

FOLDER/entries.json lists the assignment, exercise, question, sentence and module of each answer.
The script writes FOLDER/named.json, which says for each answer whether `check` showed the sentence.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch

from autograder.student import check_folder


def main(root: Path, folder: Path) -> None:
    torch.set_num_threads(1)
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


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
