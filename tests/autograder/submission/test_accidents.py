"""Submissions with accidents are graded in one run, with one student per row in a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from autograder.records import ExerciseResult, SubmissionResult, SubmissionStatus

SCORES = "simplified_attention/scores"
QUERY = "def query_scores(inputs, query):\n    return inputs @ query\n"
ATTENTION = "def attention_scores(queries, keys):\n    return queries @ keys.transpose(-2, -1)\n"
GOOD = f"import torch\n\n\n{QUERY}\n\n{ATTENTION}"
STUB = "def query_scores(inputs, query):\n    raise NotImplementedError\n"
BOTH = ("query_scores", "attention_scores")


def code(source: Any, **more: Any) -> dict[str, Any]:
    """Returns a code cell as Jupyter writes it."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
        **more,
    }


def notebook(*cells: Any, **more: Any) -> bytes:
    """Returns a notebook; each string becomes a code cell."""
    made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    document = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(document).encode()


def old_notebook(*cells: str, number: int) -> bytes:
    """Returns a notebook in format 2 or 3, with worksheets, and `input` instead of `source`."""
    made = [{"cell_type": "code", "input": cell, "language": "python"} for cell in cells]
    document = {"metadata": {"name": ""}, "nbformat": number, "worksheets": [{"cells": made}]}
    return json.dumps(document).encode()


@dataclass(frozen=True)
class Accident:
    """A row of the table: submitted files, expected verdicts, and words in the message."""

    name: str
    files: dict[str, bytes]
    verdicts: dict[str, str] = field(default_factory=dict)
    note: str = ""
    status: str = "graded"


def module(
    name: str, text: str | bytes, note: str = "", status: str = "graded", **verdicts: str
) -> Any:
    """Returns a row for `scores.py`; all questions that are not in `verdicts` must be correct."""
    data = text if isinstance(text, bytes) else text.encode()
    return Accident(name, {f"{SCORES}.py": data}, verdicts, note, status)


def cells(name: str, *parts: Any, note: str = "", status: str = "graded", **verdicts: str) -> Any:
    """Returns a row for `scores.ipynb`."""
    ready = len(parts) == 1 and isinstance(parts[0], bytes)
    data = parts[0] if ready else notebook(*parts)
    return Accident(name, {f"{SCORES}.ipynb": data}, verdicts, note, status)


def file(name: str, path: str, data: str | bytes, note: str, status: str = "missing") -> Any:
    """Returns a row for a file with a different name."""
    raw = data if isinstance(data, bytes) else data.encode()
    return Accident(name, {f"simplified_attention/{path}": raw}, {}, note, status)


TEXT = [
    module("bom", b"\xef\xbb\xbf" + GOOD.encode()),
    module("crlf", GOOD.replace("\n", "\r\n")),
    module("cr_only", GOOD.replace("\n", "\r")),
    module("bom_and_crlf", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()),
    module("utf16", GOOD.encode("utf-16"), note="UTF-16"),
    module("utf16_without_mark", GOOD.encode("utf-16-le"), note="UTF-16"),
    module("utf16_big_end", b"\xfe\xff" + GOOD.encode("utf-16-be"), note="UTF-16"),
    module("utf32", GOOD.encode("utf-32"), note="UTF-16"),
    module("latin1_said", f"# -*- coding: latin-1 -*-\n# für é\n{GOOD}".encode("latin-1")),
    module("latin1_not_said", f"# für é\n{GOOD}".encode("latin-1"), note="UTF-8"),
    module("latin1_called_utf8", f"# coding: utf-8\n# é\n{GOOD}".encode("latin-1"), note="UTF-8"),
    module("unknown_coding", f"# coding: klingon\n{GOOD}", note="UTF-8"),
    module("tabs", GOOD.replace("    ", "\t")),
    module(
        "tabs_and_spaces",
        "def query_scores(inputs, query):\n        a = inputs\n\treturn a @ query\n",
        note="TabError",
        status="unreadable",
    ),
    module("no_newline_at_the_end", GOOD.rstrip("\n")),
    module("form_feed", GOOD.replace("\n\n\n", "\n\x0c\n")),
    module("umlauts", f"größe = 3  # ü\n{GOOD}"),
]

