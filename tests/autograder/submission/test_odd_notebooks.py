"""Notebooks that Jupyter would never write are graded, or rejected with a message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.nbgrader.sanitize import make_safe, safe_cell
from autograder.records import Exercise, ExerciseStatus, Question
from autograder.submission import read_exercise
from autograder.submission.code import read_code
from autograder.submission.notebook import cells_of, notebook_of

CODE = "def f(x):\n    return x\n"
NAN, INFINITY = float("nan"), float("inf")


def _cell(**values: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    return {**cell, "source": CODE, **values}


def _book(*cells: dict[str, Any], **values: Any) -> str:
    book = {"cells": list(cells) or [_cell()], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps({**book, **values})


def _deep(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


_OUTPUTS = [
    *(1, None, {"output_type": ["x"]}, {"output_type": "stream", "name": {}, "text": {"a": 1}}),
    {"output_type": "display_data", "data": {"image/png": ["A", 1], "text/html": {}}},
    {"output_type": "error", "traceback": [1, {}], "ename": [], "evalue": None},
]
_MARKS = {"grade_id": ["a"], "grade": "yes", "points": "NaN", "schema_version": INFINITY}
_PICTURE = {"output_type": "display_data", "data": {"image/png": "A" * 90_000_000}, "metadata": {}}
READ = {
    "metadata_is_a_list": _book(metadata=["x"]),
    "metadata_is_null": _book(metadata=None),
    "metadata_of_a_cell_is_a_list": _book(_cell(metadata=[1])),
    "metadata_of_a_cell_is_null": _book(_cell(metadata=None)),
    "metadata_is_deep": _book(_cell(metadata=_deep(300))),
    "marks_are_text": _book(_cell(metadata={"nbgrader": "x"})),
    "marks_are_odd": _book(_cell(metadata={"nbgrader": _MARKS})),
    "kernel_is_odd": _book(metadata={"kernelspec": {"language": ["c"], "name": "../../x"}}),
    "format_is_text": _book(nbformat="four", nbformat_minor=[]),
    "format_of_tomorrow": _book(nbformat=99),
    "outputs_are_a_table": _book(_cell(outputs={"a": 1})),
    "outputs_are_odd": _book(_cell(outputs=_OUTPUTS)),
    "outputs_of_90_megabytes": _book(_cell(outputs=[_PICTURE])),
    "source_is_a_table": _book(_cell(source={"a": 1}), _cell()),
    "source_is_mixed": _book(_cell(source=[CODE, 1, None, ["x"]])),
    "attachments_are_a_list": _book(_cell(), {"cell_type": "markdown", "attachments": [1]}),
    "kinds_of_cells_are_odd": _book(_cell(cell_type=["code"]), _cell(cell_type={}), _cell()),
    "ids_are_odd": _book(_cell(id={"x": 1}), _cell(id="a", source=""), _cell(id="a", source="")),
    "half_a_character": _book(_cell(source=f"{CODE}# \ud800\n")),
    "controls_in_markdown": _book(
        _cell(), {"cell_type": "markdown", "source": "\x1b[2J\x00\u202e"}
    ),
    "a_null_in_a_cell": _book(_cell(), _cell(source="x = '\x00'")),
    "a_raw_cell_of_a_page": _book(_cell(), {"cell_type": "raw", "source": "<script>1</script>"}),
    "no_number": _book(metadata={"a": NAN, "b": INFINITY, "c": -INFINITY}),
    "keys_twice": '{"cells": 3, "cells": ['
    + json.dumps(_cell())
    + '], "cells": ['
    + json.dumps(_cell())
    + "]}",
}
REFUSED = {
    "a_number_of_6000_digits": _book(metadata={"a": 1}).replace(": 1}", ": " + "9" * 6_000 + "}"),
    "metadata_is_too_deep": _book(_cell(metadata=_deep(500))),
    "lists_without_end": '{"a": ' + "[" * 200_000 + "]" * 200_000 + ', "cells": []}',
    "more_behind_its_end": _book() + "\n}\n",
    "cells_are_a_table": '{"cells": {"a": 1}}',
    "a_list": "[" + _book() + "]",
}


def _answers(tmp_path: Path, text: str) -> Any:
    (tmp_path / "e.ipynb").write_text(text, encoding="utf-8", errors="surrogatepass")
    questions = (Question("f", False, 1),)
    exercise = Exercise("a", "e", questions, *(tmp_path / f"{n}.py" for n in "smhpt"))
    return read_exercise(tmp_path, exercise)


def test_only_marks_of_cells_stay_in_the_metadata() -> None:
    obeyed = {"tags": ["remove_cell", "parameters"], "hide_input": True, "slideshow": {}}
    marks = {"nbgrader": {"grade_id": "a"}}
    cells = [
        {"cell_type": kind, "source": "x", "metadata": {**obeyed, **marks}, "attachments": {}}
        for kind in ("code", "markdown", "raw")
    ]
    book = {"cells": cells, "metadata": {"kernelspec": {"name": "python3"}, "widgets": {}}}
    make_safe(book, frozenset())
    assert book["metadata"] == {"kernelspec": {"name": "python3"}}
    assert [cell["metadata"] for cell in cells] == [marks] * 3


@pytest.mark.parametrize("name", READ)
def test_an_odd_notebook_is_read_and_shown(name: str, tmp_path: Path) -> None:
    answers = _answers(tmp_path, READ[name])
    assert answers.status is ExerciseStatus.GRADED, answers.notes
    assert "def f(x)" in answers.text
    assert read_code(tmp_path, "e.ipynb").definitions.keys() >= {"f"}
    document, _ = notebook_of((tmp_path / "e.ipynb").read_bytes())
    cells = [safe_cell(cell, frozenset()) for cell in cells_of(document)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    nbformat.validate(nbformat.from_dict(book))
    assert len(json.dumps(book)) < 2_000_000
    assert "<script" not in json.dumps([c for c in cells if c["cell_type"] != "code"])


@pytest.mark.parametrize("name", REFUSED)
def test_an_unusable_notebook_is_refused_in_words(name: str, tmp_path: Path) -> None:
    answers = _answers(tmp_path, REFUSED[name])
    assert answers.status is ExerciseStatus.UNREADABLE
    assert len(answers.notes[0]) < 1_000 and answers.notes[0].isprintable()
