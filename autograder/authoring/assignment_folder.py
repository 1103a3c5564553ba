"""Creates the files in `assignments/<name>/`, the version of an assignment for students."""

from __future__ import annotations

import ast
import io
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

import jupytext
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from ..course import BEGIN_SOLUTION, END_SOLUTION, Course
from ..course.manifest import (
    AFTERWARDS,
    HINTS,
    MANIFEST,
    MISTAKES,
    STARS,
    manifest_text,
    texts_text,
)
from ..course.points import points_by_question
from ..course.rules import CALLS, RULES
from ..deadlines import duedate_text
from ..errors import ContentError, GraderError
from ..records import Assignment, Exercise
from .claims import without_claims
from .course_map import CourseMap, course_map, map_cell, map_table
from .ipynb import code_cell, markdown_cell, notebook_json, notebook_of
from .map_picture import map_picture
from .question_texts import afterwards_of, hints_of, mistakes_of, stars_of
from .solution_parts import STUB, module_text, split_module, strip_solutions
from .source_notebook import BRING_CHECKS, bring_source, folded_cell, source_notebook
from .student_wheel import FOLDERS

#: the only modules that public checks may import, because students don't have any others
_IMPORTS_OF_CHECKS = ("torch", "pytest", *(name.strip("/").replace("/", ".") for name in FOLDERS))

#: the templates of workflows that run the checks after every push, by their paths in a student's
#: repository
_WORKFLOWS = {".github/workflows/checks.yml": "github.yml", ".gitlab-ci.yml": "gitlab.yml"}


@dataclass(frozen=True, slots=True)
class ReleasedAssignment:
    """The files of a released assignment.

    `files` maps paths in the released folder to the files' contents, `sources` contains nbgrader's
    source notebook for each exercise, and `extras` contains the paths of files that don't belong to
    any exercise.
    """

    name: str
    title: str
    files: Mapping[str, str]
    sources: Mapping[str, str]
    points: Mapping[str, Mapping[str, float]]
    extras: frozenset[str] = frozenset()


def released_assignment(
    course: Course, assignment: Assignment, scratch: Path
) -> ReleasedAssignment:
    """Creates all files of an assignment; writes only to `scratch`.

    Raises `ContentError` for the first problem in the content.
    """
    _refuse_double_questions(assignment)
    way = course_map(course)
    points = {exercise.name: _points(exercise) for exercise in assignment.exercises}
    modules = {exercise.name: _module(exercise) for exercise in assignment.exercises}
    checks = {exercise.name: _checks(exercise) for exercise in assignment.exercises}
    sources = {
        exercise.name: notebook_json(
            source_notebook(
                exercise,
                split_module(exercise),
                points[exercise.name],
                map_cell(way, assignment, exercise) if way.number(assignment.name) else "",
            )
        )
        for exercise in assignment.exercises
    }
    notebooks = generate_assignment(scratch, assignment.name, sources)
    extras = extras_of(course.root, assignment)
    files = {
        **extras,
        **{f"{name}.ipynb": text for name, text in notebooks.items()},
        **{f"{name}.py": text for name, text in modules.items()},
        **{f"checks/test_{name}.py": text for name, text in checks.items()},
        f"checks/{MANIFEST}": _manifest(assignment, modules, points),
        **_texts(course.root, assignment),
        **_rules(course.root, assignment),
        **_picture(way, assignment),
        "README.md": _readme(assignment, points, extras, way),
        **{place: _template(name) for place, name in _WORKFLOWS.items()},
    }
    return ReleasedAssignment(
        assignment.name,
        assignment.title,
        dict(sorted(files.items())),
        sources,
        points,
        frozenset(extras),
    )


def _manifest(
    assignment: Assignment, modules: Mapping[str, str], points: Mapping[str, Mapping[str, float]]
) -> str:
    return manifest_text(
        assignment.title,
        modules,
        {name: worth for per in points.values() for name, worth in per.items()},
        duedate_text(assignment.duedate) if assignment.duedate else None,
        _graded(assignment),
    )