AT_MODULE_LEVEL = [
    module("prints", GOOD + "print('hello', query_scores(torch.ones(2, 3), torch.ones(3)))\n"),
    module("main_guard", GOOD + 'if __name__ == "__main__":\n    input()\n'),
    module(
        "plots",
        "import matplotlib.pyplot as plt\n" + GOOD + "fig, ax = plt.subplots()\nax.plot([1])\n"
        "for i in range(3):\n    ax.plot(\n        [i],\n    )\nplt.show()\n",
    ),
    module("plots_in_one_line", "import torch, matplotlib.pyplot as plt\n" + GOOD + "plt.show()\n"),
    module(
        "plots_by_a_function",
        "from matplotlib import pyplot\n" + GOOD + "def show(x):\n    pyplot.plot(x)\nshow([1])\n",
    ),
    module(
        "exported_notebook",
        "#!/usr/bin/env python\n# coding: utf-8\n\n# In[1]:\n\n\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\n"
        "from autograder.student import check\n" + GOOD + "check('query_scores')\n",
    ),
    module("colab", "from google.colab import drive\ndrive.mount('/content/drive')\n" + GOOD),
    module("data_frames", "import pandas as pd\ntable = pd.read_csv('x.csv')\n" + GOOD),
    module("asks_for_input", GOOD + "n = int(input('n? '))\n"),
    module("fails", GOOD + "n = 1 / 0\n"),
    module("fails_at_its_begin", "1 / 0\n" + GOOD),
    module("ends_itself", GOOD + "import sys\nsys.exit()\n"),
    module("switches_gradients_off", GOOD + "torch.set_grad_enabled(False)\n"),
    module("never_ends", GOOD + "while True:\n    pass\n"),
    module("prints_without_end", GOOD + "while True:\n    print('x' * 1000)\n"),
    module("shell", "!pip install torch\n" + GOOD, note="such as `!pip`"),
    module(
        "needs_what_fails",
        GOOD.replace("queries @", "K * queries @") + "K = 1 / 0\n",
        note="`K = 1 / 0` fails with ZeroDivisionError",
        attention_scores="error",
    ),
    module(
        "needs_what_never_ends",
        GOOD.replace("queries @", "K * queries @") + "while True:\n    K = 1\n",
        note="loop that never ends",
        attention_scores="timeout",
    ),
    module("asserts", GOOD + "assert query_scores(torch.ones(2, 2), torch.ones(2))[0] == 2\n"),
    module("unused_import", "import transformers\n" + GOOD),
    module(  # takes longer than a question may
        "computes",
        GOOD
        + "import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass\n",
    ),
    module(
        "compiled", GOOD.replace("def attention", "@torch.compile(dynamic=True)\ndef attention")
    ),
    module(
        "used_import",
        "import transformers\n"
        + ATTENTION
        + "def query_scores(a, b):\n    return transformers.dot(a, b)\n",
        note="torch and the standard library",
        query_scores="error",
    ),
    module("logging", "import logging\nlogging.basicConfig()\nlogging.warning('x')\n" + GOOD),
    module(
        "seeds", "import torch\ntorch.manual_seed(0)\ntorch.set_printoptions(precision=2)\n" + GOOD
    ),
]

BROKEN = [
    module("empty", "", note="no code", **dict.fromkeys(BOTH, "missing")),
    module("only_comments", "# nothing yet\n", note="no code", **dict.fromkeys(BOTH, "missing")),
    module("truncated", GOOD[: GOOD.rindex("(") + 1], note="line 9", status="unreadable"),
    module("magic_in_a_module", "%matplotlib inline\n" + GOOD, note="work only in a notebook"),
    module("notebook_as_module", notebook(GOOD), note="as .ipynb"),
    module(
        "return_outside",
        GOOD + "return 3\n",
        note="four spaces more than its `def`",
        status="unreadable",
    ),
    module("binary", b"PK\x03\x04\x00\x00\xff\xfe", note="not a text file", status="unreadable"),
    module("nul_bytes", b"\0" * 64, note="not valid Python", status="unreadable"),
    module("python_2", "print 'hello'\n" + GOOD, note="print", status="unreadable"),
    module(
        "merge_conflict", f"<<<<<<< HEAD\n{GOOD}=======\n", note="git left", status="unreadable"
    ),
    module("word_quotes", "x = “hello”\n" + GOOD, note="type it again", status="unreadable"),
    cells("empty_notebook_file", b"", note="is empty", status="unreadable"),
    cells("notebook_without_cells", notebook(), **dict.fromkeys(BOTH, "missing")),
    cells("truncated_notebook", notebook(GOOD)[:-40], note="part of one", status="unreadable"),
    cells("module_as_notebook", GOOD.encode(), note="not a notebook", status="unreadable"),
    cells("html_as_notebook", b"<!DOCTYPE html><html></html>", note="JSON", status="unreadable"),
    cells("list_as_notebook", b"[]", note="no cells", status="unreadable"),
    cells("git_conflict_in_notebook", b"<<<<<<< HEAD\n{}", note="JSON", status="unreadable"),
]

