"""A package's `__init__` exports exactly the names that were chosen to be public."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import autograder

PACKAGES = sorted(
    f"autograder.{module.name}"
    for module in pkgutil.iter_modules(autograder.__path__)
    if module.ispkg
)

#: names that the files of a course use, so renaming one would break these files
PROMISED = {
    "autograder.suite": {
        "Draw",
        "Expect",
        "Implementation",
        "Layer",
        "alternative",
        "misconception",
    },
    "autograder.student": {"check"},
    "autograder.records": {
        *("Assignment", "Exercise", "ExerciseResult", "ExerciseStatus", "Limits", "Question"),
        *(
            "QuestionResult",
            "SubmissionResult",
            "SubmissionStatus",
            "TestResult",
            "Tier",
            "Verdict",
        ),
    },
    "autograder.errors": {
        *("AutograderError", "UserError", "ContentError", "SubmissionError"),
        *("IsolationUnavailable", "GraderError", "SandboxError", "AnswerFault"),
    },
}


#: names that notebooks, services and scripts use to grade a class
FACE = {
    *("AutograderError", "ContentError", "Course", "GradeReport", "GraderError"),
    *("SubmissionResult", "UserError", "Verdict", "__version__", "class_results", "collect"),
    *("undo_collect", "extend_all"),
    *("deliver_feedback", "export", "extend", "set_roster", "withdraw"),
    *("export_formats", "final_results", "grade", "grade_stream", "load_course", "new", "record"),
    *("release", "report", "class_changes", "similar", "validate", "write_changes"),
    *("write_feedback", "write_report"),
    *("merge", "unnamed_mistakes", "add_misconception", "pull", "push"),
    *("add_comment", "bank_uses", "bring_requests", "class_requests", "graders_work", "mark"),
}


def test_the_public_api_is_what_was_promised() -> None:
    assert set(autograder.__all__) == FACE
    assert set(dir(autograder)) == FACE
    assert all(getattr(autograder, name) is not None for name in FACE)


@pytest.mark.parametrize("name", sorted(name for name in FACE if name[0].islower()))
def test_a_public_function_has_a_description_and_an_example(name: str) -> None:
    function = getattr(autograder, name)
    assert (function.__doc__ or "").partition("\n")[0].endswith(".")
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import autograder, sys; print(*{'torch', 'click', 'nbgrader'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def _offered(package: ModuleType) -> set[str]:
    """Returns the public names that a package's `__init__` binds, except modules."""
    return {
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_what_it_offers(name: str) -> None:
    package = importlib.import_module(name)
    listed = getattr(package, "__all__", None)
    if listed is None:
        return  # exports only modules
    if hasattr(package, "__getattr__"):  # loads each name when it is used
        assert all(hasattr(package, name) for name in listed)
        return
    assert set(listed) == _offered(package) | {n for n in listed if _is_module(package, n)}
    assert len(set(listed)) == len(listed)


def _is_module(package: ModuleType, name: str) -> bool:
    return isinstance(getattr(package, name), ModuleType)


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_promised_names_are_there(name: str) -> None:
    module = importlib.import_module(name)
    assert {promised for promised in PROMISED[name] if not hasattr(module, promised)} == set()


def test_every_error_class_has_one_common_base() -> None:
    errors = importlib.import_module("autograder.errors")
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, errors.AutograderError)
