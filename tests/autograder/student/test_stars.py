"""The constraints for the second star can be satisfied, and code that breaks them is found."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from autograder.authoring.question_texts import stars_of
from autograder.course import load_course
from autograder.errors import ContentError, UserError
from autograder.records import Exercise
from autograder.student import star_of
from autograder.student.stars import broken

ROOT = Path(__file__).parents[3]
COURSE = load_course(ROOT)
STARS = [
    pytest.param(exercise, question.name, stars[question.name], id=question.name)
    for assignment in COURSE.assignments
    for stars in [stars_of(ROOT, assignment)]
    for exercise in assignment.exercises
    for question in exercise.questions
    if question.name in stars
]


@cache
def right_answers(exercise: Exercise) -> tuple[tuple[str, str], ...]:
    """Returns the name and text of each definition in the solution and its alternatives."""
    paths = (exercise.solution, COURSE.variants("alternatives", exercise))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return tuple(
        (node.name, ast.get_source_segment(text, node) or "")
        for text in texts
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )


@cache
def names_of(exercise: Exercise) -> dict[str, str]:
    """Returns each correct answer's question, keyed by the answer's name."""
    from autograder.suite.variants import variants_read

    found = variants_read(COURSE.variants("alternatives", exercise))
    own = {question.name: question.name for question in exercise.questions}
    return {**own, **{variant.name: variant.question for variant in found}}


@pytest.mark.parametrize(("exercise", "question", "rule"), STARS)
def test_a_known_right_answer_earns_each_star(exercise: Exercise, question: str, rule: str) -> None:
    own = names_of(exercise)
    answers = [(name, text) for name, text in right_answers(exercise) if own.get(name) == question]
    assert any(not broken(name, rule, text) for name, text in answers)


@pytest.mark.parametrize(
    ("rule", "body", "problem"),
    [
        ("one line", "return x", ""),
        ("one line", '"""Twice."""\n    return 2 * x', ""),
        ("one line", "y = x\n    return y", "there are 2 statements below the docstring"),
        ("one line", "return (\n        x\n    )", "the statement takes 3 lines"),
        ("one line", f"return x{' + 1' * 30}", "the line has 132 characters, and at most 100 fit"),
        ("no loop", "return x.sum()", ""),
        ("no loop", "while x:\n        x -= 1", "this is a loop: while x:"),
        ("no loop", "return [y for y in x]", "this is a loop: return [y for y in x]"),
        ("no loop", "return torch.vmap(g)(x)", "this is a loop: return torch.vmap(g)(x)"),
        ("no loop", "return f(x[1:])", "a function that calls itself is a loop: return f(x[1:])"),
        ("no @", 'return torch.einsum("i,i", x, x)', ""),
        ("no @", "return x @ x", "this is a matrix product: return x @ x"),
        ("no @", "x @= x\n    return x", "this is a matrix product: x @= x"),
        ("no @", "return x.matmul(x)", "this is a matrix product: return x.matmul(x)"),
    ],
)
def test_a_broken_rule_is_shown_with_its_line(rule: str, body: str, problem: str) -> None:
    assert broken("f", rule, f"def f(x):\n    {body}\n") == problem


def test_one_line_restricts_only_the_forward_of_a_class() -> None:
    text = (
        "class F:\n    def __init__(self):\n        a = 1\n        b = 2\n    def forward(s, x):\n"
    )
    assert broken("F", "one line", f"{text}        return x\n") == ""
    assert "2 statements" in broken("F", "one line", f"{text}        y = x\n        return y\n")


def test_an_unknown_rule_is_refused_with_a_list() -> None:
    with pytest.raises(UserError, match='"one line", "no loop", "no @"'):
        broken("f", "one lines", "def f(x): return x")


def test_a_star_is_offered_and_earned_in_a_folder(folder: Path) -> None:
    assert star_of(folder, "plus_one", "") == ""
    (folder / "checks" / "stars.json").write_text('{"plus_one": "one line"}', encoding="utf-8")
    module = folder / "sums.py"
    text = module.read_text(encoding="utf-8")
    stub = "raise NotImplementedError"
    module.write_text(text.replace(stub, "y = x + 1.0\n    return y", 1), "utf-8")
    offer = star_of(folder, "plus_one", "")
    assert offer.startswith("☆ not graded: can you do it in one line?")
    assert offer.endswith('autograder check plus_one --rule "one line"')
    assert star_of(folder, "plus_one", "one line").startswith("☆ one line, not yet: there are 2")
    module.write_text(text.replace(stub, "return x + 1.0", 1), "utf-8")
    assert star_of(folder, "plus_one", "one line") == "★ second star: one line"
    call = 'autograder check plus_one --rule "one line"'
    assert star_of(folder, "plus_one", "") == f"★ second star: one line, checked by {call}"


def test_release_refuses_a_star_that_does_not_exist(tmp_path: Path) -> None:
    assignment = COURSE.assignments[0]
    path = tmp_path / "source" / assignment.name / "stars.toml"
    path.parent.mkdir(parents=True)
    name = assignment.exercises[0].questions[0].name
    path.write_text(f'{name} = "no numpy"\n', encoding="utf-8")
    with pytest.raises(ContentError, match="no rule 'no numpy'"):
        stars_of(tmp_path, assignment)