NOTEBOOKS = [
    cells("plain", "import torch", QUERY, ATTENTION),
    cells("bom_notebook", b"\xef\xbb\xbf" + notebook(GOOD)),
    cells("utf16_notebook", notebook(GOOD).decode().encode("utf-16"), note="UTF-16"),
    cells("crlf_in_cells", notebook(GOOD.replace("\n", "\r\n"))),
    cells("lines_as_list", notebook(code(GOOD.splitlines(keepends=True)))),
    cells("no_metadata", json.dumps({"cells": [{"cell_type": "code", "source": GOOD}]}).encode()),
    cells("format_2", old_notebook("import torch", QUERY, ATTENTION, number=2)),
    cells("format_3", old_notebook("import torch", QUERY, ATTENTION, number=3)),
    cells("future_format", notebook(GOOD, nbformat=9)),
    cells("future_schema", code(GOOD, metadata={"nbgrader": {"schema_version": 99}})),
    cells("unknown_cells", GOOD, {"cell_type": "chart"}, 3, None, "import os"),
    cells(
        "large_output",
        code(GOOD, outputs=[{"output_type": "stream", "name": "stdout", "text": "x" * (50 << 20)}]),
    ),
    cells("magics", "%matplotlib inline\n!pip install x\nfiles = !ls\n" + GOOD + "\nquery_scores?"),
    cells("automagic", "pip install torch\n", GOOD, "ls", "cd ..\n"),
    cells("timed_cell", "%%time\n" + GOOD),
    cells("other_languages", "%%bash\nrm -rf x (", GOOD, "%%html\n<b>"),
    cells("per_cent_in_code", GOOD + "x = (7\n     % 3)\n!ls\n"),
    cells("moved", ATTENTION, QUERY, "import torch"),
    cells("merged", GOOD + "\nprint(1)\n"),
    cells("split_in_the_body", "def query_scores(a, b):\n    c = a @ b", "    return c", ATTENTION),
    cells("split_after_the_head", "def query_scores(a, b):", "    return a @ b", ATTENTION),
    cells("indented_cell", "".join(f"    {line}\n" for line in GOOD.splitlines())),
    cells("experiments", GOOD, "x = undefined", "1 / 0", "while True: pass", "input()", "exit()"),
    cells("shadowed_by_a_result", GOOD, "attention_scores = attention_scores(x, x)"),
    cells(
        "helper_elsewhere",
        "def query_scores(a, b):\n    return dot(a, b)",
        ATTENTION,
        "def dot(a, b):\n    return (a * b).sum(-1) * ONE",
        "ONE = 1",
    ),
    cells(
        "helper_table",
        ATTENTION,
        "T = {}\nfor i in range(2):\n    T[i] = half(i) * 2",
        "def half(i):\n    return i / 2",
        "def query_scores(a, b):\n    return a @ b * T[1]",
    ),
    cells("deleted", ATTENTION, note="was it deleted", query_scores="missing"),
    cells("duplicated", GOOD, QUERY),
    cells("duplicated_stub_first", STUB, GOOD),
    cells("duplicated_stub_last", GOOD, STUB, note="copy of the stub: delete it"),
    cells(
        "written_by_magic",
        "import torch",
        "%%writefile answers.py\n" + GOOD,
        note="begins with %%writefile",
        **dict.fromkeys(BOTH, "missing"),
    ),
    cells(
        "broken_cell",
        "def query_scores(a, b:\n    return 1",
        ATTENTION,
        note="SyntaxError",
        query_scores="error",
    ),
    cells("broken_copy", GOOD, "def query_scores(a, b:\n    return 1"),
    cells("broken_experiment", GOOD, "x = = 3", "def f(:"),
    cells(
        "misplaced_nonlocal",
        ATTENTION,
        "def query_scores(a, b):\n    nonlocal c\n    return a",
        note="nonlocal",
        query_scores="error",
    ),
    cells("return_in_a_cell", GOOD, "def other():\n    pass\nreturn 3"),
    cells(
        "in_a_text_cell",
        ATTENTION,
        {"cell_type": "markdown", "metadata": {}, "source": f"```\n{QUERY}\n```"},
        note="code cell",
        query_scores="missing",
    ),
    cells("in_a_raw_cell", GOOD, {"cell_type": "raw", "metadata": {}, "source": "def f(:"}),
    cells("future_import", GOOD, "from __future__ import annotations"),
    cells("star_import", "from matplotlib.pyplot import *\nfrom math import *\n", GOOD),
    cells("imports_at_the_end", QUERY, ATTENTION, "import torch\nimport numpy as np"),
]

