"""`check("<question>")` works in a notebook."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import autograder.student
from autograder.authoring.solution_parts import STUB
from autograder.errors import UserError
from autograder.student import Standing, check, hint, retry, trace
from autograder.student.check_results import CheckedQuestion, CheckedTest
from autograder.student.display import NotebookOutput, as_html, as_text, readable
from autograder.student.notebook_tools import check_namespace


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the student's folder, which becomes the working folder."""
    monkeypatch.chdir(folder)
    return folder


def test_a_right_answer_passes(here: Path) -> None:
    result = check_namespace("half", {"half": lambda x: x / 2.0}, here)
    assert result.standing is Standing.PASSED
    assert as_text(result).splitlines()[0] == "✓ half: all checks passed"


def test_explanation_other_solutions_and_star_follow_a_right_answer(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autograder.student import notebook_tools as notebook

    shown: list[NotebookOutput] = []
    monkeypatch.setattr(notebook, "_show", shown.append)
    ways = {"half": [["Costs <nothing>.", "def half(x):\n    return 0.5 * x"]]}
    (here / "checks" / "ways.json").write_text(json.dumps(ways), encoding="utf-8")
    (here / "checks" / "stars.json").write_text('{"half": "one line"}', encoding="utf-8")
    (here / "checks" / "afterwards.json").write_text('{"half": "It <halves>."}', encoding="utf-8")
    cell = "def half(x):\n    y = x / 2.0\n    return y\n"
    namespace: dict[str, Any] = {"In": ["", cell], "check": check}
    exec("def half(x): return x\ncheck('half')", namespace)
    exec(cell, namespace)
    exec('check("half")\ncheck("half", rule="one line")\ncheck("half", "no numbers")', namespace)
    wrong, offered, refused, unknown = (text._repr_html_() for text in shown)
    folded = offered.partition("compare with the reference solution</summary>")[2]
    assert "It &lt;halves&gt;." in folded.partition("</details>")[0]
    assert "It &lt;halves&gt;." not in wrong
    assert "Costs &lt;nothing&gt;." in offered and "return 0.5 * x" in offered
    assert "can you do it in one line? check(&quot;half&quot;, rule=" in offered
    assert "one line, not yet: there are 2 statements" in refused
    assert "no second star is called" in unknown


def test_a_wrong_answer_says_what_to_fix(here: Path) -> None:
    text = as_text(check_namespace("half", {"half": lambda x: x}, here))
    assert text.splitlines()[0] == "✗ half: something to fix (0 of 1 checks passed)"
    assert "  ✗ half of six" in text
    assert "      remember: divide" in text


def test_a_stub_is_not_implemented_yet_in_one_line(here: Path) -> None:
    def half(x: float) -> float:
        raise NotImplementedError

    assert as_text(check_namespace("half", {"half": half}, here)) == "○ half: not implemented yet"


def test_a_question_that_was_not_run_yet_says_so(here: Path) -> None:
    text = as_text(check_namespace("half", {}, here))
    assert text == "○ half: not defined\n  run the cell that defines it first"


def test_a_function_given_in_the_notebook_is_not_an_answer(here: Path) -> None:
    cell = nbformat.v4.new_code_cell("def _bring_checks(name): ...")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), here / "basics.ipynb")
    namespace: dict[str, Any] = {}
    exec(cell.source, namespace)
    text = as_text(check_namespace("half", namespace, here))
    assert text == "○ half: not defined\n  run the cell that defines it first"
    exec("def divided(x): return x / 2", namespace)
    assert "is `divided` your answer?" in as_text(check_namespace("half", namespace, here))


def test_ctrl_c_says_which_question_was_running(here: Path) -> None:
    def half(x: float) -> float:
        raise KeyboardInterrupt

    text = as_text(check_namespace("half", {"half": half}, here))
    assert text.startswith("■ half: stopped while it was running")
    assert "never ends" in text


def test_an_unknown_question_is_refused_with_the_known_ones(here: Path) -> None:
    with pytest.raises(UserError, match="'third' here; the questions are: plus_one, Layer, half"):
        check_namespace("third", {}, here)


def test_check_without_a_question_names_all_in_teaching_order(here: Path) -> None:
    with pytest.raises(UserError, match=r"as in check\('plus_one'\); known: plus_one, Layer, half"):
        check_namespace("", {}, here)


def test_a_notebook_moved_out_of_its_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="keep the notebook in the folder that you unzipped"):
        check_namespace("half", {}, tmp_path)