def _texts(root: Path, assignment: Assignment) -> dict[str, str]:
    """Returns the files about hints, correct answers, known mistakes and stars, keyed by path."""
    texts: dict[str, Mapping[str, object]] = {
        HINTS: hints_of(root, assignment),
        AFTERWARDS: afterwards_of(root, assignment),
        MISTAKES: mistakes_of(root, assignment),
        STARS: stars_of(root, assignment),
    }
    return {f"checks/{file}": texts_text(found) for file, found in texts.items() if found}


def _rules(root: Path, assignment: Assignment) -> dict[str, str]:
    """Returns the rule files that the checks read, unchanged from the course."""
    source = root / "source"
    files = (source / assignment.name / RULES, source / CALLS)
    if not files[0].is_file():
        return {}
    return {f"checks/{file.name}": file.read_text(encoding="utf-8") for file in files}


def _graded(assignment: Assignment) -> dict[str, str]:
    """Describes to students, for each question, the hidden tests that its traits generate."""
    from ..suite.traits import traits_of  # imports torch, which is not needed to read a gradebook

    rows = (row for exercise in assignment.exercises for row in traits_of(exercise.hidden_suite)[0])
    return {row.question: row.for_students for row in rows if row.for_students}


def _refuse_double_questions(assignment: Assignment) -> None:
    """Rejects duplicate question names, because `check("<question>")` finds a question by name."""
    seen: dict[str, str] = {}
    for exercise in assignment.exercises:
        for question in exercise.questions:
            if question.name in seen:
                raise ContentError(
                    exercise.solution,
                    question.line,
                    f"{question.name} is also a question in {seen[question.name]}",
                    "give the questions of an assignment different names",
                )
            seen[question.name] = exercise.name


def _points(exercise: Exercise) -> dict[str, float]:
    points = points_by_question(exercise, exercise.hidden_suite)
    for name, worth in points.items():
        if worth <= 0:
            raise ContentError(
                exercise.hidden_suite, None, f"{name} has no points", "give it points"
            )
    return points


def _module(exercise: Exercise) -> str:
    text = strip_solutions(exercise.solution, module_text(exercise))
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise ContentError(
            exercise.stub,
            error.lineno,
            f"without its solutions, the module is not valid Python: {error.msg}",
            f"move the markers in {exercise.solution}",
        ) from error
    return text


def _checks(exercise: Exercise) -> str:
    suite = exercise.public_suite
    points_by_question(exercise, suite)
    text = suite.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        for module in modules:
            if not _students_have(module):
                raise ContentError(
                    suite,
                    getattr(node, "lineno", None),
                    f"public checks can't import {module}",
                    "import only what students have: "
                    f"{', '.join(_IMPORTS_OF_CHECKS)} and the standard library",
                )
    return text


def _students_have(module: str) -> bool:
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return any(module == known or module.startswith(f"{known}.") for known in _IMPORTS_OF_CHECKS)


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _readme(
    assignment: Assignment,
    points: Mapping[str, Mapping[str, float]],
    extras: Mapping[str, str],
    way: CourseMap,
) -> str:
    ungraded = [f"`{name}`" for name in extras if name.endswith(".ipynb")]
    rows = [
        f"| {number} | `{exercise.name}` | "
        + ", ".join(f"`{name}` {worth:g}" for name, worth in points[exercise.name].items())
        + " |"
        for number, exercise in enumerate(assignment.exercises, start=1)
    ]
    first = assignment.exercises[0]
    return Template(_template("README.md")).substitute(
        title=assignment.title,
        name=assignment.name,
        first=first.name,
        question=first.questions[0].name,
        table="\n".join(rows),
        total=f"{sum(sum(worth.values()) for worth in points.values()):g}",
        stub=STUB,
        check=f'check("{first.questions[0].name}")',
        extras=f"Extras (not graded): {', '.join(ungraded)}.\n\n" if ungraded else "",
        way=_way(way, assignment),
    )