NAMES = [
    file("capital", "Scores.py", GOOD, "look at Scores.py"),
    file("copy", "scores (1).ipynb", notebook(GOOD), "look at scores (1).ipynb"),
    file("final", "my_scores_final.py", GOOD, "look at my_scores_final.py"),
    file("text_ending", "scores.py.txt", GOOD, "look at scores.py.txt"),
    file("archive", "work.7z", b"7z\xbc\xaf\x27\x1c", "look at work.7z: expected scores.py"),
    file("misspelt", "socres.py", GOOD, "look at socres.py"),
    file(
        "untitled",
        "Untitled.ipynb",
        notebook(GOOD),
        "look at Untitled.ipynb: it defines query_scores",
    ),
    file("in_a_folder", "scores/scores.py", GOOD, "look at scores/scores.py"),
    file("zipped", "scores.zip", b"PK\x03\x04", "look at scores.zip"),
    file("unrelated", "essay.txt", "hello", "expected scores.py or scores.ipynb"),
]

ANSWERS = [
    module(
        "renamed",
        ATTENTION + QUERY.replace("query_", "Query_"),
        "found Query_scores",
        query_scores="missing",
    ),
    module(
        "misspelt_name",
        ATTENTION + QUERY.replace("query_scores", "qeury_scores"),
        "found qeury_scores",
        query_scores="missing",
    ),
    cells(
        "renamed_in_a_notebook",
        ATTENTION,
        QUERY.replace("query_scores", "queryScores"),
        note="found queryScores: is the name wrong?",
        query_scores="missing",
    ),
    module(
        "nested",
        ATTENTION + "def main():\n    def query_scores(a, b):\n        return a @ b\n",
        "top level",
        query_scores="missing",
    ),
    module(
        "missing_parameter",
        ATTENTION + "def query_scores(inputs):\n    return inputs\n",
        "positional argument",
        query_scores="error",
    ),
    module(
        "extra_parameter",
        ATTENTION + "def query_scores(a, b, c):\n    return a @ b\n",
        "missing 1 required positional argument",
        query_scores="error",
    ),
    module("extra_default", ATTENTION + "def query_scores(a, b, c=1):\n    return a @ b\n"),
    module(
        "other_parameter_names", ATTENTION + "def query_scores(x, /, y, *z):\n    return x @ y\n"
    ),
    module(
        "generator",
        ATTENTION + "def query_scores(a, b):\n    for r in a:\n        yield r @ b\n",
        "write `return`",
        query_scores="protocol",
    ),
    module("coroutine", ATTENTION + "async " + QUERY, "write `def`", query_scores="protocol"),
    cells(
        "coroutine_cell", ATTENTION, "async " + QUERY, note="write `def`", query_scores="protocol"
    ),
    module(
        "prints_instead",
        ATTENTION + "def query_scores(a, b):\n    print(a @ b)\n",
        "",
        query_scores="wrong",
    ),
    module(
        "returns_a_list",
        ATTENTION + "def query_scores(a, b):\n    return [float(r @ b) for r in a]\n",
        "",
        query_scores="wrong",
    ),
    module(
        "lambda", "query_scores = lambda a, b: a @ b\nattention_scores = lambda q, k: q @ k.mT\n"
    ),
    cells("lambda_cell", STUB, "query_scores = lambda a, b: a @ b", ATTENTION),
    cells("alias", "def mine(a, b):\n    return a @ b", "query_scores = mine", ATTENTION),
    cells(
        "alias_after_the_stub",
        STUB,
        "def mine(a, b):\n    return a @ b",
        "query_scores = mine",
        ATTENTION,
    ),
    module("decorated", "import functools\n@functools.singledispatch\n" + QUERY + ATTENTION),
    cells(
        "decorated_cell",
        "@kept\n" + QUERY,
        ATTENTION,
        "import functools\ndef kept(f):\n    @functools.wraps(f)\n    def g(*a):\n"
        "        return f(*a)\n    return g",
    ),
    cells(
        "wrapped_later",
        GOOD,
        "def timed(f):\n    return lambda *a: f(*a)",
        "query_scores = timed(query_scores)",
    ),
    module(
        "partial",
        ATTENTION + "import functools, operator\n"
        "query_scores = functools.partial(operator.matmul)\n",
    ),
    module(
        "callable_object",
        ATTENTION + "class Q:\n    def __call__(self, a, b):\n"
        "        return a @ b\nquery_scores = Q()\n",
    ),
    module(
        "overwritten_by_a_result",
        GOOD + "query_scores = query_scores(torch.ones(2, 2), torch.ones(2))\n",
    ),
    module("prints_inside", GOOD.replace("    return", "    print('shape', 3)\n    return")),
]

