"""Creates, validates, releases and packs a course's content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import Course, find_root, refuse_unfinished
from ..errors import UserError
from ..records import Exercise
from .courses import HERE, chosen_assignments, whole_course

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..authoring import ReleaseReport, Scaffold
    from ..grading.validation.validate import ValidationReport
    from ..suite.variants import Variant


@dataclass(frozen=True, slots=True)
class ReleaseCheck:
    """The problems with the files for students: outdated files, and leaks of hidden content."""

    not_fresh: tuple[str, ...]
    leaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClassSource:
    """The files that nbgrader needs for a class.

    `config` is nbgrader's configuration, and `add_to_config` contains the lines that are missing
    from this configuration. `folders` maps each assignment to its source folder, and `changed` maps
    each assignment to the files that were written into that folder.
    """

    config: Path
    add_to_config: tuple[str, ...]
    folders: dict[str, Path]
    changed: dict[str, list[str]]


def load_course(folder: Path | str = HERE) -> Course:
    """Returns the course at or above a folder, with its assignments, exercises and questions.

        course = autograder.load_course()
        print([assignment.name for assignment in course.assignments])

    Raises `UserError` if there is no course, and `ContentError` if its content is wrong.
    """
    return whole_course(Path(folder))


def new(
    assignment: str,
    exercise: str,
    questions: Sequence[str] = (),
    *,
    course: Path | str = HERE,
) -> Scaffold:
    """Writes all files for a new exercise, or adds questions to an existing one.

    Without questions, an existing exercise gets the suites and the text that it lacks. An empty
    folder outside any course becomes a course. The files contain TO DO notes that tell the author
    what to write; `validate` lists these notes.

        autograder.new("ciphers", "shift", ["shift_letter"], course="my_course")

    Raises `UserError` for an invalid name, or for a folder that can't become a course.
    """
    from ..authoring import Scaffold, scaffold_course, scaffold_exercise

    repository: tuple[Path, ...] = ()
    try:
        root = find_root(Path(course))
    except UserError:
        repository, root = scaffold_course(Path(course)), Path(course)
    return Scaffold(root, repository, scaffold_exercise(root, assignment, exercise, questions))


def release(
    assignments: Sequence[str] = (), *, after: bool = False, course: Path | str = HERE
) -> ReleaseReport:
    """Writes assignments/ and the bundles for students, completely or not at all.

    If `after` is true, bundles also contain the code of alternative correct answers; use this once
    everybody has submitted.

        autograder.release(["causal_attention"])

    Raises `ContentError` if the content is wrong or unfinished, or reveals something hidden.
    """
    from .. import authoring

    of = load_course(course)
    refuse_unfinished(of, chosen_assignments(of, assignments))
    return authoring.release(of, assignments, after=after)


def check_release(names: Sequence[str] = (), *, course: Path | str = HERE) -> ReleaseCheck:
    """Checks that assignments/ is up to date and reveals nothing hidden; writes nothing."""
    from ..authoring import find_leaks, verify_fresh

    of = load_course(course)
    stale = tuple(f"{item.path}: {item.problem}" for item in verify_fresh(of, names))
    return ReleaseCheck(stale, tuple(str(leak) for leak in find_leaks(of, names)))


def validate(
    names: Sequence[str] = (),
    *,
    course: Path | str = HERE,
    forms: Sequence[str] | None = None,
    jobs: int = 2,
    starts: Callable[[int], None] = lambda cases: None,
    judged: Callable[[], None] = lambda: None,
) -> ValidationReport:
    """Grades solutions, stubs, alternatives and known mistakes, and reports unexpected verdicts.

    `names` contains names of assignments or exercises (default: all). `starts` is called once, with
    the number of cases, and `judged` is called after each case. Alternatives must also pass the
    public checks.

        print(autograder.validate(["simplified_attention/scores"]).problems)
    """
    from ..grading.validation.cases import FORMS, chosen_of
    from ..grading.validation.validate import validate as prove

    of = load_course(course)
    chosen = chosen_of(of, names)
    refuse_unfinished(of, chosen)
    report = prove(of, names, forms=forms or FORMS, jobs=jobs, starts=starts, judged=judged)
    exercises = (exercise for assignment in chosen for exercise in assignment.exercises)
    refused = (text for exercise in exercises for text in refused_by_check(of, exercise))
    return replace(report, problems=(*report.problems, *refused))


def refused_by_check(
    course: Course, exercise: Exercise, wanted: Callable[[Variant], bool] = lambda variant: True
) -> Iterator[str]:
    """Yields a sentence for each alternative that fails in a public check of its question.

    Such an answer would get full credit, but its author would go on searching for a mistake. The
    answers run in this process, as on a student's computer, because they are the course's own.
    """
    from ..student.answers import Answer, execute
    from ..student.runner import answers_in_turn
    from ..suite.local import LocalImplementation
    from ..suite.variants import module_texts

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


def gradescope_bundle(
    assignment: str, *, to: Path | None = None, course: Path | str = HERE
) -> Path:
    """Writes an assignment's archive for Gradescope; the archive contains the hidden tests."""
    from .. import authoring

    of = load_course(course)
    target = to or of.root / "build" / f"gradescope-{assignment}.zip"
    return authoring.gradescope_bundle(of, of.assignment(assignment), target)


def prepare_nbgrader(
    class_folder: Path, assignments: Sequence[str], *, force: bool, course: Path | str = HERE
) -> ClassSource:
    """Turns a folder into an nbgrader course, or adds assignments to one."""
    from .. import nbgrader

    of = load_course(course)
    chosen = chosen_assignments(of, assignments)
    config = nbgrader.prepare_class_folder(of, class_folder)
    settings = nbgrader.load_settings(class_folder)
    folders = {item.name: settings.source(item.name) for item in chosen}
    changed = {
        item.name: list(nbgrader.write_class_source(of, item, folders[item.name], force))
        for item in chosen
    }
    missing = tuple(nbgrader.missing_lines(of, class_folder, settings))
    return ClassSource(config, missing, folders, changed)
