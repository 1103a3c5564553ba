"""A class's unnamed wrong answers are shown in groups, and can be turned into known mistakes."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import autograder
from autograder.cli import cli
from autograder.course import load_course
from autograder.errors import SubmissionError, UserError
from autograder.grading.run import grade_class
from autograder.grading.sources import RunEvents, RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.grading.validation import computing
from autograder.grading.validation.entries import Entry, with_entry
from autograder.operations import misconceptions, mistakes
from autograder.operations.misconceptions import AddedMisconception
from autograder.operations.mistakes import UnnamedMistake, anonymous_code
from autograder.sandbox import ForkServer

ROOT = Path(__file__).resolve().parents[4]
ASSIGNMENT = "simplified_attention"
ANSWER = '''
# Ada Lovelace, 12345
import math
import torch
def _unused(x): return x
def wave(x):
    """By Ada."""
    return math.tau + 3 * torch.sin(x)  # Ada's idea
def query_scores(inputs, query):
    """The docstring."""
    return wave(inputs @ query)
'''
SAME = ANSWER.replace("inputs @ query", "(inputs * query).sum(-1)").replace("Ada", "Ben")
#: an answer that tries to write a file, which a worker does not permit
SPY = """
def spied():
    try:
        open('MARK', 'w').close()
    except Exception:
        pass
    return 3.25
SCALE = spied()
def query_scores(inputs, query):
    return SCALE * (inputs @ query) - 7
"""
ASKS = """
def query_scores(inputs, query):
    return who * (inputs @ query)
def attention_scores(inputs, queries):
    return who * (inputs @ queries.T)
