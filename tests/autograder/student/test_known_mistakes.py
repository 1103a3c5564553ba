"""`check` explains known mistakes, and the released bundle reveals no secret."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from autograder.course import Course, load_course, mistake_sentences
from autograder.course.manifest import MISTAKES
from autograder.errors import AnswerFault
from autograder.grading.naming.rows import hint_of
from autograder.student import as_text, check_folder
from autograder.student.known_mistakes import (
    comparable_chance,
    comparable_error,
    comparable_text,
    sealed,
    sentence_of,
)
from autograder.student.runner import answers_in, answers_in_turn
from autograder.suite import LocalImplementation
from autograder.suite.local import load_module
from autograder.suite.variants import Variant, module_texts, variants_in

from ..forks import run_forked
from .named_entries import named_entries

ROOT = Path(__file__).resolve().parents[3]
ANSWER = """
import torch

def naive_softmax(scores):
    powers = torch.exp(scores)
    return powers / powers.sum()
"""


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    place = ROOT / "tools" / "student_mistakes.py"
    spec = importlib.util.spec_from_file_location("student_mistakes", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a released assignment with a wrong answer."""
    released = ROOT / "assignments" / "simplified_attention"
    shutil.copytree(released, tmp_path / "work", ignore=shutil.ignore_patterns("*.ipynb"))
    (tmp_path / "work" / "softmax.py").write_text(ANSWER)
    return tmp_path / "work"


def _checked(folder: Path) -> str:
    (exercise,) = check_folder(folder, ["naive_softmax"])
    return "\n".join(map(as_text, exercise.questions))


def test_a_mistake_is_named_with_the_instructors_sentence(folder: Path) -> None:
    catalogue = ROOT / "tests" / "misconceptions" / "simplified_attention" / "softmax.py"
    hints = {v.hint for v in variants_in(catalogue) if v.question == "naive_softmax"}
    text = _checked(folder)
    assert sum(hint in text for hint in hints) == 1


@pytest.mark.parametrize("damage", ["", "[", "{}", '{"naive_softmax": 3}'])
def test_a_bundle_without_sentences_checks_all_the_same(folder: Path, damage: str) -> None:
    (folder / "checks" / MISTAKES).write_text(damage)
    assert "mistake:" not in _checked(folder) and "It looks as if" not in _checked(folder)


def test_comments_in_a_solution_do_not_make_sentences_outdated(tool: ModuleType) -> None:
    code_of = tool.code_of
    text = 'def f(x):  # (T,)\n    """Adds one."""\n    return x + 1\n'
    assert code_of(text) == code_of("# new\ndef f(x):\n    return x + 1  # more\n")
    assert code_of(text) != code_of(text.replace("+ 1", '+ "# 1"'))


def test_a_sentence_can_be_read_only_with_the_same_answers(tmp_path: Path) -> None:
    right, error = comparable_text(torch.tensor([1.0, -0.0])), "raised ValueError: no"
    place, text = sealed(["Which sum is it?"], {"one": [right], "other": [error]})
    (tmp_path / MISTAKES).write_text(json.dumps({"question": {place: text}}))
    again = {"other": [error], "one": [comparable_text(torch.tensor([1.0 + 1e-7, 0.0]))]}
    assert sentence_of(tmp_path, "question", again) == "Which sum is it?"
    assert (
        sentence_of(tmp_path, "question", {**again, "one": [comparable_text(torch.ones(2))]}) == ""
    )
    assert sentence_of(tmp_path, "question", {"one": [right]}) == ""
    assert sentence_of(tmp_path, "another", again) == ""


def test_a_mistake_is_named_that_explains_most_failing_checks(tmp_path: Path) -> None:
    answers = {name: [name] for name in ("one", "two", "three", "four")}
    error = {"one": ["raised ValueError"], "two": ["raised KeyError"], "three": ["3"]}

    def told(came: Mapping[str, Sequence[str]], *mistakes: str) -> str:
        some = [{name: came[name] for name in names.split()} for names in mistakes]
        pairs = [sealed([f"Mistake {at}?"], part) for at, part in enumerate(some)]
        (tmp_path / MISTAKES).write_text(json.dumps({"question": dict(pairs)}))
        return sentence_of(tmp_path, "question", came)

    assert told(answers, "one two three", "four") == (
        "Mistake 0? There may be another mistake as well."
    )
    assert told(answers, "one two", "three four") == ""  # each explains only half of the failures
    # both mistakes explain most of the failures, so neither is certain
    assert told(answers, "one two three", "two three four") == ""
    assert told(answers, "one two three", "one two three four") == "Mistake 1?"
    assert told(error, "one two") == ""  # an error alone may have another cause