V1 = """import torch
from torch import nn
class SelfAttentionV1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))
"""
FORWARD = """def {name}(self, x):
    q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
    return torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1) @ v
"""
V1_ALONE = {"SelfAttentionV2": "missing"}


def layer(name: str, *parts: str, **verdicts: str) -> Accident:
    """Returns a row that submits a notebook with only the first of two layers."""
    path = "self_attention/self_attention.ipynb"
    return Accident(name, {path: notebook(*parts)}, V1_ALONE | verdicts)


LAYERS = [
    layer("patched", V1, FORWARD.format(name="forward"), "SelfAttentionV1.forward = forward"),
    layer(
        "patched_by_setattr",
        V1,
        FORWARD.format(name="go"),
        "setattr(SelfAttentionV1, 'forward', go)",
    ),
    layer(
        "class_in_parts",
        V1,
        "class SelfAttentionV1(SelfAttentionV1):\n"
        + "".join(f"    {line}\n" for line in FORWARD.format(name="forward").splitlines()),
    ),
    layer(
        "added_by_decorator",
        "def add_to(kind):\n    def add(f):\n        setattr(kind, f.__name__, f)\n    return add",
        V1,
        "@add_to(SelfAttentionV1)\n" + FORWARD.format(name="forward"),
    ),
    layer(
        "tried_out",
        V1,
        FORWARD.format(name="forward"),
        "SelfAttentionV1.forward = forward",
        "model = SelfAttentionV1(3, 2)\nmodel.forward = 3\nmodel(torch.ones(4, 3))",
    ),
    layer("forgotten_forward", V1, SelfAttentionV1="partial"),
]

BOTH_FORMS = [
    Accident("stub_beside_a_notebook", {f"{SCORES}.py": b"", f"{SCORES}.ipynb": notebook(GOOD)}),
    Accident(
        "stub_with_notes_in_it_beside_a_notebook",
        {
            f"{SCORES}.py": f"import math\n{STUB}{QUERY.replace('return', 'scores =')}"
            f"    raise NotImplementedError\n{STUB.replace('query', 'attention')}".encode(),
            f"{SCORES}.ipynb": notebook(GOOD),
        },
    ),
    Accident(
        "changed_module_beside_a_notebook",
        {f"{SCORES}.py": GOOD.encode(), f"{SCORES}.ipynb": notebook(STUB)},
        note="scores.ipynb does not",
    ),
]

ACCIDENTS = [
    *TEXT, *AT_MODULE_LEVEL, *BROKEN, *NOTEBOOKS, *NAMES, *ANSWERS, *LAYERS, *BOTH_FORMS,
]  # fmt: skip


@pytest.fixture(scope="module")
def results(graded: Callable[[Any], dict[str, SubmissionResult]]) -> dict[str, SubmissionResult]:
    return graded({accident.name: accident.files for accident in ACCIDENTS})


def _exercise(accident: Accident, result: SubmissionResult) -> ExerciseResult:
    name = next(iter(accident.files)).rpartition("/")[2].partition(".")[0]
    known = {exercise.exercise: exercise for exercise in result.exercises}
    return known.get(name, result.exercises[0])


def _all_notes(exercise: ExerciseResult) -> str:
    tests = [test.message for question in exercise.questions for test in question.tests]
    return "\n".join([*exercise.notes, *tests])


@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: accident.name)
def test_an_accident_is_graded_as_a_fair_person_would(
    accident: Accident, results: dict[str, SubmissionResult]
) -> None:
    result = results[accident.name]
    assert result.status is SubmissionStatus.GRADED
    exercise = _exercise(accident, result)
    assert exercise.status.value == accident.status, exercise.notes
    if accident.status == "graded":
        found = {question.question: question.verdict.value for question in exercise.questions}
        expected = dict.fromkeys(found, "correct") | accident.verdicts
        assert found == expected, _all_notes(exercise)
    else:
        assert exercise.score == 0
        assert exercise.max_score > 0
    assert accident.note in _all_notes(exercise)


def test_no_two_rows_have_one_name() -> None:
    names = [accident.name for accident in ACCIDENTS]
    assert len(set(names)) == len(names)
