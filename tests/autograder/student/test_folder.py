"""`autograder check` and `autograder status` work in a student's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from autograder.cli import cli
from autograder.errors import GraderError, UserError
from autograder.sandbox import ALLOWED
from autograder.student import CheckedQuestion, Standing, check_folder, status
from autograder.student.advice import IN_GRADING, OPTIONAL_IN_GRADING, AdviceContext, advice

Solve = Callable[[str], None]


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


def answer_in_notebook(folder: Path, exercise: str, question: str, source: str) -> None:
    path = folder / f"{exercise}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == question]
    cell["source"] = source
    path.write_text(json.dumps(notebook), encoding="utf-8")


def half(folder: Path) -> CheckedQuestion:
    """Returns the checked question of the exercise `halves`."""
    ((question,),) = (exercise.questions for exercise in check_folder(folder, ["halves"]))
    return question


def test_untouched_stubs_are_not_implemented_yet(folder: Path) -> None:
    exercises = check_folder(folder)
    assert [exercise.exercise for exercise in exercises] == ["sums", "halves"]
    standings = {item.standing for exercise in exercises for item in exercise.questions}
    assert standings == {Standing.NOT_IMPLEMENTED}


def test_solutions_pass_in_modules(folder: Path, solve: Solve) -> None:
    solve("sums")
    solve("halves")
    progress = status(folder)
    assert (progress.title, progress.passed, progress.questions) == ("Sums & halves", 3, 3)
    assert progress.next is None


def test_gradients_are_on_in_checks_as_in_grading(folder: Path) -> None:
    off = "import torch\ntorch.set_grad_enabled(False)\n"
    on = "    if not torch.is_grad_enabled():\n        raise RuntimeError\n    return x / 2.0\n"
    write(folder, "halves.py", f"{off}def half(x):\n{on}")
    assert half(folder).standing is Standing.PASSED
    assert torch.is_grad_enabled()


def test_a_default_dtype_affects_only_its_own_file(folder: Path) -> None:
    write(folder, "sums.py", "import torch\ntorch.set_default_dtype(torch.float64)\n")
    same = "    assert torch.zeros(1).dtype == torch.float32\n    return x / 2.0\n"
    write(folder, "halves.py", f"import torch\ndef half(x):\n{same}")
    sums, halves = check_folder(folder)
    assert [question.standing for question in halves.questions] == [Standing.PASSED]


@pytest.mark.parametrize(
    ("divisor", "standing"),
    [("2.0", Standing.PASSED), ("torch.full(x.shape, 2.0)", Standing.FIX)],
)
def test_a_default_dtype_affects_answers_but_no_checks(
    folder: Path, divisor: str, standing: Standing
) -> None:
    suite = folder / "checks" / "test_halves.py"
    text = suite.read_text(encoding="utf-8").replace("import pytest\n", "import pytest, torch\n")
    text = text.replace("[6.0], 3.0", "[torch.tensor([6.0])], torch.tensor([3.0])")
    suite.write_text(text, encoding="utf-8")
    setting = "import torch\ntorch.set_default_dtype(torch.float64)\n"
    write(folder, "halves.py", f"{setting}def half(x):\n    return x / {divisor}\n")
    assert half(folder).standing is standing


def test_answers_pass_in_notebooks(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "%time\ndef half(x):\n    return x / 2.0")
    assert half(folder).standing is Standing.PASSED
    assert check_folder(folder, ["halves"])[0].file == "halves.ipynb"


def test_answers_split_over_both_files_should_be_joined(folder: Path) -> None:
    stubs = (folder / "sums.py").read_text(encoding="utf-8")
    answer = "def plus_one(x):\n    return x + 1\n"
    (folder / "sums.py").write_text(stubs + "\n\n" + answer, encoding="utf-8")
    answer_in_notebook(folder, "sums", "Layer", "class Layer(torch.nn.Identity):\n    pass\n")
    (exercise,) = check_folder(folder, ["sums"])
    assert exercise.note.endswith("does not: copy your answer to Layer into sums.py")


@pytest.mark.parametrize(
    ("text", "is_reported"), [("def half(x):\n    return x / 2\n", True), ("half = 2\n", False)]
)
def test_answers_in_a_copy_of_another_name_are_reported(
    folder: Path, text: str, is_reported: bool
) -> None:
    (folder / "halves (1).py").write_text(text, encoding="utf-8")
    sums, halves = check_folder(folder)
    note = "halves (1).py contains answers, but does not count: should its name be halves.py?"
    assert (halves.note, sums.note) == (note if is_reported else "", "")
    answer_in_notebook(folder, "halves", "half", "def half(x):\n    return x / 2.0")
    assert check_folder(folder, ["halves"])[0].note == ""


#: a module that writes into a file from another thread, where checks do not refuse it
BY_THREAD = """\
import threading