def _picture(way: CourseMap, assignment: Assignment) -> dict[str, str]:
    if not way.number(assignment.name):
        return {}
    order = tuple(stage.name for stage in way.stages)
    return {"map.svg": map_picture(order, assignment.name)}


def _way(way: CourseMap, assignment: Assignment) -> str:
    """Returns the README's section about the path through the course, or "" if there is no map."""
    if not way.number(assignment.name):
        return ""
    return (
        f"## Where you are\n\n{way.before}\n\n{map_table(way, assignment.name)}\n\nEach "
        "assignment works on its own: it imports the parts of earlier assignments that it needs, "
        "ready to use. If you skip something, you lose only its points.\n\n![A transformer; "
        "orange is what this assignment builds](map.svg)\n\n"
    )


EXTRAS = "extras"


def extras_of(root: Path, assignment: Assignment) -> dict[str, str]:
    """Returns the files in `source/<assignment>/extras/`, keyed by their paths in the release.

    A `.md` file becomes a notebook without questions; other files are released unchanged. Raises
    `ContentError` if a file has the name of an exercise or is not text.
    """
    taken = {exercise.name for exercise in assignment.exercises}
    found: dict[str, str] = {}
    for path in sorted((root / "source" / assignment.name / EXTRAS).glob("*")):
        if path.stem in taken:
            raise ContentError(path, None, "an exercise has this name", "choose a different name")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ContentError(path, None, "not UTF-8", "save it as UTF-8") from error
        is_notebook = path.suffix == ".md"
        name = f"{path.stem}.ipynb" if is_notebook else path.name
        found[f"{EXTRAS}/{name}"] = _notebook(path, text, assignment.name) if is_notebook else text
    return found


def _notebook(path: Path, text: str, assignment: str) -> str:
    try:
        cells = jupytext.reads(text, fmt="md:myst").cells
    except Exception as error:  # jupytext's parsers may raise any kind of exception
        raise ContentError(
            path, None, f"not a MyST notebook: {error}", "see docs/authoring.md"
        ) from error
    made = [
        (code_cell if cell["cell_type"] == "code" else markdown_cell)(
            f"{path.stem}-{number}", without_claims(cell["source"])
        )
        for number, cell in enumerate(cells, start=1)
    ]
    first = next((n for n, cell in enumerate(made) if "autograder" in cell["source"]), None)
    if first is not None:
        made.insert(first, folded_cell(BRING_CHECKS, bring_source(assignment), {}))
    return notebook_json(notebook_of(made))


def generate_assignment(root: Path, assignment: str, sources: Mapping[str, str]) -> dict[str, str]:
    """Creates a released notebook for each exercise from nbgrader's source notebooks.

    `root` is a temporary folder. Raises `GraderError` with nbgrader's log if nbgrader fails.
    """
    folder = root / "source" / assignment
    folder.mkdir(parents=True)
    for name, text in sources.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    _convert(root, assignment)
    release = root / "release" / assignment
    return {
        name: notebook_json(json.loads((release / f"{name}.ipynb").read_text(encoding="utf-8")))
        for name in sources
    }


def _convert(root: Path, assignment: str) -> None:
    log = io.StringIO()
    logger = logging.Logger("nbgrader", logging.WARNING)
    logger.addHandler(logging.StreamHandler(log))
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.assignment_id = assignment
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.begin_solution_delimeter = BEGIN_SOLUTION
    config.ClearSolutions.end_solution_delimeter = END_SOLUTION
    # like `nbgrader generate_assignment --no-db`, because a different command makes the class's
    # gradebook
    config.GenerateAssignment.no_database = True
    config.SaveCells.enabled = False
    try:
        directory = CourseDirectory(config=config, log=logger)
        GenerateAssignment(coursedir=directory, config=config, log=logger).start()
    except Exception as error:  # nbgrader may raise any exception; its log says why
        raise GraderError(
            f"nbgrader can't release {assignment}: {error}\n{log.getvalue()}"
        ) from error
