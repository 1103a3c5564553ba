"""A test supports each claim in docs/students.md, and the page's pictures exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "students.md"
STUDENT = "tests/autograder/student"
#: for a part of each sentence in the text, the test that would fail if the sentence were untrue
CLAIMS = {
    "a folder for each assignment": (
        "tests/autograder/authoring/test_release.py::test_a_release_holds_notebooks"
    ),
    "The hours are computed": (
        "tests/autograder/authoring/test_course_map.py::test_more_words_take_more_minutes"
    ),
    "parts that it needs from earlier ones are imported": (
        "tests/autograder/parts/test_parts.py::test_a_class_computes_what_its_solution_does"
    ),
    "submit a file `regrade_request.txt`": (
        "tests/autograder/collecting/test_corrections.py"
        "::test_a_request_is_not_a_submission_and_makes_nobody_late"
    ),
    "It does not count as a new attempt": (
        "tests/autograder/collecting/test_corrections.py::test_a_request_with_a_new_answer_leaves"
    ),
    "the answer is on your next feedback page": (
        "tests/autograder/exports/test_marking.py::test_an_issue_becomes_one_row_and_its_answer"
    ),
    "names the question and": (
        "tests/autograder/collecting/test_corrections.py::test_many_requests_in_one"
    ),
    "An error names the file or cell": f"{STUDENT}/test_mistakes.py::test_a_mistake_is_explained",
    "You can repeat the failing call": (
        f"{STUDENT}/test_one_failure_at_a_time.py::test_the_commands_show_all_failures"
    ),
    "failures with the same cause are shown once": (
        f"{STUDENT}/test_one_failure_at_a_time.py::test_the_first_failure_is_shown_and_the_others"
    ),
    "shows the rest": (
        f"{STUDENT}/test_one_failure_at_a_time.py::test_a_notebook_folds_what_comes_after"
    ),
    "The first failure is shown in full": (
        f"{STUDENT}/test_one_failure_at_a_time.py::test_a_notebook_folds_what_comes_after"
    ),
    "Most messages": f"{STUDENT}/test_messages_page.py::test_the_page_is_what_the_program_says",
    "`--plain` writes only text": f"{STUDENT}/test_watch.py::test_a_plain_watch_draws_nothing",
    "`NO_COLOR` is respected": f"{STUDENT}/test_terminals.py::test_no_escape_is_sent",
    "cannot show a symbol, a plain": f"{STUDENT}/test_terminals.py::test_a_stream_that_lacks",
    "for more than ten seconds is stopped": f"{STUDENT}/test_time_limit.py::test_a_loop_ends",
    "Checks refuse everything that grading refuses": (
        "tests/autograder/grading/test_what_check_refuses.py::test_check_refuses_what_grading"
    ),
    "Each question is judged alone": (
        f"{STUDENT}/mistakes/sandbox.toml::code outside of an answer may write"
    ),
    "as long as no answer needs its result": (
        f"{STUDENT}/mistakes/sandbox.toml::an answer uses a file that is read above it"
    ),
    "asks for input is stopped": f"{STUDENT}/mistakes/code.toml::input() in an answer",
    "on your own computer, without a sandbox": f"{STUDENT}/test_notebook.py::test_checks_import",
    "says what to do if there is neither": (
        f"{STUDENT}/test_places_to_work.py::test_a_notebook_alone_says_what_to_put_next_to_it"
    ),
    "even on a phone": (
        "tests/autograder/attention/test_pictures.py::test_a_comparison_is_no_wider_than_a_phone"
    ),
    "a notebook needs only the bundle": f"{STUDENT}/test_places_to_work.py::test_the_bundle_is",
    "Below a right answer there is a folded": (
        "tests/autograder/authoring/test_notebooks.py::test_every_question_has_a_text_for_afterw"
    ),
    "Pictures have a transparent background": (
        "tests/autograder/attention/test_pictures.py::test_jupyter_puts_no_box_behind_a_picture"
    ),
    "The last code cell uses what you have built": (
        "tests/autograder/authoring/test_notebooks.py::test_a_solved_notebook_passes_every_check"
    ),
    "which words of a line look at which others": (
        "tests/autograder/authoring/test_notebooks.py::test_every_claim_of_a_text_holds"
    ),
    "from 810 small sentences": (
        "tests/autograder/attention/test_at_work.py::test_each_pronoun_is_that_of_its_person"
    ),
    "arrows show where each of its heads looks": (
        "tests/autograder/attention/test_at_work.py::test_heads_have_a_colour_each"
    ),
    "turns your decoder block into a small language model": (
        "tests/autograder/attention/test_own.py::test_the_capstone_runs_from_top_to_bottom"
    ),
    "it trains for a minute or two": (
        "tests/autograder/attention/test_own.py::test_the_capstone_runs_from_top_to_bottom"
    ),
    "next to a known curve": (
        "tests/autograder/authoring/test_notebooks.py::test_every_claim_of_an_extra_holds"
    ),
    "which head looks up names": (
        "tests/autograder/authoring/test_notebooks.py::test_every_claim_of_an_extra_holds"
    ),
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
        f"{STUDENT}/test_trace.py::test_each_line_has_the_shapes_that_it_gave_names"
    ),
    "to see your result next to the expected one": (
        "tests/autograder/attention/test_pictures.py::test_cells_that_differ_have_a_frame"
    ),
    "an explanation of the reference solution, once your answer is right": (
        "tests/autograder/authoring/test_notebooks.py::test_every_question_has_a_text_for_afterw"
    ),
    "a second star, for an answer without a loop, without `@`, or in one line": (
        f"{STUDENT}/test_stars.py::test_a_star_is_offered_and_earned_in_a_folder"
    ),
    "the code of two other right answers, and what they cost, after submission": (
        "tests/autograder/authoring/test_ways.py::test_ways_are_in_bundles_only"
    ),
    "to see your attention at work": (
        "tests/autograder/attention/test_at_work.py::test_name_tags_show_the_weights_of_a_layer"
    ),
    "to guess before you run the code, and to find other people's mistakes": (
        "tests/autograder/authoring/test_notebooks.py::test_a_notebook_has_a_guess_and_something"
    ),
    "to point at a word and see where it looks": (
        "tests/autograder/attention/test_attention_view.py::test_the_page_has_every_weight"
    ),
    "progress, points, what to submit": (
        "tests/autograder/student/test_folder.py"
        "::test_status_names_the_first_exercise_that_is_not_finished"
    ),
}
#: the beginnings of sentences that claim nothing, because they describe the page or give advice
NO_CLAIM = ("This page describes", "You need Python", "You learn PyTorch", "Run them only on")


def test_each_test_that_the_table_names_is_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_each_picture_is_there_and_small() -> None:
    pictures = re.findall(r"\((images/[^)]+)\)", PAGE.read_text(encoding="utf-8"))
    sizes = {name: (PAGE.parent / name).stat().st_size for name in pictures}
    assert len(sizes) == 3
    assert max(sizes.values()) < 200_000


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
    """Returns the sentences outside tables, up to the comparison, whose rows name their tests."""
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
