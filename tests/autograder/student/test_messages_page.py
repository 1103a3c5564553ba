"""docs/messages.md lists messages of `check`, collected from the code.

`python tests/autograder/student/test_messages_page.py` rewrites the page.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from autograder.student.display import LOOKS
from autograder.student.stale import CHANGED, EDITED, FAILED
from autograder.suite.raised import TABLE

PAGE = Path(__file__).resolve().parents[3] / "docs" / "messages.md"
TABLES = sorted((Path(__file__).parent / "mistakes").glob("*.toml"))
HEAD = """\
# What `check` says

A test collects these messages from the program. The tests make each of the mistakes below, and
check that the student sees the text next to it.

## The state of a question

| sign | in plain text | meaning |
|---|---|---|
"""


def page() -> str:
    lines = [HEAD.rstrip("\n")]
    lines += [f"| {look.sign} | `{look.plain}` | {look.text} |" for look in LOOKS.values()]
    lines += ["", "## The cell and the checked code differ", "", f"- {FAILED}", f"- {CHANGED}"]
    lines += [f"- as it ran in In[7] ({EDITED})"]
    lines += ["", "## What to do about an exception", ""]
    lines += [f"- {text}" for text in dict.fromkeys(row.to_do for row in TABLE)]
    for path in TABLES:
        text = path.read_text(encoding="utf-8")
        lines += ["", f"## {text.partition(chr(10))[0].removeprefix('# ').rstrip('.')}", ""]
        lines += ["| mistake | what the student sees |", "|---|---|"]
        for mistake in tomllib.loads(text)["mistake"]:
            texts = "<br>".join(_code(text) for text in mistake["says"])
            lines.append(f"| {mistake['name']} | {texts} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    plain = text.strip().replace("|", "\\|")
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def test_the_page_is_what_the_program_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run this file to write the page again"


def test_no_advice_mentions_our_internal_machinery() -> None:
    texts = [row.to_do for row in TABLE]
    assert not [text for text in texts if re.search(r"cotangent|traceback|worker|wire", text)]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
