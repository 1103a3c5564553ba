"""Suites, docstring, notebook and `validate` all follow one declaration of a question's rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring import release
from autograder.course import load_course
from autograder.course.rules import rules_beside
from autograder.errors import AnswerForbidden, ContentError
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.validation.rule_proofs import rule_problems
from autograder.records import Exercise
from autograder.suite.local import LocalImplementation

Edit = Callable[[str, str, str], None]

RULES = """
[plus_one]
not_allowed = ["addition"]
because = "it is the answer"
instead = "count on your fingers"

[half]
allows = ["addition"]
raises.ValueError = "x is negative"

[Layer.forward_raises]
TypeError = "x is no tensor"
"""
CALLS = """
[addition]
words = "torch's addition (`torch.add`)"
names = ["add"]
operators = ["aten::add"]
"""
#: the forbidden calls and the promised errors of each question, from EXERCISES.md
CONTRACT = {
    "simplified_attention": {"softmax": ("softmax", "")},
    "self_attention": {
        "encode": ("", "KeyError"),
        "scaled_dot_product_attention": ("scaled_dot_product_attention", ""),
    },
    "causal_attention": {
        "dropout": ("dropout", "ValueError"),
        "CausalAttention": ("", "ValueError"),
    },
    "multi_head_attention": {
        "split_heads": ("", "ValueError"),
        "causal_head_attention": ("MultiheadAttention", ""),
        "MultiHeadAttention": ("", "ValueError"),
    },
    "transformer_block": {"add_and_norm": ("rms_norm", "")},
    "decoder_attention": {
        "masked_attention": ("flex_attention", ""),
        "CrossAttention": ("", "ValueError"),
        "rotary_angles": ("", "ValueError"),
        "grouped_query_attention": ("flex_attention", "ValueError"),
        "GroupedQueryAttention": ("", "ValueError"),
        "sliding_window_mask": ("", "ValueError"),
        "cached_attention": ("flex_attention", ""),
        "attend_block": ("softmax", ""),
        "merge_blocks": ("softmax", ""),
        "blockwise_attention": ("softmax", ""),
    },
}
#: the questions that allow torch's attention, which other questions in the course build
ALLOWED = {
    "SelfAttentionV1", "SelfAttentionV2", "CausalAttention", "MultiHeadAttention",
    "per_head_attention", "CausalSelfAttention", "CrossAttention", "GroupedQueryAttention",
    "CachedAttention",
}  # fmt: skip
#: a forbidden call for each kind of rule, by a name that the rule contains
FORBIDDEN = {
    "scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention(*[made] * 3)",
    "softmax": "torch.softmax(made, -1)",
    "dropout": "torch.nn.functional.dropout(made, 0.5)",
    "layer_norm": "torch.nn.functional.layer_norm(made, (2,))",
}
#: code that makes a solution also make these calls, without changing its result: for a function and
#: for a class
IN_PASSING = {
    False: """
_right = {question}
def {question}(*args):
    made = torch.ones(1, 1, 2)
    {calls}
    return _right(*args)
""",
    True: """
_Right = {question}
class {question}(_Right):
    def forward(self, *args):
        made = torch.ones(1, 1, 2)
        {calls}
        return super().forward(*args)
""",
}


@pytest.fixture
def ruled(root: Path) -> Path:
    """Adds untested rules to the small course; returns the course's folder."""
    (root / "source" / "basics" / "rules.toml").write_text(RULES)
    (root / "source" / "not_allowed.toml").write_text(CALLS)
    return root


def _problems(root: Path) -> list[str]:
    course = load_course(root)
    return list(rule_problems(course, course.assignments))


@pytest.mark.parametrize("assignment", CONTRACT)
def test_the_course_declares_what_its_contract_says(assignment: str) -> None:
    repository = Path(__file__).parents[3]
    declared = rules_beside(repository / "tests" / "hidden" / assignment / "test_any.py")

    allow = {question for question, rules in declared.items() if rules.allows}
    assert allow == declared.keys() & ALLOWED
    assert declared.keys() - ALLOWED <= CONTRACT[assignment].keys() <= declared.keys()
    for question, (call, error) in CONTRACT[assignment].items():
        rules = declared[question]
        assert [promise.error for promise in rules.promises] == [error] * bool(error)
        assert (call in rules.not_allowed.names) if rules.not_allowed else not call


