"""For each mistake in a table, the student sees the text that the table requires."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder.course.points import points_of
from autograder.errors import UserError
from autograder.student import answers, as_text, check_folder, runner, time_limit
from autograder.student.display import readable
from autograder.student.notebook_tools import check_namespace, result_text

ROOT = Path(__file__).resolve().parents[3]
TABLES = sorted((Path(__file__).parent / "mistakes").glob("*.toml"))
HEAD = "import torch\nfrom torch import nn\n\n"

Mistake = dict[str, Any]


def mistakes() -> list[Mistake]:
    return [
        mistake for path in TABLES for mistake in tomllib.loads(path.read_text("utf-8"))["mistake"]
    ]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns, for each question, a copy of its assignment's folder without notebooks."""
    root = tmp_path_factory.mktemp("mistakes")
    found: dict[str, Path] = {}
    for source in sorted((ROOT / "assignments").glob("*/checks/assignment.json")):
        assignment = source.parent.parent
        folder = root / assignment.name
        shutil.copytree(assignment, folder, ignore=shutil.ignore_patterns("*.ipynb"))
        for question in json.loads(source.read_text())["points"]:
            found[question] = folder
    return found


@pytest.fixture(scope="session")
def shell() -> Iterator[InteractiveShell]:
    """Yields a kernel's shell in this process."""
    settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"history_length": 0})
    shell = InteractiveShell.instance(config=settings)
    gc.collect()
    gc.freeze()  # each reset of the shell collects garbage, and would look at all of torch again
    yield shell
    gc.unfreeze()
    InteractiveShell.clear_instance()


def in_terminal(mistake: Mistake, folder: Path) -> str:
    """Returns the output of `autograder check QUESTION`."""
    manifest = json.loads((folder / "checks" / "assignment.json").read_text())
    question = mistake["question"]
    exercise = next(
        name
        for name in manifest["exercises"]
        if question in points_of(folder / "checks" / f"test_{name}.py")
    )
    path = folder / f"{exercise}.py"
    stub = path.read_bytes()
    try:
        path.write_bytes((HEAD + mistake["code"]).encode())
        (result,) = check_folder(folder, [question])
    finally:
        path.write_bytes(stub)
    return "\n".join([result.problem, *map(as_text, result.questions)])


def in_notebook(mistake: Mistake, folder: Path, shell: InteractiveShell) -> str:
    """Returns the output of `check(QUESTION)` after running the mistake's cells."""
    shell.reset(new_session=True)
    shell.user_ns["torch"] = __import__("torch")
    notebook, module = folder / mistake.get("saved_as", "scores.ipynb"), folder / "scores.py"
    stub = module.read_bytes()
    if "module" in mistake:
        module.write_text(mistake["module"])
    if "saved" in mistake:
        metadata = {"nbgrader": {"grade_id": mistake["question"]}}
        cell = {"cell_type": "code", "source": mistake["saved"], "metadata": metadata}
        cell["execution_count"] = mistake.get("saved_after")
        notebook.write_text(json.dumps({"cells": [cell]}))
        if mistake.get("saved_by_an_earlier_kernel"):
            os.utime(notebook, (1e9, 1e9))
    try:
        for cell_source in mistake["cells"]:
            shell.run_cell(cell_source, store_history=True, silent=False)
        return result_text(check_namespace(mistake["question"], shell.user_ns, folder))
    except UserError as error:
        return str(error)
    finally:
        notebook.unlink(missing_ok=True)
        module.write_bytes(stub)


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda item: item["name"])
def test_a_mistake_is_explained_as_the_table_says(
    mistake: Mistake,
    folders: dict[str, Path],
    shell: InteractiveShell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in (answers, runner):
        monkeypatch.setattr(module, "SECONDS", mistake.get("seconds", time_limit.SECONDS))
    if "cells" in mistake:
        output = in_notebook(mistake, folders["query_scores"], shell)
    else:
        output = in_terminal(mistake, folders[mistake["question"]])
    missing = [text for text in mistake["says"] if text not in output]
    assert not missing, output
    assert not [text for text in mistake.get("never", []) if text in output], output
    assert "Traceback" not in output
    assert "/autograder/" not in output  # no line of the grader is shown


def test_there_are_a_hundred_mistakes_with_different_names() -> None:
    names = [mistake["name"] for mistake in mistakes()]
    assert len(names) == len(set(names)) >= 100


def test_a_parametrised_check_reads_as_text() -> None:
    assert readable("test_sizes[2-3]") == "sizes [2-3]"
