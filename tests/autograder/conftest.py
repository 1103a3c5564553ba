"""Provides a small course with released notebooks, a class folder, and invented results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from coverage import Coverage
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sqlalchemy import create_engine, make_url

from autograder.course import Course, load_course
from autograder.records import (
    ExerciseResult,
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    TestResult,
    Tier,
    Verdict,
)

# pytest finds these hooks by their names
from .seeds import pytest_collectstart, pytest_fixture_setup, pytest_runtest_call

if TYPE_CHECKING:  # imports torch, which some tests do without
    from autograder.sandbox import ForkServer

__all__ = ["pytest_collectstart", "pytest_fixture_setup", "pytest_runtest_call"]

ROOT = Path(__file__).resolve().parents[2]


#: slow files run first, so that all test processes end at about the same time
_LONG = (
    *("test_matrix.py", "test_instructors_page.py", "test_notebooks.py", "test_attacks.py"),
    *("test_graders.py", "test_exchange_in_a_browser.py", "test_same_scores.py"),
    *("test_nbgrader_commands.py", "test_term.py", "test_hostile_notebooks.py"),
    *("test_pages.py", "test_watch.py", "test_mixed_class.py"),
)
#: files that execute the same lines so often that tracing makes them several times slower
_REPEATING = (
    *("test_notebook_fuzz.py", "test_public_messages.py", "test_unnoticed_mistakes.py"),
    *("test_unseen.py", "test_attack.py"),
)
#: how many cases of a test are traced; tracing more would take long and reach few new lines
_MEASURED_CASES = 2
_CASES_RUN = pytest.StashKey[Counter[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs slow test files first, and keeps the order of all other files."""
    order = {name: number for number, name in enumerate(_LONG)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measures coverage only for the first cases of each test, and not at all in slow files."""
    cases_run = item.config.stash.setdefault(_CASES_RUN, Counter())
    test = item.nodeid.partition("[")[0]
    cases_run[test] += 1
    unmeasured = item.path.name in (*_LONG, *_REPEATING) or cases_run[test] > _MEASURED_CASES
    measuring = Coverage.current() if unmeasured else None
    if measuring is None:
        return (yield)
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()


def _untrace() -> None:
    sys.settrace(None)
    threading.settrace(None)


# Processes that are forked here, such as the jobs of a class, are killed at the end, so measuring
# their coverage would take time and give nothing.
os.register_at_fork(after_in_child=_untrace)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Shares one cache of known mistakes' results between all processes in this test run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


QUESTIONS = {"masking": ("causal_mask", "mask_scores"), "dropout": ("dropout",)}

STUB = '''\
def {name}(x):
    """The question."""
    raise NotImplementedError
'''

SOLUTION = '''\
def {name}(x):
    """The question."""
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION
'''


def stub_module(exercise: str) -> str:
    return "import torch\n\n\n" + "\n\n".join(STUB.format(name=n) for n in QUESTIONS[exercise])


def released_notebook(exercise: str, points: float = 2.0) -> nbformat.NotebookNode:
    cells = [new_markdown_cell(f"# {exercise}"), new_code_cell("import torch")]
    for name in QUESTIONS[exercise]:
        answer = new_code_cell(STUB.format(name=name).rstrip())
        answer.metadata["nbgrader"] = _metadata(name, solution=True)
        check = new_code_cell(f'check("{name}")')
        check.metadata["nbgrader"] = _metadata(f"check_{name}", grade=True, locked=True)
        check.metadata["nbgrader"]["points"] = points
        cells += [answer, check]
    for number, cell in enumerate(cells):
        cell["id"] = f"{exercise}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _metadata(
    name: str, grade: bool = False, solution: bool = False, locked: bool = False
) -> dict[str, object]:
    return {
        "schema_version": 3,
        "grade_id": name,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
    }


def write_course(root: Path, duedate: str = "") -> Course:
    for room in ("source", "solutions", "assignments"):
        (root / room / "masks").mkdir(parents=True, exist_ok=True)
    settings = 'title = "Masks"\nexercises = ["masking", "dropout"]\n'
    settings += f'duedate = "{duedate}"\n' if duedate else ""
    (root / "source" / "masks" / "assignment.toml").write_text(settings)
    for exercise, names in QUESTIONS.items():
        solution = "\n\n".join(SOLUTION.format(name=name) for name in names)
        (root / "solutions" / "masks" / f"{exercise}.py").write_text(solution)
        released = root / "assignments" / "masks" / exercise
        released.with_suffix(".py").write_text(stub_module(exercise))
        nbformat.write(released_notebook(exercise), released.with_suffix(".ipynb"))
    return load_course(root)


def question(
    name: str, score: float, verdict: Verdict | None = None, message: str = "rows and columns"
) -> QuestionResult:
    right = score == 2.0
    return QuestionResult(
        question=name,
        score=score,
        max_score=2.0,
        verdict=verdict or (Verdict.CORRECT if right else Verdict.WRONG),
        misconception=None if right else "masking.diagonal_masked",
        hint=None if right else "May a token see itself?",
        tests=(
            TestResult("test_diagonal_is_allowed", right, 1.0 if right else 0.0, 1.0,
                       "" if right else message),
            TestResult("test_future_is_masked", score > 0, 1.0 if score else 0.0, 1.0),
        ),
    )  # fmt: skip


def result(
    student: str = "ada",
    scores: tuple[float, float, float] = (2.0, 0.0, 2.0),
    files: tuple[str | None, str | None] = ("masking.py", "dropout.py"),
    statuses: tuple[ExerciseStatus, ExerciseStatus] = (ExerciseStatus.GRADED,) * 2,
    assignment: str = "masks",
    status: SubmissionStatus = SubmissionStatus.GRADED,
    message: str = "rows and columns",
) -> SubmissionResult:
    left = iter(scores)
    exercises = tuple(
        ExerciseResult(
            exercise=name,
            file=file,
            status=state,
            score=sum(own),
            max_score=2.0 * len(own),
            questions=tuple(
                question(q, score, message=message)
                for q, score in zip(QUESTIONS[name], own, strict=True)
            ),
        )
        for name, file, state in zip(QUESTIONS, files, statuses, strict=True)
        for own in [[next(left) for _ in QUESTIONS[name]]]
    )
    failed = status is SubmissionStatus.FAILED
    return SubmissionResult(
        student=student,
        assignment=assignment,
        submission_digest="sha256:" + "0" * 64,
        suite_digest="sha256:" + "1" * 64,
        isolation=Tier.A,
        status=status,
        score=0.0 if failed else sum(scores),
        max_score=6.0,
        seconds=0.1,
        seed=1,
        exercises=() if failed else exercises,
        error="the worker's parent died" if failed else None,
    )


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Returns a course with one assignment, `masks`, and the exercises `masking` and `dropout`."""
    return write_course(tmp_path / "course_root")


@pytest.fixture
def class_folder(course: Course) -> Path:
    """Returns an empty class folder inside the course."""
    folder = course.root / "course"
    folder.mkdir()
    return folder


@pytest.fixture
def make_result() -> Callable[..., SubmissionResult]:
    """Returns a function that makes a result for `masks` from its three questions' scores."""
    return result


@pytest.fixture
def make_question() -> Callable[..., QuestionResult]:
    """Returns a function that makes the result of a question with two tests."""
    return question


@pytest.fixture
def make_released() -> Callable[..., nbformat.NotebookNode]:
    """Returns a function that makes the released notebook for an exercise."""
    return released_notebook


@pytest.fixture
def make_course() -> Callable[..., Course]:
    """Returns a function that writes the course into a folder, with a due date."""
    return write_course


@pytest.fixture
def submit(class_folder: Path) -> Callable[..., Path]:
    """Returns a function that writes files into a student's submission and returns its folder."""

    def put(student: str, files: dict[str, str], assignment: str = "masks") -> Path:
        folder = class_folder / "submitted" / student / assignment
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    return put


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Starts one fork server for all tests, because starting one takes two CPU seconds.

    Skips a test if no submission is graded on this machine.
    """
    from .grading_runs import started_fork_server  # imports torch

    with started_fork_server() as started:
        yield started


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Yields a function that creates a PostgreSQL database and returns the database's address."""
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "postgresql.py"), "first"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            assert server.wait() == 3, "PostgreSQL is installed and does not start"
            pytest.skip("needs a PostgreSQL: sudo apt-get install postgresql")
        first = make_url(json.loads(line)[0])
        numbers = count()

        def new_database() -> str:
            name = f"gradebook{next(numbers)}"
            engine = create_engine(first, isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            engine.dispose()
            return first.set(database=name).render_as_string(hide_password=False)

        yield new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def db_url(request: pytest.FixtureRequest, class_folder: Path) -> str:
    """Returns the address of a new gradebook, once in SQLite and once in PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{class_folder / 'gradebook.db'}"
    address: str = request.getfixturevalue("postgresql")()
    return address