def test_a_sentence_about_code_needs_an_answer_with_it(tmp_path: Path) -> None:
    answers = {"one": ["1"]}
    place, text = sealed(["`math.sqrt` gives a number. And?"], answers)
    (tmp_path / MISTAKES).write_text(json.dumps({"question": {place: text}}))
    assert sentence_of(tmp_path, "question", answers, "scores / math.sqrt(d)")
    assert not sentence_of(tmp_path, "question", answers, "scores / d ** 0.5")


def _compared(function: Callable[..., object], *args: object) -> str:
    with pytest.raises(AnswerFault) as caught:
        LocalImplementation({"function": function}).call("function", args)
    return comparable_error(caught.value)


def test_errors_are_compared_without_a_students_own_words() -> None:
    def refused(text: str) -> None:
        raise ValueError(text)

    def added(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return one + other

    two, three = torch.ones(2), torch.ones(3)
    assert _compared(refused, "too long") == _compared(refused, "3 tokens") == "raised ValueError"
    assert _compared(added, two, three) == _compared(added, three, two)
    assert _compared(added, two, three) != _compared(added, two, torch.ones(4))


def test_weights_are_compared_whatever_their_order() -> None:
    query, key = torch.zeros(2, 3), torch.ones(3)
    one, other = {"query": query, "key": key}, {"key": key, "query": query}
    assert comparable_text(one) == comparable_text(other)
    assert comparable_text(one) != comparable_text({"query": key, "key": query})


def test_implementations_give_the_same_answers_in_turn_as_alone() -> None:
    suite = ROOT / "tests" / "public" / "simplified_attention" / "test_softmax.py"
    right = vars(load_module(ROOT / "solutions" / "simplified_attention" / "softmax.py"))
    wrong: dict[str, Callable[..., object]] = {
        "naive_softmax": torch.exp,
        "softmax": lambda scores, dim=-1: scores.exp_(),
    }
    both = [LocalImplementation({**right, name: wrong[name]}) for name in wrong]
    alone = [answers_in(suite, one) for one in both]
    in_turn = answers_in_turn(suite, [(one, [name]) for one, name in zip(both, wrong, strict=True)])
    assert in_turn == [{name: one[name]} for one, name in zip(alone, wrong, strict=True)]
    assert all(all(one.values()) for one in in_turn)


def test_random_results_are_compared_without_counts() -> None:
    one, other = (f"got       {n} of 1050 entries dropped, 4.0 kept" for n in (613, 620))
    assert comparable_chance(one) == comparable_chance(other)
    assert comparable_chance(one) != comparable_chance(one.replace("4.0", "3.0"))


def test_mistakes_with_the_same_answers_are_all_shown(tmp_path: Path) -> None:
    answers = {"one": ["1"]}
    place, text = sealed(["Softmax is left out.", "The mask is left out.", "Both."], answers)
    (tmp_path / MISTAKES).write_text(json.dumps({"question": {place: text}}))
    three = sentence_of(tmp_path, "question", answers, "scores").splitlines()
    assert three[0].startswith("Three known mistakes") and len(three) == 4
    place, text = sealed(["The scores are not scaled.", "`int` cuts the root."], answers)
    (tmp_path / MISTAKES).write_text(json.dumps({"question": {place: text}}))
    both = sentence_of(tmp_path, "question", answers, "scores / int(root)")
    assert both.startswith("Two known mistakes")
    assert both.splitlines()[1:] == ["- The scores are not scaled.", "- `int` cuts the root."]
    alone = sentence_of(tmp_path, "question", answers, "scores / root")
    assert alone == "The scores are not scaled."


def test_four_mistakes_or_an_error_give_no_sentence(
    monkeypatch: pytest.MonkeyPatch, tool: ModuleType
) -> None:
    def chosen(*results: tuple[int, str], family: str = "Family {}.") -> int:
        """Returns the number of sentences that are released for mistakes with these results."""
        changes = {
            Variant("question", str(at), object): (rank, f"Sentence {at}.", family.format(at))
            for at, (rank, _) in enumerate(results)
        }
        answers = {v: {"check": (results[int(v.name)][1],)} for v in changes}
        monkeypatch.setattr(tool, "changes_of", lambda exercise: changes)
        monkeypatch.setattr(tool, "answers_of", lambda exercise, variants: answers)
        monkeypatch.setattr(tool, "variants_in", lambda path: [])
        exercise = tool.Exercise.__new__(tool.Exercise)
        course = SimpleNamespace(variants=lambda kind, exercise: Path())
        return sum(map(len, tool.sentences(course, exercise).values()))

    assert chosen((0, "1"), (0, "1")) == 1
    assert chosen(*[(0, "1")] * 3) == 1
    assert chosen(*[(0, "1")] * 4) == 0
    assert chosen((0, "1"), (0, "1"), (0, "1"), family="One family.") == 1
    assert chosen((0, "raised ValueError: no")) == 0
    assert chosen((tool._ENTRY, "raised ValueError: no")) == 1


def test_sentences_of_the_catalogue_keep_its_order(
    monkeypatch: pytest.MonkeyPatch, tool: ModuleType
) -> None:
    hints = ("What is scaled?", "Is the root an integer?", "And the length?")
    entries = [Variant("f", hint[0], object, "one: two", hint) for hint in hints]
    monkeypatch.setattr(tool, "changes_of", lambda exercise: {})
    monkeypatch.setattr(tool, "answers_of", lambda _, asked: {v: {"check": ("1",)} for v in asked})
    monkeypatch.setattr(tool, "variants_in", lambda path: entries)
    monkeypatch.setattr(tool, "sealed", lambda sentences, answers: ("place", [*sentences]))
    course, exercise = SimpleNamespace(variants=lambda *_: Path()), object()
    expected = {"f": {"place": [f"The likely mistake: two. {hint}" for hint in hints]}}
    assert tool.sentences(course, exercise) == tool.entry_sentences(course, exercise) == expected


def test_nearly_every_mistake_is_named_while_a_student_works(
    course: Course, tmp_path: Path
) -> None:
    """Checks answers in a student's folder, in a separate process."""
    entries = [
        (assignment.name, exercise.name, variant.question, hint_of(variant), text)
        for assignment in course.assignments
        for exercise in assignment.exercises
        for variant, text in module_texts(
            exercise.solution, course.variants("misconceptions", exercise)
        )
    ]
    every = 1 if "EVERY_MISTAKE" in os.environ else 30
    (tmp_path / "entries.json").write_text(json.dumps(entries[::every]))
    done = run_forked(partial(named_entries, ROOT, tmp_path), [], tmp_path)
    assert done.returncode == 0, done.stderr
    named: dict[bool, list[bool]] = {True: [], False: []}
    for question, is_named in json.loads((tmp_path / "named.json").read_text()):
        named[question[0].isupper()].append(is_named)
    for is_class, found in named.items():
        # a sample's share may be up to two standard deviations lower
        chance = 2 * math.sqrt(0.9 * 0.1 / len(found)) if every > 1 else 0.0
        assert sum(found) / len(found) >= 0.9 - chance, (is_class, sum(found), len(found))


def test_the_bundle_holds_no_sentence_no_name_and_no_code(course: Course) -> None:
    for assignment in course.assignments:
        text = (ROOT / "assignments" / assignment.name / "checks" / MISTAKES).read_text()
        questions = json.loads(text)
        for of_question in questions.values():
            for place, sentence in of_question.items():
                int(place, 16)
                assert not set(sentence) & set(" `(_.'")
        for exercise in assignment.exercises:
            for variant in variants_in(course.variants("misconceptions", exercise)):
                assert f'"{variant.name}"' not in text and variant.hint not in text


def test_the_bundle_describes_the_current_checks_and_catalogue(
    course: Course, tool: ModuleType
) -> None:
    old = [a.name for a in course.assignments if not tool.is_current(course, a)]
    assert old == [], "make student-mistakes, then make release"


def test_entries_without_families_give_the_same_sentences(course: Course, tool: ModuleType) -> None:
    assignment = course.assignment("simplified_attention")
    document = json.loads((ROOT / "source" / assignment.name / MISTAKES).read_text("utf-8"))
    for question, entries in tool.entry_sentences(course, assignment.exercises[0]).items():
        assert entries.items() <= document["questions"][question].items()


def test_code_words_in_a_sentence_are_missing_in_other_answers(course: Course) -> None:
    """Words of one or two letters occur in every answer, so `check` could not search for them."""
    code = re.findall("`([^`]+)`", " ".join(mistake_sentences(course).values()))
    assert code
    assert [text for text in code if len(re.findall(r"\w+", text)[-1]) < 3] == []
