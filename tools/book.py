"""Writes the lessons as pages for the site, with pictures from solved notebooks.

    .venv/bin/python -m tools.book [--to FOLDER] [ASSIGNMENT/EXERCISE ...]

A page shows the cells of the released notebook. The outputs are those of the same cells with the
solutions instead of the stubs. Each notebook runs in a fork of one process that has already loaded
all packages. Outputs are kept in build/lessons, so that only changed notebooks run again. Pages are
searched for secrets of the course, as is done before a release; if any page contains a secret, no
page is written.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import json
import multiprocessing
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from latex2mathml.converter import convert
from matplotlib_inline.backend_inline import configure_inline_support

import autograder.attention.notebooks.pictures
import autograder.student.runner  # noqa: F401  # imported only once
from autograder.authoring.course_map import Stage, course_map
from autograder.authoring.leaks import LeakFinder, refuse_leaks
from autograder.authoring.solution_parts import split_module
from autograder.authoring.source_notebook import BRING_CHECKS, SETUP, WAY
from autograder.course import Course, load_course

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "lessons"
KEPT = ROOT / "build" / "lessons"

_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$", re.DOTALL)
#: matches the picture of the whole course, which is on the assignment's page
_MAP = re.compile(r"!\[[^]]*\]\(map\.svg\)\s*")
#: matches code in text, which may contain a dollar sign
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
#: environments whose rows are complete formulas, each with a replacement that the converter
#: supports
_ROWS = (("gathered", "matrix"), ("aligned", "matrix"))
#: characters with a meaning in Markdown, which would otherwise change the words in a formula
_MARKS = str.maketrans({mark: f"&#{ord(mark)};" for mark in "*_`|[]~$\\"})


@dataclass(frozen=True, slots=True)
class Lesson:
    """A released notebook, and the definitions that replace its stubs while it runs."""

    assignment: str
    name: str
    path: Path
    solved: Mapping[str, str]

    def cells(self) -> list[Any]:
        """Returns the notebook's cells, as students get them."""
        notebook = nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]
        return list(notebook.cells)


def lessons_of(course: Course) -> Iterator[Lesson]:
    """Yields the lessons in teaching order; extras follow the exercises in their assignment."""
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            path = exercise.stub.with_suffix(".ipynb")
            yield Lesson(assignment.name, exercise.name, path, split_module(exercise).definitions)
        for path in sorted((course.root / "assignments" / assignment.name).glob("extras/*.ipynb")):
            yield Lesson(assignment.name, path.stem, path, {})


Output = dict[str, str]


def run_cells(lesson: Lesson) -> list[list[Output]]:
    """Runs a lesson with the solutions, and returns each cell's outputs, keyed by their type."""
    shell = InteractiveShell.instance(history_length=0)
    configure_inline_support(shell, matplotlib.get_backend())  # type: ignore[no-untyped-call]
    os.chdir(lesson.path.parent)
    shown: list[list[Output]] = []
    for cell in lesson.cells():
        if cell.cell_type != "code" or cell.id == BRING_CHECKS:
            shown.append([])
            continue
        with capture_output() as captured:
            source = lesson.solved.get(cell.id, cell.source)
            result = shell.run_cell(source, store_history=True)  # type: ignore[no-untyped-call]
        if not result.success:
            error = result.error_before_exec or result.error_in_exec
            raise SystemExit(f"book: {lesson.path}, cell {cell.id}: {error!r}")
        printed = [{"text/plain": captured.stdout.rstrip()}] if captured.stdout.strip() else []
        shown.append(printed + [dict(output.data) for output in captured.outputs])
    return shown


def keep_outputs(lesson: Lesson, kept: Path) -> None:
    """Runs a lesson and stores its outputs in a folder, unless the stored ones are up to date."""
    if _outputs(lesson, kept) is None:
        text = json.dumps({"digest": _digest(lesson), "outputs": run_cells(lesson)})
        _file(lesson, kept).write_text(text, encoding="utf-8")


