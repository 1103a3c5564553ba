"""Runs the public checks on a course's right answers: a student must never be told to fix one.

The hidden suite and the public checks both judge answers. An answer that only the public checks
refuse would get full credit, but its author would go on searching for a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..course import Course
from ..records import Exercise
from ..student.answers import Answer, execute
from ..student.runner import answers_in_turn
from ..suite.local import LocalImplementation
from ..suite.variants import Variant, module_texts


def refused_by_check(
    course: Course, exercise: Exercise, wanted: Callable[[Variant], bool] = lambda variant: True
) -> Iterator[str]:
    """Yields a sentence for each alternative that fails in a public check of its question.

    The answers run in this process, as on a student's computer, because they are the course's own.
    """
    path = course.variants("alternatives", exercise)
    chosen = [(v, text) for v, text in module_texts(exercise.solution, path) if wanted(v)]
    asked = []
    for number, (variant, text) in enumerate(chosen):
        answer = Answer(Path(f"{exercise.name}_{number}.py"), text, [variant.question])
        namespace = execute(answer).namespace
        asked.append((LocalImplementation(namespace, text), [variant.question]))
    if not asked:
        return
    for (variant, _), failures in zip(
        chosen, answers_in_turn(exercise.public_suite, asked), strict=True
    ):
        if checks := failures.get(variant.question):
            place = f"{exercise.assignment}/{exercise.name}/{variant.question}/{variant.name}"
            yield (
                f"alternative {place}: refused by {', '.join(checks)} in {exercise.public_suite}; "
                "students must not be told to fix a right answer"
            )