thread = threading.Thread(target=lambda: open({!r}, "w").write("written"))
thread.start()
thread.join()


def half(x):
    return x / 2.0
"""


def test_a_file_runs_without_a_sandbox(folder: Path) -> None:
    note = folder.parent / "note.txt"
    write(folder, "halves.py", BY_THREAD.format(str(note)))
    assert half(folder).standing is Standing.PASSED
    assert note.read_text() == "written"


def test_files_and_folders_that_are_elsewhere_are_named(folder: Path) -> None:
    (folder / "old").mkdir()
    for kind in ("py", "ipynb"):
        (folder / f"sums.{kind}").rename(folder / "old" / f"sums.{kind}")
    (exercise,) = check_folder(folder, ["sums"])
    assert "there is old/sums.ipynb: move it back" in exercise.problem.replace("\\", "/")
    for wrong in (folder.parent, folder / "old"):
        with pytest.raises(UserError, match=f"Did you mean {folder}"):
            check_folder(wrong)


def test_a_changed_module_counts_and_says_so(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "def half(x): return x / 2.0")
    write(folder, "halves.py", "def half(x):\n    return x\n")
    (exercise,) = check_folder(folder, ["halves"])
    assert exercise.file == "halves.py"
    assert exercise.questions[0].standing is Standing.FIX
    assert exercise.note == "halves.py was changed, so it counts and halves.ipynb does not"


def test_a_notebook_named_as_a_module_is_read_as_one(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "def half(x): return x / 2.0")
    (folder / "halves.ipynb").rename(folder / "halves.py")
    (exercise,) = check_folder(folder, ["halves"])
    assert exercise.questions[0].standing is Standing.PASSED
    assert "halves.py is a notebook, and was read as one" in exercise.note


def test_a_comment_in_the_stub_is_not_an_answer(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "def half(x): return x / 2.0")
    text = (folder / "halves.py").read_text(encoding="utf-8")
    write(folder, "halves.py", text.replace("\n", "  # later\r\n", 1))
    assert half(folder).standing is Standing.PASSED


def test_status_names_the_first_exercise_that_is_not_finished(folder: Path, solve: Solve) -> None:
    solve("sums")
    progress = status(folder)
    assert progress.passed == 2
    assert progress.next is not None
    assert progress.next.exercise == "halves"


def test_the_command_shows_progress_points_and_what_to_submit(folder: Path, solve: Solve) -> None:
    def shown() -> str:
        result = CliRunner().invoke(cli, ["status", "--folder", str(folder)])
        return " ".join(result.output.split())

    solve("sums")
    assert "2 of 3 questions pass their public checks, for up to 10 of 12 points" in shown()
    assert "Submit" not in shown()
    solve("halves")
    assert "Submit these files: sums.py, halves.py" in shown()


def test_exercises_are_named_as_a_shell_completes_them(folder: Path) -> None:
    exercises = check_folder(folder, ["halves.ipynb", "./halves.py", "sums"])
    assert [exercise.exercise for exercise in exercises] == ["halves", "sums"]


def test_an_unknown_exercise_is_refused_with_the_names_there_are(folder: Path) -> None:
    with pytest.raises(UserError, match="'halfs' here; did you mean half") as refused:
        check_folder(folder, ["halfs"])
    assert "the exercises are: sums, halves" in str(refused.value)


def test_a_folder_without_an_assignment_leads_to_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Go to the folder that you unzipped"):
        status(tmp_path)


def test_a_damaged_manifest_says_what_to_do(folder: Path) -> None:
    write(folder, "checks/assignment.json", "{}")
    with pytest.raises(UserError, match="the one in the course's bundle"):
        status(folder)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def half(x):\nreturn x\n", "halves.py:2: IndentationError: expected an indented block"),
        ("import nothing_of_this_name\n", "halves.py:1: ModuleNotFoundError"),
        ("x = 1\nraise SystemExit(3)\n", "halves.py:2: SystemExit: 3"),
        ("x = '\0'\n", "halves.py"),
    ],
)
def test_a_module_that_does_not_run_is_explained(folder: Path, text: str, problem: str) -> None:
    write(folder, "halves.py", text)
    (exercise,) = check_folder(folder, ["halves"])
    assert exercise.problem.startswith(problem)
    assert [question.standing for question in exercise.questions] == [Standing.HIDDEN]


def test_a_broken_notebook_costs_its_own_exercise_only(folder: Path, solve: Solve) -> None:
    solve("sums")
    write(folder, "halves.ipynb", "not JSON")
    sums, halves = check_folder(folder)
    assert sums.finished
    assert "halves.ipynb is not a notebook" in halves.problem


def test_a_broken_cell_says_what_is_wrong_in_it(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "def half(x):\nreturn x")
    result = half(folder)
    assert result.standing is Standing.FIX
    assert "expected an indented block" in result.tests[0].message


def test_a_failing_notebook_shows_the_line_that_fails(folder: Path) -> None:
    answer_in_notebook(folder, "halves", "half", "two = 1 / 0\ndef half(x): return x / two")
    (exercise,) = check_folder(folder, ["halves"])
    where, place, likely = exercise.problem.splitlines()
    assert where == "halves.ipynb, code cell 3, line 1: ZeroDivisionError: division by zero"
    assert place.endswith("two = 1 / 0")
    assert likely.startswith("likely: a divisor is 0")


def test_missing_files_are_named(folder: Path) -> None:
    (folder / "halves.py").unlink()
    (folder / "halves.ipynb").unlink()
    (exercise,) = check_folder(folder, ["halves"])
    assert exercise.problem == "no halves.ipynb and no halves.py here"


def test_an_answer_that_is_not_there_is_missing(folder: Path) -> None:
    write(folder, "halves.py", "x = 1\n")
    assert half(folder).standing is Standing.MISSING


def test_any_error_of_an_answer_is_something_to_fix(folder: Path) -> None:
    for body in ("1 / 0", "half(x)", "raise SystemExit", "raise KeyError('<b>')"):
        write(folder, "halves.py", f"def half(x):\n    {body}\n")
        assert half(folder).standing is Standing.FIX


def test_ctrl_c_stops_the_question_and_all_that_would_follow(folder: Path) -> None:
    write(folder, "sums.py", "def plus_one(x):\n    raise KeyboardInterrupt\n")
    (exercise,) = check_folder(folder)
    assert [item.standing for item in exercise.questions] == [Standing.STOPPED]


def test_output_of_an_answer_is_kept_short(folder: Path) -> None:
    write(folder, "halves.py", "def half(x):\n    print('y' * 100_000)\n    return x / 2.0\n")
    result = half(folder)
    assert result.standing is Standing.PASSED
    assert result.printed.startswith("yyy")
    assert len(result.printed) < 2100


def test_only_the_document_is_printed_whatever_an_answer_starts(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "halves.py").write_text("import os\nos.write(1, b'noise')\n")
    done = CliRunner().invoke(cli, ["check", "halves", "--json", "--folder", str(folder)])
    assert [exercise["exercise"] for exercise in json.loads(done.stdout)] == ["halves"]
    assert capfd.readouterr() == ("", "noise")


@pytest.mark.parametrize("command", [["check"], ["hint"]])
def test_a_file_named_with_its_folder_is_found_from_anywhere(
    folder: Path, solve: Solve, command: list[str]
) -> None:
    solve("halves")
    done = CliRunner().invoke(cli, [*command, str(folder / "halves.py"), "--json"])
    assert "halves" in done.stdout, done.output


def test_a_students_pytest_settings_change_nothing(
    folder: Path, solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve("halves")
    write(folder.parent, "pytest.ini", "[pytest]\naddopts = --no-such-option\n")
    write(folder, "checks/conftest.py", "raise RuntimeError\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    assert half(folder).standing is Standing.PASSED


def test_checking_leaves_nothing_behind(
    folder: Path, solve: Solve, capsys: pytest.CaptureFixture[str]
) -> None:
    solve("halves")
    before = sorted(folder.rglob("*"))
    check_folder(folder)
    assert [path for path in sorted(folder.rglob("*")) if path not in before] == []
    assert capsys.readouterr() == ("", "")


def test_each_folder_is_judged_by_its_own_checks(folder: Path, solve: Solve) -> None:
    solve("halves")
    assert half(folder).standing is Standing.PASSED
    path = folder / "checks" / "test_halves.py"
    path.write_text(path.read_text().replace("3.0", "4.0"))
    assert half(folder).standing is Standing.FIX


def test_broken_checks_are_not_the_students_fault(folder: Path) -> None:
    path = folder / "checks" / "test_halves.py"
    path.write_text(path.read_text() + "\n1 / 0\n")
    with pytest.raises(GraderError, match="Replace this file with the one in the course's bundle"):
        check_folder(folder, ["halves"])


def test_when_all_checks_pass_grading_tries_are_listed(folder: Path) -> None:
    manifest = folder / "checks" / "assignment.json"
    document = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**document, "graded": {"half": "gradients, float64"}}))
    write(folder, "halves.py", "def half(x):\n    return x / 2.0\n")
    assert half(folder).note == "grading also tries: gradients, float64"
    write(folder, "halves.py", "def half(x):\n    return x\n")
    assert half(folder).note == ""


LEANING = ["from sums import plus_one", "import sums as other", "from sums import *", "import own"]


@pytest.mark.parametrize("line", LEANING)
def test_an_answer_in_another_file_is_reported_before_the_call(folder: Path, line: str) -> None:
    name = line.split()[1]
    write(folder, f"{name}.py", "def plus_one(x):\n    return x\n")
    called = "plus_one" if "from" in line else line.split()[-1] + ".plus_one"
    write(folder, "halves.py", f"{line}\n\ndef half(x):\n    return {called}(x) / 2.0\n")

    result = half(folder)

    assert result.standing is Standing.FIX
    assert f"imports {name!r}, another file of yours" in result.tests[0].message


def test_another_file_that_no_answer_uses_costs_no_check(folder: Path) -> None:
    write(folder, "halves.py", "import sums\n\ndef half(x):\n    return x / 2.0\n")
    result = half(folder)
    assert "another file" not in "".join(test.message for test in result.tests)


def test_packages_of_a_check_are_those_of_grading() -> None:
    required = {"torch"}
    for text in metadata.requires("torch") or ():
        # on some systems, builds for graphics cards require further packages
        if "extra ==" not in text and "platform_system" not in text:
            required.add(re.split(r"[^\w-]", text)[0].replace("-", "_"))
    assert {*required, *ALLOWED} <= IN_GRADING
    own = [text for text in metadata.requires("attention-autograder") or () if "extra" not in text]
    always = {re.split(r"[^\w-]", text)[0] for text in own}
    assert set(ALLOWED) - always == set(OPTIONAL_IN_GRADING)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ModuleNotFoundError("No module named 'einops'", name="einops"), "not installed here"),
        (ModuleNotFoundError("No module named 'jax'", name="jax"), "not available when your work"),
        (ImportError("cannot import name 'sofmax' from 'torch'", name="torch"), ""),
        (ModuleNotFoundError("No module named 'torch.nm'", name="torch.nm"), ""),
    ],
)
def test_a_missing_package_is_named_with_its_place(error: ImportError, says: str) -> None:
    told = advice(error, AdviceContext())
    assert says in told if says else "installed" not in told and "available" not in told
