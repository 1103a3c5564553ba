"""A test supports each claim in docs/students.md, and the page's pictures exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from autograder.student import as_text
from autograder.student.notebook_tools import check_namespace
from tools.screenshots import ANSWERS, ASSIGNMENT, SHOTS

ROOT = Path(__file__).parents[3]
PAGE, IMAGES = ROOT / "docs" / "students.md", ROOT / "docs" / "images"
STUDENT, ATTENTION = "tests/autograder/student", "tests/autograder/attention"
NOTEBOOKS = "tests/autograder/authoring/test_notebooks.py"
RELEASE, MAP = (f"tests/autograder/authoring/test_{name}.py" for name in ("release", "course_map"))
FAILURES = f"{STUDENT}/test_one_failure_at_a_time.py"
CORRECTIONS = "tests/autograder/collecting/test_corrections.py"
MARKING = "tests/autograder/exports/test_marking.py"
#: for a part of each sentence in the text, the test that would fail if the sentence were untrue
CLAIMS = {
    "For each assignment, you get a folder": f"{RELEASE}::test_a_release_holds_notebooks",
    "`nn.Module` is explained where it is first used": (
        f"{NOTEBOOKS}::test_a_module_is_explained_before_the_first_one"
    ),
    "The hours are computed": (
        f"{MAP}::test_more_words_cells_questions_and_lines_take_more_minutes"
    ),
    "You can do each assignment without the others": (
        f"{RELEASE}::test_the_released_folder_needs_nothing_of_the_course"
    ),
    "parts that it needs from earlier assignments are imported": (
        "tests/autograder/parts/test_parts.py::test_a_class_computes_what_its_solution_does"
    ),
    "a file `regrade_request.txt`": f"{CORRECTIONS}::test_a_request_is_not_a_submission",
    "name the question in it": f"{MARKING}::test_a_file_names_its_question",
    "does not count as a new attempt": f"{CORRECTIONS}::test_a_request_is_not_a_submission",
    "costs nothing; ": f"{MARKING}::test_a_file_names_its_question_and_a_refusal_costs_nothing",
    "on your next feedback page": f"{MARKING}::test_an_issue_becomes_one_row_and_its",
    "names the file or cell": f"{STUDENT}/test_mistakes.py::test_a_mistake_is_explained",
    "You can repeat the failing call": f"{FAILURES}::test_the_repeated_call_has_the_numbers",
    "paste it into a cell": f"{STUDENT}/test_true_messages.py::test_a_call_to_try_runs",
    "The first failure is shown in full": f"{FAILURES}::test_the_first_failure_is_shown_and_the",
    "failures with the same cause are shown only once": (
        f"{FAILURES}::test_the_first_failure_is_shown_and_the_others"
    ),
    "`--all`, ": f"{FAILURES}::test_all_failures_are_shown_on_request",
    "click in the notebook": f"{FAILURES}::test_a_notebook_folds_what_comes_after",
    "Most messages": f"{STUDENT}/test_messages_page.py::test_the_page_is_what_the_program_says",
    "writes only plain text": f"{STUDENT}/test_watch.py::test_a_plain_watch_draws_nothing",
    "`NO_COLOR` turns off colors": f"{STUDENT}/test_terminals.py::test_no_escape_is_sent",
    "show a symbol, it is replaced": f"{STUDENT}/test_terminals.py::test_a_stream_that_lacks",
    "for more than ten seconds is stopped": f"{STUDENT}/test_time_limit.py::test_a_loop_ends",
    "asks for input is stopped": f"{STUDENT}/mistakes/code.toml::input() in an answer",
    "`check` judges a cell as it was when it last ran": (
        f"{STUDENT}/mistakes/cells.toml::the cell was changed, but neither saved nor run"
    ),
    "the result below an edited cell is orange": (
        f"{STUDENT}/test_notebook.py::test_a_result_below_an_edited_cell_is_not_green"
    ),
    "Checks refuse everything that grading refuses": (
        "tests/autograder/grading/test_what_check_refuses.py::test_check_refuses_what_grading"
    ),
    "Each question is judged separately": (
        f"{STUDENT}/mistakes/sandbox.toml::code outside of an answer may write"
    ),
    "does one of these things costs no points": (
        f"{STUDENT}/mistakes/sandbox.toml::code outside of an answer may connect, start and print"
    ),
    "as long as no answer needs its result": (
        f"{STUDENT}/mistakes/sandbox.toml::an answer uses a file that is read above it"
    ),
    "`check` and `watch` execute the file": (
        f"{STUDENT}/test_watch.py::test_a_watched_file_runs_without_a_sandbox"
    ),
    "without a sandbox and with all of your permissions": (
        f"{STUDENT}/test_folder.py::test_a_file_runs_without_a_sandbox"
    ),
    "a notebook needs only the bundle": f"{STUDENT}/test_places_to_work.py::test_the_bundle_is",
    "or in the unzipped folder next to the notebook": (
        f"{STUDENT}/test_places_to_work.py::test_the_bundle_is_enough"
    ),
    "says what to do if it finds neither": (
        f"{STUDENT}/test_places_to_work.py::test_a_notebook_alone_says_what_to_put_next_to_it"
    ),
    "Below a correct answer, there is a folded": (
        f"{STUDENT}/test_notebook.py::test_explanation_other_solutions_and_star_follow"
    ),
    "Pictures have a transparent background": (
        f"{ATTENTION}/test_pictures.py::test_jupyter_puts_no_box_behind_a_picture"
    ),
    "even on a phone": (f"{ATTENTION}/test_pictures.py::test_a_comparison_fits_on_a_phone"),
    "the last code cell uses what you have built": (
        f"{NOTEBOOKS}::test_the_last_cell_of_five_assignments_uses_an_answer"
    ),
    "which words of a line look at which other words": (
        f"{NOTEBOOKS}::test_the_last_cell_of_five_assignments_uses_an_answer"
    ),
    "within a few seconds": f"{NOTEBOOKS}::test_a_solved_notebook_is_quick",
    "from 810 short sentences": f"{ATTENTION}/test_at_work.py::test_each_pronoun_fits_its_person",
    "to find the right pronouns": f"{ATTENTION}/test_at_work.py::test_a_part_learns_pronouns",
    "arrows show where each of its heads looks": (
        f"{ATTENTION}/test_at_work.py::test_heads_have_a_colour_each"
    ),
    "turns your decoder block into a small language model": (
        f"{ATTENTION}/test_own.py::test_the_capstone_runs_from_top_to_bottom"
    ),
    "The model trains for a minute or two": (
        f"{ATTENTION}/test_own.py::test_the_capstone_runs_from_top_to_bottom"
    ),
    "next to a known curve": (
        f"{ATTENTION}/test_stories.py::test_training_begins_as_the_known_curve_does"
    ),
    "the lowest possible loss": (
        f"{ATTENTION}/test_stories.py::test_no_model_can_be_surprised_less_than_the_grammar"
    ),
    "Your block also runs a larger model": (
        f"{ATTENTION}/test_stories.py::test_a_students_block_gives_the_same_numbers"
    ),
    "trained weights are in the folder": (
        f"{ATTENTION}/test_stories.py::test_the_bundle_has_weights"
    ),
    "which head looks up names": f"{NOTEBOOKS}::test_every_claim_of_an_extra_holds",
}
#: for the first cell of each row in the table of tools, the test that would fail if the row were
#: untrue
TOOLS = {
    "to know whether an answer is right": f"{STUDENT}/test_notebook.py::test_a_right_answer_passes",
    "a hint, one at a time": f"{STUDENT}/test_hints.py::test_hints_come_one_at_a_time_and_end",
    "the failing call again, with the same numbers and weights": (
        f"{STUDENT}/test_one_failure_at_a_time.py::test_the_repeated_call_has_the_numbers"
    ),
    "the shapes in each line of your function": (
        f"{STUDENT}/test_trace.py::test_each_line_shows_the_shapes_that_it_assigns"
    ),
    "to see your result next to the expected one": (
        "tests/autograder/attention/test_pictures.py::test_cells_that_differ_have_a_frame"
    ),
    "an explanation of the reference solution, once your answer is right": (
        f"{FAILURES}::test_an_explanation_and_a_star_follow_a_right_answer"
    ),
    "a second star, for an answer without a loop, without `@`, or in one line": (
        f"{STUDENT}/test_stars.py::test_a_star_is_offered_and_earned_in_a_folder"
    ),
    "the code of two other correct answers, and what they cost, after submission": (
        "tests/autograder/authoring/test_ways.py::test_ways_are_in_bundles_only"
    ),
    "to see your attention at work": (
        f"{NOTEBOOKS}::test_the_last_cell_of_five_assignments_uses_an_answer"
    ),
    "to guess a result before you run the code, and to find other people's mistakes": (
        "tests/autograder/authoring/test_notebooks.py::test_a_notebook_has_a_guess_and_something"
    ),
    "to point at a word and see which words it looks at": (
        f"{ATTENTION}/test_attention_view.py::test_the_view_follows_the_pointer"
    ),
    "progress, points, what to submit": (
        f"{STUDENT}/test_folder.py::test_the_command_shows_progress_points_and_what_to_submit"
    ),
}
#: the beginnings of sentences that claim nothing, because they describe the page or give advice
NO_CLAIM = ("This page describes", "You need to know Python", "Run them only on")


def test_each_test_that_the_table_names_is_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_each_picture_is_there_and_small() -> None:
    pictures = re.findall(r"\((images/[^)]+)\)", PAGE.read_text(encoding="utf-8"))
    sizes = {name: (PAGE.parent / name).stat().st_size for name in pictures}
    assert len(sizes) == 3
    assert max(sizes.values()) < 200_000


def test_the_pictures_answers_give_what_their_captions_say() -> None:
    wrong, right = (_checked_answer(name) for name in ("attention_scores", "query_scores"))
    for part in ("attention_scores(", "got ", "expected ", "to try it: attention_scores(torch"):
        assert part in wrong
    assert "query_scores: all checks passed" in right
    notebook = ROOT / "assignments" / ASSIGNMENT / "scores.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    for shot in SHOTS:
        (first,) = [n for n, source in enumerate(sources) if source.startswith(shot.text)]
        shown = sources[first : first + shot.cells]
        assert shot.cells == 1 or "side_by_side(" in shown[-1]
    assert {shot.file for shot in SHOTS} == {path.name for path in IMAGES.glob("student-*.png")}


def _checked_answer(question: str) -> str:
    """Returns the result of an answer that is shown in a picture."""
    _, line = ANSWERS[question]
    names: dict[str, object] = {}
    arguments = "inputs, query" if question == "query_scores" else "queries, keys"
    exec(f"def {question}({arguments}):\n    {line}\n", names)
    return as_text(check_namespace(question, names, ROOT / "assignments" / ASSIGNMENT))


def test_each_row_has_a_cell_for_every_kit() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| feature |")[2].splitlines()
    rows = [line for line in table if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {7}


def test_each_feature_that_is_here_names_its_test() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| feature |")[2].splitlines()[2:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table if line]
    assert len(rows) > 20
    assert [row[0] for row in rows if row[1] != "no" and "`tests/" not in row[-1]] == []


def sentences() -> list[str]:
    """Returns the sentences before the comparison, without the tables, whose rows name tests."""
    text = PAGE.read_text(encoding="utf-8").partition("## Compared with")[0]
    text = re.sub(r"\]\([^)]*\)", "]", text).replace("[Most messages]", "Most messages")
    paragraphs = [part for part in text.split("\n\n") if not part.startswith(("#", "|", "!["))]
    joined = [" ".join(part.split()) for part in paragraphs]
    return [one for part in joined for one in re.split(r"(?<=[.])\s+(?=[A-Z`])", part) if one]


def test_every_sentence_is_supported_by_a_test() -> None:
    stated = [one for one in sentences() if not one.startswith(NO_CLAIM)]
    parts = [part for one in stated for part in one.split("; ")]
    free = [part for part in parts if not any(piece in part for piece in CLAIMS)]
    assert free == []


def test_every_claim_is_in_the_text_and_its_test_exists() -> None:
    text = " ".join(sentences())
    assert [piece for piece in CLAIMS if piece not in text] == []
    for place in [*CLAIMS.values(), *TOOLS.values()]:
        path, _, name = place.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {name}" in source or f'name = "{name}"' in source, place


def test_every_tool_is_supported_by_a_test() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## The tools")[2].partition("If you")[0]
    rows = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[1:]
    assert rows == list(TOOLS)


def test_every_tool_of_the_table_exists() -> None:
    from click.testing import CliRunner

    from autograder import student
    from autograder.cli import cli

    table = PAGE.read_text(encoding="utf-8").partition("## The tools")[2].partition("If you")[0]
    assert {name for name in re.findall(r"`(\w+)\(", table)} <= set(student.__all__)
    for command in set(re.findall(r"`autograder (\w+)", table)):
        result = CliRunner().invoke(cli, [command, "--help"])
        assert result.exit_code == 0
        for option in re.findall(rf"`autograder {command}[^`]*?(--\w+)", table):
            assert option in result.output