def _refused(
    runner: SuiteRunner, exercise: Exercise, question: str, calls: str
) -> tuple[bool, bool]:
    """Returns whether the hidden suite rejects these calls, and whether the public suite does.

    Apart from these calls, both suites must accept the answer.
    """
    body = IN_PASSING[question[0].isupper()].format(question=question, calls=calls)
    text = exercise.solution.read_text(encoding="utf-8") + "\nimport torch\n" + body
    own: dict[str, Any] = {"__name__": "in_passing"}
    exec(compile(text, "<answer>", "exec"), own)
    found = []
    for suite in (exercise.hidden_suite, exercise.public_suite):
        outcome = runner.first_failure(suite, question, LocalImplementation(own, text), 1)
        assert outcome is None or isinstance(outcome.failure, AnswerForbidden), outcome
        found.append(outcome is not None)
    return found[0], found[1]


@pytest.mark.parametrize("assignment", CONTRACT)
def test_check_is_red_for_the_calls_that_grading_refuses(assignment: str) -> None:
    repository = Path(__file__).parents[3]
    exercises = load_course(repository).assignment(assignment).exercises
    suites = [suite for e in exercises for suite in (e.hidden_suite, e.public_suite)]
    runner = collect_suites(repository, suites)
    for exercise, question in ((e, question.name) for e in exercises for question in e.questions):
        rules = rules_beside(exercise.hidden_suite).get(question)
        names = rules.not_allowed.names if rules and rules.not_allowed else frozenset()
        allowed = "; ".join(call for name, call in FORBIDDEN.items() if name not in names)
        assert _refused(runner, exercise, question, allowed) == (False, False), question
        for name in names & FORBIDDEN.keys():
            assert _refused(runner, exercise, question, FORBIDDEN[name]) == (True, True), name


def test_release_writes_rules_into_docstring_notebook_and_checks(ruled: Path, wheel: Path) -> None:
    release(load_course(ruled), wheel=wheel)

    folder = ruled / "assignments" / "basics"
    stub = (folder / "sums.py").read_text()
    assert "Not allowed: torch's addition (`torch.add`), because it is the answer." in stub
    assert '"""Scales.\n\n        Raises:\n            TypeError: x is no tensor.\n' in stub
    halves = (folder / "halves.py").read_text()
    raised = '"""Half of x.\n\n    Raises:\n        ValueError: x is negative.\n'
    assert f"{raised}\n    Allowed: torch's addition (`torch.add`).\n" in halves
    cells = json.loads((folder / "halves.ipynb").read_text())["cells"]
    rules = ["".join(cell["source"]) for cell in cells if cell["id"] == "rules_half"]
    assert rules == [
        "**Rules.** Raise a `ValueError` if x is negative. Allowed: torch's addition (`torch.add`)."
    ]
    checks = rules_beside(folder / "checks" / "test_sums.py")
    assert checks == rules_beside(ruled / "tests" / "hidden" / "basics" / "test_sums.py")


def test_a_rule_without_a_test_is_a_problem(ruled: Path) -> None:
    problems = _problems(ruled)

    for kind in ("hidden", "public"):
        suite = f"tests/{kind}/basics/test_"
        assert any(f"{suite}sums.py accepts calls" in text for text in problems)
        assert any(f"{suite}halves.py expects the ValueError" in text for text in problems)
        assert any(f"{suite}sums.py expects the TypeError" in text for text in problems)


def test_a_rule_with_a_test_is_no_problem(ruled: Path, edit: Edit) -> None:
    for kind in ("hidden", "public"):
        path = f"tests/{kind}/basics/test_halves.py"
        edit(path, "2.0, likely" if kind == "hidden" else "3.0, likely", "2.0, likely")
        (ruled / path).write_text(
            "import pytest\nfrom autograder.suite import Expect\n"
            '@pytest.mark.question("half", points=2)\n'
            "def test_negative(expect: Expect) -> None:\n"
            '    expect.raises("half", -1.0, error=ValueError, likely="raise")\n'
        )
    edit(
        "solutions/basics/halves.py",
        "return x",
        "if x < 0:\n        raise ValueError\n    return x",
    )

    assert not [text for text in _problems(ruled) if "halves" in text]