who = float(input("who? "))
"""


def test_an_answer_is_shown_without_its_author() -> None:
    code = anonymous_code(ANSWER, "query_scores")
    assert "Ada" not in code and "docstring" not in code and "_unused" not in code
    assert {"import math", "import torch", "def wave(x):"} < set(code.splitlines())


def test_an_undefined_answer_cannot_be_shown() -> None:
    with pytest.raises(SubmissionError, match="no definition of softmax"):
        anonymous_code(ANSWER, "softmax")


def test_an_entry_brings_its_imports_and_renames_its_helpers() -> None:
    code = anonymous_code(ANSWER, "query_scores")
    text = with_entry("", Entry("query_scores", "waves", 'a "wave" ' * 20, "Why?", code))
    again = with_entry(text, Entry("query_scores", "more_waves", "it", "Why?", code))
    assert "def _waves_wave(x):" in again and "def more_waves(inputs, query):" in again
    assert again.count("import math") == 1
    assert max(map(len, again.splitlines())) <= 100
    compile(again, "<catalogue>", "exec")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer) -> Path:
    """Returns the folder of a class in which two students made the same mistake."""
    root = tmp_path_factory.mktemp("course")
    for room in ("source", "solutions", "tests/hidden", "tests/misconceptions"):
        shutil.copytree(ROOT / room / ASSIGNMENT, root / room / ASSIGNMENT)
    shutil.copy(ROOT / "source" / "not_allowed.toml", root / "source")
    shutil.copytree(ROOT / "tests" / "tables", root / "tests" / "tables")
    spy = SPY.replace("MARK", str(root / "ran"))
    for student, text in (("ada", ANSWER), ("ben", SAME), ("spy", spy), ("asks", ASKS)):
        place = root / "course" / "submitted" / student / ASSIGNMENT
        place.mkdir(parents=True)
        (place / "scores.py").write_text(text)
    options = RunOptions(root / "course" / "submitted", root / "course" / "results.jsonl")
    engine = SuiteEngine(load_course(root), lambda tier: contextlib.nullcontext(fork_server))
    grade_class([engine], options, RunEvents())
    return root / "course"


@pytest.fixture
def adding(graded: Path) -> Callable[..., AddedMisconception]:
    def add(
        name: str = "waves",
        student: str = "ada",
        question: str = "query_scores",
        approve: Callable[[str], bool] = lambda code: True,
    ) -> AddedMisconception:
        return autograder.add_misconception(
            graded, student, "scores", question,
            name=name, confuses="a score with a wave", hint="Is a score bounded?",
            approve=approve, course=graded.parent,
        )  # fmt: skip

    return add


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("import random as torch", True),
        ("import math as misconception", True),
        ("import math as helper", True),
        ("from torch import *", True),
        ("import torch, math\nimport torch.nn\nfrom torch import nn", False),
        ("import torch.nn.functional as F", False),
        ("from torch.nn import functional as F", False),
    ],
)
def test_an_import_changes_no_other_entry(text: str, is_refused: bool) -> None:
    catalogue = (
        "import torch\nfrom torch.nn import functional as F\n"
        "from autograder.suite import misconception\ndef helper(x):\n    return x\n"
    )
    entry = Entry("f", "other", "c", "h", f"{text}\ndef f(x):\n    return x\n")
    refusal = pytest.raises(UserError, match="another meaning")
    with refusal if is_refused else contextlib.nullcontext():
        assert "def other(x)" in with_entry(catalogue, entry)


def test_withdrawn_answers_are_not_shown_and_name_nothing(
    graded: Path, adding: Callable[..., AddedMisconception]
) -> None:
    course = graded.parent
    autograder.withdraw(graded, "ada", ASSIGNMENT, "left", course=course)
    first, _ = autograder.unnamed_mistakes(graded, course=course)
    with pytest.raises(UserError, match="ada has no wrong answer"):
        adding()
    autograder.withdraw(graded, "ada", ASSIGNMENT, "came back", is_back=True, course=course)
    assert first.answers == 1


def test_equal_mistakes_are_one_group_and_one_answer_names_them(
    graded: Path, adding: Callable[..., AddedMisconception]
) -> None:
    before = (graded / "results.jsonl").read_text().splitlines()
    course = ("--course", str(graded.parent))
    group, spied = json.loads(
        CliRunner().invoke(cli, ["mistakes", str(graded), "--json", *course]).output
    )
    assert "SCALE" in spied["code"], "what never ran is no mistake of the class"
    assert group["answers"] == 2 and group["question"] == "query_scores"
    assert any(call.startswith("query_scores(") for call in group["calls"])
    assert "def wave" in group["code"] and "Ada" not in group["code"]

    added = adding(student=group["mark"])

    lines = (graded / "results.jsonl").read_text().splitlines()
    assert lines[: len(before)] == before
    assert added.renamed == len(lines) - len(before) == 2
    for result in autograder.class_results(graded)[-2:]:
        question = result.exercises[0].questions[0]
        assert question.misconception == "scores.waves"
        assert question.hint is not None and "Is a score bounded?" in question.hint
    (left,) = autograder.unnamed_mistakes(graded, course=graded.parent)
    assert left.mark == spied["mark"]


def test_adding_an_answer_runs_it_in_the_sandbox_only(
    graded: Path, adding: Callable[..., AddedMisconception], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def refuse(code: str) -> bool:
        read.append(code)
        return False

    with pytest.raises(UserError, match="uses .close, open, but the code"):
        adding("spied", "spy", approve=refuse)
    assert not read
    monkeypatch.setattr(computing, "uses_besides_computing", lambda code: ())
    with pytest.raises(UserError, match="not approved"):
        adding("spied", "spy", approve=refuse)
    assert "open(" in read[0]
    assert adding("spied", "spy").renamed == 1
    assert not (graded.parent / "ran").exists()


def test_code_is_shown_to_its_end_before_it_is_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"def f(x):\n    return '{'x' * 5000}' and evil(x)\n"
    shown = UnnamedMistake("a", "e", "f", "m", 1, code + "later(x)\n" * 40, (), "")
    monkeypatch.setattr(mistakes, "unnamed_mistakes", lambda *_, **__: (shown,))
    output = CliRunner().invoke(cli, ["mistakes", str(ROOT)]).output
    assert "evil(x)" in output and "2 more lines" in output

    def add(*_: object, approve: Callable[[str], bool], **__: object) -> None:
        assert not approve(code)
        raise UserError("not approved")

    monkeypatch.setattr(misconceptions, "add_misconception", add)
    wanted = ["--name", "n", "--confuses", "c", "--hint", "h"]
    command = ["misconception", "add", str(ROOT), "ada", "e", "f", *wanted]
    assert "evil(x)" in CliRunner().invoke(cli, command, input="n\n").output


def test_code_that_never_ran_is_not_a_known_mistake(
    adding: Callable[..., AddedMisconception],
) -> None:
    for question in ("query_scores", "attention_scores"):
        with pytest.raises(UserError, match="the answer never ran; got .*EOF"):
            adding("asked", "asks", question)


def test_an_entry_that_is_refused_changes_nothing(
    graded: Path, adding: Callable[..., AddedMisconception]
) -> None:
    catalogue = graded.parent / "tests" / "misconceptions" / ASSIGNMENT / "scores.py"
    before = catalogue.read_text(), (graded / "results.jsonl").read_text()
    for wrong in ({"name": "not a name"}, {"student": "zoe"}, {"question": "softmax"}):
        with pytest.raises(UserError):
            adding(**wrong)
    assert (catalogue.read_text(), (graded / "results.jsonl").read_text()) == before