def _outputs(lesson: Lesson, kept: Path) -> list[list[Output]] | None:
    try:
        document = json.loads(_file(lesson, kept).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    outputs: list[list[Output]] = document["outputs"]
    return outputs if document["digest"] == _digest(lesson) else None


def _file(lesson: Lesson, kept: Path) -> Path:
    return kept / f"{lesson.assignment}-{lesson.name}.json"


def _digest(lesson: Lesson) -> str:
    package = ROOT / "autograder"
    files = [lesson.path, package / "student" / "display.py"]
    for folder in (package / "attention" / "notebooks", package / "parts"):
        files += sorted(folder.rglob("*.py"))
    digest = hashlib.sha256(json.dumps(dict(lesson.solved)).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def page_of(lesson: Lesson, outputs: list[list[Output]]) -> dict[str, bytes]:
    """Returns the files for a lesson's page, keyed by name: the text, and the pictures."""
    files: dict[str, bytes] = {}
    texts: list[str] = []
    way = ""
    for cell, shown in zip(lesson.cells(), outputs, strict=True):
        if cell.id == WAY:
            way = _MAP.sub("", cell.source).replace("`README.md`", "[the overview](../index.md)")
        elif cell.cell_type == "markdown":
            text = markdown(cell.source)
            if way:  # after the page's title
                title, _, rest = text.partition("\n")
                text, way = f"{title}\n\n{way}\n{rest}", ""
            texts.append(text)
        elif cell.id != BRING_CHECKS:
            texts.append(_code(cell))
            texts += [_output(lesson, output, files) for output in _worth_showing(cell, shown)]
    files[f"{lesson.name}.md"] = ("\n\n".join(texts) + "\n").encode()
    return files


def _code(cell: Any) -> str:
    source = re.sub(r"  # NameError\?.*", "", cell.source)
    block = f"```python\n{source}\n```"
    if cell.id == SETUP or "hide-input" in cell.metadata.get("tags", ()):
        summary = "The imports" if cell.id == SETUP else "The code that draws the picture"
        return f"<details>\n<summary>{summary}</summary>\n\n{block}\n\n</details>"
    return block


def _worth_showing(cell: Any, shown: Sequence[Output]) -> Sequence[Output]:
    """Returns the outputs that readers should see, without those of checks, guesses and imports."""
    is_asking = cell.id.startswith("check_") or "predict(guess" in cell.source
    return [] if is_asking or cell.id == SETUP else shown


def _output(lesson: Lesson, output: Output, files: dict[str, bytes]) -> str:
    if picture := output.get("image/png"):
        name = f"{lesson.name}-{sum(name.endswith('.png') for name in files) + 1}.png"
        files[name] = base64.b64decode(picture)
        return f"![The picture that the cell above draws]({name})"
    if page := output.get("text/html"):
        # a raw block, because an empty line would end ordinary HTML
        return f"```{{raw}} html\n{page}\n```"
    return f"```text\n{output.get('text/plain', '')}\n```"


def markdown(text: str) -> str:
    """Returns text with its formulas as MathML, which browsers draw without any script."""
    pieces = _CODE.split(text)
    # text and code alternate
    pieces[::2] = [_FORMULA.sub(_formula, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _formula(match: re.Match[str]) -> str:
    source, is_block = match[1] or match[2], match[1] is not None
    has_rows = any(name in source for name, _ in _ROWS)
    for name, known in _ROWS:
        source = source.replace(f"{{{name}}}", f"{{{known}}}")
    source = re.sub(
        r"\\\\\[\w+\]", r"\\\\", source
    )  # the converter does not support space between rows
    found = convert(source.strip(), display="block" if is_block else "inline")
    if has_rows:
        found = found.replace("<mtable>", '<mtable displaystyle="true" class="rows">')
    found = found.replace("\\_", "_").replace("\n", " ")
    tags = re.split(r"(<[^>]+>)", found)
    return "".join(tag if tag.startswith("<") else tag.translate(_MARKS) for tag in tags)


def overview(course: Course, lessons: Sequence[Lesson]) -> dict[str, bytes]:
    """Returns the book's first page, and a page and a picture for each assignment."""
    way = course_map(course)
    stages = "\n\n".join(
        f"## {number}. [{stage.title}]({stage.name}/index.md)\n\n{_about(stage)}"
        for number, stage in enumerate(way.stages, start=1)
    )
    entries = "\n".join(f"{stage.name}/index" for stage in way.stages)
    files = {"index.md": _LESSONS.format(stages=stages, entries=entries).encode()}
    for stage in way.stages:
        own = "\n".join(lesson.name for lesson in lessons if lesson.assignment == stage.name)
        picture = course.root / "assignments" / stage.name / "map.svg"
        files[f"{stage.name}/map.svg"] = picture.read_bytes()
        text = _ASSIGNMENT.format(title=stage.title, about=_about(stage), entries=own)
        files[f"{stage.name}/index.md"] = text.encode()
    return files


def _about(stage: Stage) -> str:
    return (
        f"You build {stage.builds}.\n\n- You need: {stage.needs}.\n"
        f"- You may skip: {stage.skip}.\n- It takes about {stage.hours:g} hours."
    )


_LESSONS = """\
# The lessons

This is the course as a book: the text of every notebook, with the pictures that it draws once its
questions are answered. The answers are yours to find: a question shows the code from which you
start. To work on an assignment, unzip the bundle that your instructor gave you; its `README.md`
says how to install it.

{stages}

```{{toctree}}
:hidden:
:maxdepth: 2
{entries}
```
"""
_ASSIGNMENT = """\
# {title}

{about}

![A transformer; orange is what this assignment builds](map.svg)

```{{toctree}}
:maxdepth: 1
{entries}
```
"""


def write_book(course: Course, chosen: Sequence[str], to: Path, kept: Path) -> int:
    """Writes the pages for the chosen lessons (default: all); returns the number of lessons."""
    lessons = [
        lesson
        for lesson in lessons_of(course)
        if not chosen or f"{lesson.assignment}/{lesson.name}" in chosen
    ]
    kept.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # a forked child lacks its parent's threads
    matplotlib.use("module://matplotlib_inline.backend_inline")
    files = overview(course, lessons)
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        # a notebook becomes its child's module __main__, so the child can't return objects
        pool.starmap(keep_outputs, [(lesson, kept) for lesson in lessons], chunksize=1)
    for lesson in lessons:
        pages = page_of(lesson, _outputs(lesson, kept) or [])
        files |= {f"{lesson.assignment}/{name}": data for name, data in pages.items()}
    refuse_hidden(course, files, to)
    shutil.rmtree(to, ignore_errors=True)
    for name, data in files.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(data)
    return len(lessons)


def refuse_hidden(course: Course, files: Mapping[str, bytes], to: Path) -> None:
    """Raises `ContentError` if a page contains a secret of the course."""
    finder = LeakFinder(course)
    for assignment in course.assignments:
        start = f"{assignment.name}/"
        own = {
            name.removeprefix(start): _readable(data.decode())
            for name, data in files.items()
            if name.startswith(start) and name.endswith(".md")
        }
        refuse_leaks(finder.in_files(assignment.name, own), to)


def _readable(page: str) -> bytes:
    """Returns the part of a page that readers see, without scripts.

    Scripts are left out because they contain thousands of numbers for interactive pictures; by
    chance, two of these numbers may be equal to two numbers in a test.
    """
    return html.unescape(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)).encode()


def main() -> None:
    """Writes the book, and prints the number of lessons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="ASSIGNMENT/EXERCISE")
    parser.add_argument("--to", type=Path, default=PAGES, help="the folder to write pages to")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the folder that keeps outputs")
    options = parser.parse_args()
    count = write_book(load_course(ROOT), options.lessons, options.to, options.kept)
    print(f"{count} lessons in {options.to}", file=sys.stderr)


if __name__ == "__main__":
    main()
