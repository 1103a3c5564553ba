"""Wrong answers that were written to pass for right: a sample of what `make mutation` runs."""

from __future__ import annotations

import tomllib

import pytest

from autograder.course import Course
from autograder.grading.judging.suites import collect_suites
from autograder.suite.local import LocalImplementation
from tools.unseen import unseen_of

#: cheap ones
EXERCISES = (("simplified_attention", "scores"), ("causal_attention", "masking"))


@pytest.mark.parametrize(("assignment", "name"), EXERCISES)
def test_none_passes_but_those_that_are_explained(
    course: Course, assignment: str, name: str
) -> None:
    exercise = course.assignment(assignment).exercise(name)
    runner = collect_suites(course.root, [exercise.hidden_suite])
    entries = tomllib.loads((course.root / "tests/mutation/equivalent.toml").read_text())
    module = f"{assignment}/{name}"
    explained = {
        (entry["question"], means)
        for entry in entries["equivalent"]
        if (entry["module"], entry["operator"]) == (module, "attack")
        for means in entry["after"]
    }
    passed = set()
    for answer in unseen_of(exercise, course.root / "tests" / "unseen" / "attack"):
        namespace: dict[str, object] = {"__name__": "_attack"}
        exec(exercise.solution.read_text(encoding="utf-8") + answer.text, namespace)
        implementation = LocalImplementation(namespace, answer.text)
        suite = exercise.hidden_suite
        if runner.first_failure(suite, answer.question, implementation, 1) is None:
            passed.add((answer.question, answer.means))
    right = {(question.name, "") for question in exercise.questions}
    assert passed == explained | right