def test_a_stub_with_outdated_words_is_a_problem(ruled: Path, wheel: Path, edit: Edit) -> None:
    release(load_course(ruled), wheel=wheel)
    edit("source/basics/rules.toml", "x is negative", "x is below zero")

    problems = [text for text in _problems(ruled) if "does not say" in text]

    assert [Path(text.split(": ")[1].split(" ")[0]).name for text in problems] == [
        "halves.py",
        "halves.ipynb",
    ]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[half]\nforbids = []\n", "unknown key 'forbids'"),
        ('[half]\nnot_allowed = ["magic"]\n', "there is no kind of call named 'magic'"),
        ('[half]\nnot_allowed = ["addition"]\n', "because is missing"),
        ('[half.raises]\nOops = "never"\n', "Python has no error 'Oops'"),
        ("[half\n", "not valid TOML"),
        ("[half]\nraises = true\n", "raises names no error"),
        ('[half]\nallows = ["addition"]\nnot_allowed = ["addition"]\n', "allows and forbids"),
    ],
)
def test_wrong_rules_are_reported(ruled: Path, rules: str, words: str) -> None:
    (ruled / "source" / "basics" / "rules.toml").write_text(rules)
    with pytest.raises(ContentError, match=words):
        _problems(ruled)


@pytest.mark.parametrize(
    ("rules", "line", "problem"),
    [
        ("[half]\nnot_alowed = []\n", 2, "half: unknown key 'not_alowed'"),
        ('\n[half]\nnot_allowed = ["addition"]\nbecause = "b"\n', 2, "half: instead is missing"),
        ('[half]\nbecause = "b\n', 2, "not valid TOML: Illegal character '\\n'"),
        ("half = 1\n", 1, "half is not a table"),
        ('[half.raises]\nOops = "never"\n', 2, "half: Python has no error 'Oops'"),
    ],
)
def test_a_suite_that_reads_wrong_rules_is_not_blamed(
    ruled: Path, rules: str, line: int, problem: str
) -> None:
    path = ruled / "source" / "basics" / "rules.toml"
    path.write_text(rules)
    suite = ruled / "tests" / "hidden" / "basics" / "test_halves.py"
    suite.write_text(
        "from autograder.suite import rules_of\n\nRULES = rules_of(__file__)\n" + suite.read_text()
    )
    with pytest.raises(ContentError) as caught:
        collect_suites(ruled, [suite])
    assert str(caught.value).startswith(f"{path}:{line}: {problem}\n  fix: ")


def test_rules_of_an_unknown_question_are_a_problem(ruled: Path) -> None:
    (ruled / "source" / "basics" / "rules.toml").write_text('[hlaf.raises]\nValueError = "no"\n')

    (problem,) = _problems(ruled)
    assert "no question is called 'hlaf'; use one of: plus_one, Layer, half" in problem


ALLOWED_AFTER_A_VALUE = """import pytest
import torch
from autograder.suite import Expect, rules_of
@pytest.mark.question("plus_one", points=2)
def test_it(expect: Expect) -> None:
    x = torch.ones(1)
    expect.value("plus_one", [x], x + {more}, likely="add")
    expect.allowed("plus_one", x, rule=rules_of(__file__)["plus_one"])
@pytest.mark.question("Layer", points=1)
def test_layer(expect: Expect) -> None: ...
"""


@pytest.mark.parametrize(("more", "is_right"), [(1, True), (2, False)])
def test_a_solution_that_fails_its_suite_gets_no_false_remedy(
    ruled: Path, more: int, is_right: bool
) -> None:
    (ruled / "source" / "not_allowed.toml").write_text(
        CALLS.replace('"add"', '"sub"').replace("::add", "::sub")
    )
    for kind in ("hidden", "public"):
        suite = ruled / "tests" / kind / "basics" / "test_sums.py"
        suite.write_text(ALLOWED_AFTER_A_VALUE.format(more=more))

    problems = [text for text in _problems(ruled) if "plus_one" in text]

    if is_right:
        assert problems == []
    else:
        (problem,) = problems
        assert problem.startswith(f"solution basics/sums/plus_one: rejected by {suite}: plus_one(")
