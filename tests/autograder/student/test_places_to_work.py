"""A notebook works on Colab and on Kaggle, without other files, and in a kernel without checks."""

from __future__ import annotations

import io
import json
import shutil
import sys
import sysconfig
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import autograder
from autograder.authoring.student_wheel import student_wheel
from autograder.student import Standing, check_folder
from autograder.student.assignment_folder import assignment_folder

from ..runners import run_tasks

ROOT = Path(__file__).parents[3]
ASSIGNMENT = ROOT / "assignments" / "simplified_attention"
RUNNER = Path(__file__).with_name("notebook_places.py")
ANSWER = "def query_scores(inputs, query):\n    return inputs @ query\n"
INPUTS = "/kaggle/input"


def cells_of(notebook: Path) -> dict[str, str]:
    """Returns the source of each code cell, keyed by cell id."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}


@pytest.fixture(scope="module")
def wheel() -> tuple[str, bytes]:
    """Returns the name and bytes of a student's wheel of the current code."""
    buffer, package = io.BytesIO(), Path(autograder.__file__).parent
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in package.rglob("*.py"):
            archive.write(path, path.relative_to(package.parent).as_posix())
        archive.writestr("attention_autograder-1.dist-info/METADATA", "Version: 1\n")
    return student_wheel("attention_autograder-1-py3-none-any.whl", buffer.getvalue())


def unzipped(folder: Path, wheel: tuple[str, bytes]) -> Path:
    """Copies the released assignment and its wheel into a folder."""
    copy = Path(shutil.copytree(ASSIGNMENT, folder / ASSIGNMENT.name))
    (copy / wheel[0]).write_bytes(wheel[1])
    return copy


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory, wheel: tuple[str, bytes]) -> dict[str, str]:
    """Returns the output of a check in each place."""
    root = tmp_path_factory.mktemp("places")
    places = {
        name: root / name for name in ("alone", "wheel", "colab", "beside", "kaggle", "kernel")
    }
    for folder in places.values():
        folder.mkdir()
    (places["wheel"] / wheel[0]).write_bytes(wheel[1])
    unzipped(root, wheel)
    shutil.make_archive(str(places["colab"] / ASSIGNMENT.name), "zip", root, ASSIGNMENT.name)
    unzipped(places["beside"], wheel)
    unzipped(root / "input" / "my-data-set", wheel)
    places["kernel"] = unzipped(places["kernel"], wheel)
    cells = cells_of(ASSIGNMENT / "scores.ipynb")
    assert INPUTS in cells["bring_checks"]
    first = [cells["bring_checks"].replace(INPUTS, str(root / "input")), cells["setup"], ANSWER]
    # only Kaggle has a folder of inputs
    elsewhere = [cells["bring_checks"], *first[1:]]
    checked = ['check("query_scores")', 'hint("query_scores")']
    tasks = {
        name: (str(folder), [*(first if name == "kaggle" else elsewhere), *checked])
        for name, folder in places.items()
    }
    paths = [sysconfig.get_path("purelib"), *(path for path in sys.path if "dynload" in path)]
    start = f"runpy.run_path({str(RUNNER)!r}, None, '__main__')"
    code = f"import sys, runpy; sys.path += {paths!r}; {start}"
    found: dict[str, str] = run_tasks(["-S", "-c", code], tasks, root, finds_autograder=False)
    return found


@pytest.mark.parametrize("place", ["colab", "beside", "kaggle", "kernel"])
def test_the_bundle_is_enough(outputs: dict[str, str], place: str) -> None:
    assert "✓ query_scores: all checks passed" in outputs[place]
    assert "query_scores: hint 1 of" in outputs[place]


def test_a_notebook_alone_says_what_to_put_next_to_it(outputs: dict[str, str]) -> None:
    assert outputs["alone"].startswith(
        "ImportError: Put simplified_attention.zip next to this notebook and run this cell again."
    )


def test_a_notebook_with_the_wheel_alone_says_what_is_missing(outputs: dict[str, str]) -> None:
    assert "no checks in" in outputs["wheel"]
    assert "or unzip the assignment's bundle next to it" in outputs["wheel"]


def test_checks_are_found_above_and_in_the_right_folder(tmp_path: Path) -> None:
    for name in ("simplified_attention", "self_attention"):
        shutil.copytree(ROOT / "assignments" / name / "checks", tmp_path / name / "checks")
    own = tmp_path / "simplified_attention"
    (own / "extras").mkdir()
    assert assignment_folder(tmp_path, "query_scores") == own
    assert assignment_folder(own / "extras", "query_scores") == own
    assert assignment_folder(own) == own
    assert assignment_folder(tmp_path / "self_attention" / "checks") == tmp_path / "self_attention"
    assert assignment_folder(tmp_path / "elsewhere") == tmp_path / "elsewhere"


def test_a_notebook_as_vs_code_saves_it_is_read(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ASSIGNMENT, tmp_path / "work"))
    path = folder / "scores.ipynb"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["metadata"] = {
        "kernelspec": {"display_name": ".venv", "language": "python"},
        "language_info": {"name": "python", "version": "3.12.1"},
        "vscode": {"interpreter": {"hash": "0"}},
    }
    (cell,) = [cell for cell in document["cells"] if cell["id"] == "query_scores"]
    cell |= {
        "id": "#VSC-1a2b3c4d",  # VS Code gives this id to a copied cell
        "metadata": {"vscode": {"languageId": "python"}, "notebookRunGroups": {"groupValue": "1"}},
        "source": [line + "\r\n" for line in ANSWER.splitlines()],
        "execution_count": 3,
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\r\n"]}],
    }
    markdown = next(cell for cell in document["cells"] if cell["cell_type"] == "markdown")
    del markdown["id"]
    path.write_text(json.dumps(document, indent=4), encoding="utf-8")
    (result,) = check_folder(folder, ["query_scores"])
    assert result.file == "scores.ipynb"
    assert result.questions[0].standing is Standing.PASSED


def test_checks_need_no_network(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ASSIGNMENT, tmp_path / "work"))
    (folder / "scores.py").write_text("import torch\n\n\n" + ANSWER, encoding="utf-8")
    calls: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo"):
            calls.append(f"{event}{arguments}")

    sys.addaudithook(note)  # an audit hook can't be removed, but this one only counts
    (checked,) = check_folder(folder, ["query_scores"])
    standings = [question.standing for question in checked.questions]
    assert (standings, calls) == ([Standing.PASSED], [])


@pytest.mark.parametrize("place", [".", "extras"])
def test_the_first_cell_tells_that_other_checks_are_installed(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cells_of(ASSIGNMENT / "scores.ipynb")["bring_checks"]
    (tmp_path / "extras").mkdir()
    monkeypatch.chdir(tmp_path / place)
    said = []
    for installed in (version("attention-autograder"), "2.0.0+another"):
        wheel = f"./attention_autograder-{installed}-py3-none-any.whl"
        (tmp_path / "requirements.txt").write_text(f"torch==2.13.0\n{wheel}\n")
        exec(code, {})
        said.append(capsys.readouterr().out)
    assert said[0] == ""
    assert "pip install -r requirements.txt\nand then restart the kernel" in said[1]
