"""Checks wrong answers as a student would: `python named_entries.py ROOT FOLDER`.

FOLDER/entries.json lists assignment, exercise, question, sentence and module; FOLDER/named.json
then says for each whether `check` showed the sentence, alone or as one of two.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch

from autograder.student import check_folder


def main(root: Path, folder: Path) -> None:
    """Writes FOLDER/named.json."""
    torch.set_num_threads(1)
    shutil.copytree(root / "assignments", folder / "work", ignore=shutil.ignore_patterns("*.ipynb"))
    named: list[tuple[str, bool]] = []
    for assignment, exercise, question, sentence, text in json.loads(
        (folder / "entries.json").read_text()
    ):
        module = folder / "work" / assignment / f"{exercise}.py"
        module.write_text(text)
        (found,) = check_folder(module.parent, [question])
        # a question with the name of its exercise asks for all of the exercise's questions
        (asked,) = (result for result in found.questions if result.question == question)
        named.append((question, sentence in asked.mistake))
    (folder / "named.json").write_text(json.dumps(named))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