def test_check_takes_the_definitions_of_its_caller(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace: dict[str, Any] = {"check": check}
    exec("def half(x): return x / 2.0\ncheck('half')\ncheck('no_such')", namespace)
    output = capsys.readouterr().out
    assert "✓ half" in output
    assert "no question is called 'no_such'" in output


def test_a_question_may_be_given_as_the_function_itself(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "trace('half')\ndef half(x): return x / 2.0\ncheck(half)\nhint(half)\ntrace(half)"
    exec(code, {"check": check, "hint": hint, "trace": trace})
    undefined, checked = capsys.readouterr().out.split("✓ half: all checks passed")
    assert "half is not defined: run the cell that defines it first" in undefined
    assert "half: this question has no hints" in checked or "half: hint 1" in checked


def test_nbgrader_gets_no_full_marks_from_public_checks(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(UserError, match="public checks give no points"):
        exec("def half(x): return x / 2.0\ncheck('half')", {"check": check})


def test_nbgraders_validation_sees_a_failing_check(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(AssertionError, match="half: something to fix"):
        exec("def half(x): return x\ncheck('half')", {"check": check})


def test_html_escapes_everything_of_a_student() -> None:
    evil = "<script>alert('x')</script>"
    test = CheckedTest(f"test_{evil}", False, f"KeyError: {evil}")
    html = as_html(CheckedQuestion(evil, Standing.FIX, (test,), printed=evil))
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 4


@pytest.mark.parametrize(
    ("end", "shown"), [("...\n", "line 4\n...<"), ("end\n", "line 3\n...\nend")]
)
def test_html_shows_only_the_first_printed_lines_and_the_last(end: str, shown: str) -> None:
    printed = "".join(f"line {number}\n" for number in range(9)) + end
    html = as_html(CheckedQuestion("half", Standing.FIX, printed=printed))
    assert shown in html and "line 5" not in html


def test_a_calls_rule_is_found_in_the_cells_that_ran(here: Path) -> None:
    suite = here / "checks" / "test_halves.py"
    suite.write_text(
        "import pytest\nfrom autograder.suite import Forbidden\n"
        '@pytest.mark.question("half", points=0)\ndef test_no_softmax(expect):\n'
        '    rule = Forbidden(frozenset(), frozenset({"softmax"}), "exp and sum")\n'
        '    expect.allowed("half", 1.0, rule=rule)\n'
    )
    cells = ["", "%%bash\nls", "from torch.nn import functional as F", "def half(x): F.softmax"]
    namespace = {"half": lambda x: x, "In": cells}
    result = check_namespace("half", namespace, here)
    assert result.standing is Standing.FIX
    assert "uses torch.nn.functional.softmax" in result.tests[0].message


@pytest.mark.parametrize(
    ("name", "words"),
    [("test_rows_sum_to_one", "rows sum to one"), ("test_sizes[2-3]", "sizes [2-3]")],
)
def test_a_tests_name_is_shown_as_words(name: str, words: str) -> None:
    assert readable(name) == words


def run_notebook(path: Path) -> list[Any]:
    """Runs a notebook, in which no cell may fail; returns the outputs of its check cells."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    assert not [
        o for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"
    ]
    return [
        output for cell in notebook.cells if cell.id.startswith("check_") for output in cell.outputs
    ]


def test_the_released_notebook_runs_as_stub_and_solved(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    shown = [output.data["text/plain"] for output in run_notebook(folder / "sums.ipynb")]
    stubs = [text.partition(", as it ran")[0] for text in shown]
    assert stubs == ["○ plus_one: not implemented yet", "○ Layer: not implemented yet"]
    source = json.loads((root / "build/source/basics/sums.ipynb").read_text())
    assert STUB not in json.dumps(source)
    (folder / "sums.ipynb").write_text(json.dumps(source))
    solved = run_notebook(folder / "sums.ipynb")
    assert [output.output_type for output in solved] == ["display_data"] * 2
    assert all("all checks passed" in output.data["text/html"] for output in solved)


def test_checks_import_nothing_of_the_grader(
    here: Path, solve: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from autograder.student import check; check('half');"
        "rooms = ('grading', 'sandbox', 'authoring', 'gradebook', 'feedback');"
        "print([name for name in sys.modules for room in rooms"
        " if name.startswith('autograder.' + room)])"
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_an_answer_in_another_file_is_reported_in_a_notebook(here: Path) -> None:
    (here / "own.py").write_text("def part(x):\n    return x / 2\n")
    cell = "from own import part\n\ndef half(x):\n    return part(x)"
    namespace: dict[str, Any] = {"half": lambda x: x / 2, "In": ["", cell]}

    result = check_namespace("half", namespace, here)

    assert result.standing is Standing.FIX
    assert "imports 'own', another file of yours" in result.tests[0].message


def test_a_repeated_call_that_fails_shows_the_students_lines_only(here: Path) -> None:
    namespace: dict[str, Any] = {"retry": retry}
    exec(compile("def half(x):\n    return x.no_such_thing", "a_cell", "exec"), namespace)
    with pytest.raises(AttributeError) as failure:
        exec(compile('retry("half")', "another_cell", "exec"), namespace)
    files = [Path(str(entry.path)).name for entry in failure.traceback]
    assert files[-1] == "a_cell"
    assert files.count("notebook_tools.py") == 1 and "execution.py" not in files


def test_a_repeated_call_hides_the_package_below_the_answer(here: Path) -> None:
    namespace: dict[str, Any] = {"retry": retry}
    watching = str(Path(autograder.student.__file__).parents[1] / "worker" / "devices.py")
    exec(compile("def watched(x):\n    raise ValueError('moved')", watching, "exec"), namespace)
    exec(compile("def half(x):\n    return watched(x)", "a_cell", "exec"), namespace)
    with pytest.raises(ValueError, match="moved") as failure:
        exec(compile('retry("half")', "another_cell", "exec"), namespace)
    assert Path(str(failure.traceback[-1].path)).name == "a_cell"


def test_a_repeated_call_hides_torch_above_the_package(here: Path) -> None:
    watching = str(Path(autograder.student.__file__).parents[1] / "worker" / "devices.py")
    deeper: dict[str, Any] = {}
    exec(compile("def watched(x):\n    raise ValueError('moved')", watching, "exec"), deeper)
    exec(compile("def inner(x):\n    return watched(x)", "_compile.py", "exec"), deeper)
    namespace: dict[str, Any] = {"retry": retry, "inner": deeper["inner"]}
    exec(compile("def half(x):\n    return inner(x)", "a_cell", "exec"), namespace)
    with pytest.raises(ValueError, match="moved") as failure:
        exec(compile('retry("half")', "another_cell", "exec"), namespace)
    assert [Path(str(entry.path)).name for entry in failure.traceback][-1] == "a_cell"


def test_a_repeated_call_keeps_lines_of_a_failing_library(here: Path) -> None:
    library: dict[str, Any] = {}
    exec(compile("def inner(x):\n    raise ValueError('own')", "library.py", "exec"), library)
    namespace: dict[str, Any] = {"retry": retry, "inner": library["inner"]}
    exec(compile("def half(x):\n    return inner(x)", "a_cell", "exec"), namespace)
    with pytest.raises(ValueError, match="own") as failure:
        exec(compile('retry("half")', "another_cell", "exec"), namespace)
    assert Path(str(failure.traceback[-1].path)).name == "library.py"


def test_a_long_result_is_short_only_below_its_cell(here: Path) -> None:
    cells = [
        "import torch\nfrom autograder.student import retry",
        "def half(x):\n    return torch.zeros(60, 2)",
        'again = retry("half")\nprint(again)\nagain',
        "again",
    ]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(here)}}).execute()
    printed, below = notebook.cells[2].outputs
    (later,) = notebook.cells[3].outputs
    lines = below["data"]["text/plain"].splitlines()

    assert len(lines) == 21
    assert lines[10] == '... 40 more lines: print(retry("half")) shows them'
    assert len(printed["text"].splitlines()) == 60
    assert later["data"]["text/plain"] == printed["text"].strip()


def test_long_names_break_on_a_narrow_page() -> None:
    page = as_html(CheckedQuestion("a_question_with_a_long_name", Standing.PASSED))
    assert "overflow-wrap:anywhere" in page.partition(">")[0]


def test_a_result_below_an_edited_cell_is_not_green() -> None:
    page = as_html(CheckedQuestion("half", Standing.PASSED, ran="In[7]"))
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert ".jp-mod-dirty + .jp-Cell div:has(> div > .autograder-ran){border-left-color:" in style
    assert "this result is for the earlier code" in style
    assert '<span class="autograder-ran">, as it ran in In[7]</span></div>' in page
