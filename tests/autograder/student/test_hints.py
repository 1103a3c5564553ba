"""`autograder hint` shows the released hints of `hints.toml` one at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.authoring import release
from autograder.cli import cli
from autograder.course import load_course
from autograder.errors import ContentError, UserError
from autograder.student import Hint, hint, next_hint

Edit = Callable[[str, str, str], None]
FIRST, SECOND = "What is one more than two?", "Add a `1`."


def test_hints_come_one_at_a_time_and_end(folder: Path) -> None:
    assert next_hint(folder, "sums") == Hint("sums", "plus_one", 1, 2, FIRST)
    assert next_hint(folder, "sums") == Hint("sums", "plus_one", 2, 2, SECOND)
    last = next_hint(folder, "sums")
    assert (last.text, last.why) == ("", "you have seen all hints for this question")


def test_again_starts_with_the_first_hint(folder: Path) -> None:
    next_hint(folder, "sums")
    assert next_hint(folder, "sums", again=True).text == FIRST
    assert next_hint(folder, "sums").text == SECOND


def test_a_hint_is_for_the_first_question_not_passed(folder: Path) -> None:
    module = folder / "sums.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("raise NotImplementedError", "return x + 1.0", 1))
    assert next_hint(folder, "sums.py").question == "Layer"


def test_a_hint_can_be_requested_for_a_question(folder: Path) -> None:
    assert next_hint(folder, "Layer").text == "A weight is a parameter."


def test_a_name_of_both_means_the_question(tmp_path: Path) -> None:
    folder = tmp_path / "simplified_attention"
    shutil.copytree(Path(__file__).parents[3] / "assignments" / folder.name, folder)
    assert next_hint(folder, "softmax").question == "softmax"
    assert next_hint(folder, "softmax.py").question == "normalize_by_sum"


def test_no_hint_is_left_where_all_passes(folder: Path, solve: Callable[[str], None]) -> None:
    solve("halves")
    found = next_hint(folder, "halves")
    assert (found.question, found.text) == (None, "")
    assert found.why == "all questions of this exercise pass their checks"


def test_the_folder_remembers_shown_hints_by_question(folder: Path) -> None:
    next_hint(folder, "sums")
    next_hint(folder, "half")
    state = json.loads((folder / ".autograder.json").read_text(encoding="utf-8"))
    assert state == {"hints_shown": {"plus_one": 1, "half": 1}}


def test_an_unknown_name_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(UserError, match="'prods' here\n  the exercises are: sums, halves"):
        next_hint(folder, "prods")


@pytest.mark.parametrize("text", ["{", "[]", '{"hints_shown": 3}', '{"hints_shown": {"a": []}}'])
def test_a_damaged_record_of_hints_is_reported_with_a_remedy(folder: Path, text: str) -> None:
    (folder / ".autograder.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"\.autograder\.json is damaged: .*Delete it"):
        next_hint(folder, "sums")


def test_damaged_hints_are_named(folder: Path) -> None:
    (folder / "checks" / "hints.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UserError, match=r"hints\.json is damaged: .*course's bundle"):
        next_hint(folder, "sums")


def test_an_assignment_without_hints_says_so(folder: Path) -> None:
    (folder / "checks" / "hints.json").unlink()
    with pytest.raises(UserError, match=r"has no hints"):
        next_hint(folder, "sums")


def test_a_folder_that_is_no_assignment_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an assignment"):
        next_hint(tmp_path, "sums")


def test_the_command_says_which_hint_of_how_many(folder: Path) -> None:
    arguments = ["hint", "sums", "--folder", str(folder)]
    assert CliRunner().invoke(cli, arguments).output == (
        f"plus_one: hint 1 of 2\n{FIRST}\n"
        "Try this hint first; the same command shows the next one.\n"
    )
    assert CliRunner().invoke(cli, arguments).output == f"plus_one: hint 2 of 2\n{SECOND}\n"
    assert CliRunner().invoke(cli, arguments).output == (
        "plus_one: you have seen all hints for this question\n"
        "from the start: autograder hint sums --again\n"
    )


def test_the_command_prints_json(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["hint", "half", "--folder", str(folder), "--json"])
    assert json.loads(result.output) == {
        "exercise": "halves",
        "question": "half",
        "number": 1,
        "of": 1,
        "text": "How many halves has a whole?",
        "why": "",
    }


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('half = ["How many halves has a whole?"]', "", "no hints for half"),
        ('["A weight is a parameter."]', "[]", "no hints for Layer"),
        ('"A weight is a parameter."', "7", "a hint for Layer is 7"),
        ("half =", "hal =", "no question is called 'hal'"),
        ("half =", "half", "not valid TOML"),
    ],
)
def test_release_refuses_wrong_hints(
    root: Path, wheel: Path, edit: Edit, old: str, new: str, problem: str
) -> None:
    edit("source/basics/hints.toml", old, new)
    with pytest.raises(ContentError, match=rf"hints\.toml(:3)?: {problem}"):
        release(load_course(root), wheel=wheel)


def test_release_refuses_a_hint_that_shows_a_solution(root: Path, wheel: Path, edit: Edit) -> None:
    edit("source/basics/hints.toml", "Add a `1`.", "Write `return x / 2.0` there.")
    with pytest.raises(ContentError, match=r"checks/hints\.json.*a line of the solution"):
        release(load_course(root), wheel=wheel)


def test_an_assignment_may_have_no_hints(root: Path, wheel: Path) -> None:
    (root / "source" / "basics" / "hints.toml").unlink()
    release(load_course(root), wheel=wheel)
    assert not (root / "assignments" / "basics" / "checks" / "hints.json").exists()


def test_a_notebook_says_how_to_start_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for _ in range(3):
        hint("plus_one")
    hint("plus_one", again=True)
    output = capsys.readouterr().out
    assert 'all hints for this question\nfrom the start: hint("plus_one", again=True)' in output
    assert output.count("hint 1 of 2") == 2
