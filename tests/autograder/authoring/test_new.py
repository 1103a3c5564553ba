"""`autograder new` writes all files for an exercise, and every place to fill in is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import autograder
from autograder.authoring import release
from autograder.course import load_course, refuse_unfinished
from autograder.course.points import points_by_question
from autograder.errors import ContentError, UserError
from autograder.operations.course_content import check_release
from autograder.operations.expected import differences, expected_text


def test_a_question_is_added_and_existing_text_is_not_changed(root: Path) -> None:
    solution = root / "solutions" / "basics" / "sums.py"
    before = solution.read_text()
    made = autograder.new("basics", "sums", ["plus_two"], course=root)
    assert solution.read_text().startswith(before.rstrip("\n"))
    assert root / "tests" / "alternatives" / "basics" / "sums.py" in made.written
    assert [q.name for q in load_course(root).assignments[0].exercises[0].questions][-1] == (
        "plus_two"
    )
    with pytest.raises(UserError, match="plus_two already exists"):
        autograder.new("basics", "sums", ["plus_two"], course=root)


def test_a_new_exercise_is_the_last_of_its_assignment(root: Path) -> None:
    autograder.new("basics", "thirds", ["third", "Layer3"], course=root)
    (assignment,) = load_course(root).assignments
    assert [exercise.name for exercise in assignment.exercises] == ["sums", "halves", "thirds"]
    third, layer = assignment.exercises[-1].questions
    assert (third.is_class, layer.is_class) == (False, True)


@pytest.mark.parametrize("name", ["class", "two words", "1st", "_hidden", "../up", ""])
def test_a_name_invalid_in_python_is_refused_before_writing(root: Path, name: str) -> None:
    before = sorted(root.rglob("*"))
    for names in [(name, "thirds", []), ("basics", name, []), ("basics", "thirds", [name])]:
        with pytest.raises(UserError, match="is not a valid Python name"):
            autograder.new(*names, course=root)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("names", [("def", "thirds", []), ("basics", "thirds", ["class"])])
def test_a_keyword_as_a_name_is_called_a_keyword(
    root: Path, names: tuple[str, str, list[str]]
) -> None:
    with pytest.raises(UserError, match="it is a keyword of Python; choose a different name"):
        autograder.new(*names, course=root)


@pytest.mark.parametrize(
    ("assignment", "exercise", "words"),
    [
        ("Basics", "thirds", "Basics differs from basics only in upper and lower case: use basics"),
        ("basics", "Halves", "Halves differs from halves only in upper and lower case: use halves"),
    ],
)
def test_names_that_differ_only_in_case_are_refused(
    root: Path, assignment: str, exercise: str, words: str
) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(UserError, match=words):
        autograder.new(assignment, exercise, course=root)
    assert sorted(root.rglob("*")) == before


def test_a_folder_of_other_things_does_not_become_a_course(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match=r"it contains thesis\.tex. Go to an empty folder"):
        autograder.new("a", "b", course=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("missing", "what"),
    [
        ("tests/hidden/basics/test_halves.py", "no hidden suite"),
        ("tests/public/basics/test_halves.py", "no public suite"),
        ("source/basics/halves.md", "no text"),
    ],
)
def test_a_missing_file_is_named_with_its_path(root: Path, missing: str, what: str) -> None:
    (root / missing).unlink()
    solution = root / "solutions" / "basics" / "halves.py"
    solution.write_text(f"# TO DO: more\n{solution.read_text()}")
    with pytest.raises(ContentError, match=what) as error:
        autograder.validate(["basics/halves"], course=root)
    assert error.value.path == root / missing
    assert "autograder new basics/halves writes one to fill in" in error.value.fix
    course = load_course(root)
    refuse_unfinished(course, [])


@pytest.mark.parametrize("exercise", ["sums", "halves"])
@pytest.mark.parametrize(
    "missing",
    [["tests/public/basics/test_{}.py"], ["tests/hidden/basics/test_{}.py", "source/basics/{}.md"]],
)
def test_new_writes_only_the_missing_files(root: Path, exercise: str, missing: list[str]) -> None:
    paths = [root / name.format(exercise) for name in missing]
    for path in paths:
        path.unlink()
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    made = autograder.new("basics", exercise, course=root)

    assert list(made.written) == paths
    assert {path: path.read_bytes() for path in before} == before
    course = load_course(root)
    with pytest.raises(ContentError, match="to do"):
        refuse_unfinished(course, course.assignments)
    for path in paths:
        if path.suffix == ".py":
            (content,) = (e for e in course.assignments[0].exercises if e.name == exercise)
            assert list(points_by_question(content, path)) == [q.name for q in content.questions]
    with pytest.raises(UserError, match=f"basics/{exercise} already exists: use --question NAME"):
        autograder.new("basics", exercise, course=root)


def test_grading_with_a_missing_hidden_suite_names_the_author(root: Path) -> None:
    from autograder.grading.judging.suites import collect_suites

    suite = root / "tests" / "hidden" / "basics" / "test_halves.py"
    suite.unlink()
    with pytest.raises(ContentError, match=r"test_halves\.py: no hidden suite"):
        collect_suites(root, [suite])
    suite.write_text("import nothing_such\n")
    with pytest.raises(ContentError, match=r"_halves\.py:1: can't be imported: .*nothing_such'\n"):
        collect_suites(root, [suite])
    suite.write_text("import pytest\ndef test_it(:\n")
    with pytest.raises(ContentError) as error:
        collect_suites(root, [suite])
    assert str(error.value) == f"{suite}:2: not valid Python: invalid syntax\n  fix: fix the line"
    suite.write_text('"""Nothing yet."""\n')
    with pytest.raises(ContentError, match=r"test_halves\.py: the suite has no tests"):
        collect_suites(root, [suite])


def test_scores_of_the_example_class_are_compared_by_question() -> None:
    before = {"ada": {"basics": {"halves": {"half": [2.0, "correct"]}}}}
    after = {"ada": {"basics": {"halves": {"half": [0.0, "wrong"]}}}}
    assert list(differences(before, before)) == []
    (line,) = differences(before, after)
    assert line == "ada/basics/halves/half: was [2.0, 'correct'], is [0.0, 'wrong']"
    assert '   "halves": {"half": [0.0, "wrong"]}' in expected_text(after)


def _files(root: Path) -> list[Path]:
    """Returns all files except Python's compiled files."""
    return sorted(path for path in root.rglob("*") if "__pycache__" not in path.parts)


def test_a_read_only_course_is_checked_but_not_released(root: Path) -> None:
    (root / "build").write_text("no folder can be made here")
    before = _files(root)
    assert check_release(course=root).not_fresh
    with pytest.raises(UserError, match="build: can't be written"):
        autograder.release(course=root)
    assert _files(root) == before


#: strings that `new` has written, each with an author's replacement, by file
FILLED_IN = {
    "solutions/basics/halves.py": [
        (r"def third\(\):", "def third(x: float) -> float:"),
        (r"TO DO: what it does.*raises\.", "A third of x."),
        (r"raise NotImplementedError  # TO DO.*", "return x / 3.0"),
    ],
    "tests/hidden/basics/test_halves.py": [
        (r'"third", \[\], None, likely="..."', '"third", [12.0], 4.0, likely="three parts of four"')
    ],
    "tests/public/basics/test_halves.py": [
        (r'"third", \[\], None, likely="..."', '"third", [6.0], 2.0, likely="three parts of two"')
    ],
    "source/basics/halves.md": [(r"TO DO: the question.*", "A third.")],
    "source/basics/hints.toml": [(r"TO DO: a hint[^\"]*", "Into how many parts?")],
    "source/basics/afterwards.toml": [(r"TO DO: how the reference[^\"]*", "x / 3.")],
    "tests/misconceptions/basics/halves.py": [
        (r'confuses="..."', 'confuses="a third with three times as much"'),
        (r"third_that_is_wrong\(\):\n    raise.*", "three_times(x):\n    return x * 3.0"),
    ],
    "tests/alternatives/basics/halves.py": [
        (r"third_in_another_way\(\):\n    raise.*", "product(x):\n    return x * (1 / 3.0)"),
    ],
}


def _fill_in(root: Path) -> None:
    """Completes everything that `autograder new` left to do in the exercise `third`."""
    for path, answers in FILLED_IN.items():
        file = root / path
        text = re.sub(r"^ *# TO DO.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for old, new in answers:
            text, count = re.subn(old, new, text)
            assert count == 1, f"{path} has {count} times {old!r}"
        file.write_text(text, encoding="utf-8")


def test_a_question_is_added_completed_and_valid_in_one_round(root: Path, wheel: Path) -> None:
    source = root / "source" / "basics"
    compared = 'plus_one = "x + 1."\nLayer = "x * weight."\nhalf = "x / 2."\n'
    (source / "afterwards.toml").write_text(compared, encoding="utf-8")
    with (source / "halves.md").open("a", encoding="utf-8") as page:
        page.write("\n<details>What is wrong</details>\n\n## Questions for thought\n")
    autograder.new("basics", "halves", ["third"], course=root)
    text = (source / "halves.md").read_text(encoding="utf-8")
    order = [text.index(part) for part in ("What is wrong", "## `third`", "## Questions")]
    assert order == sorted(order)
    with pytest.raises(ContentError) as raised:
        autograder.validate(["basics/halves"], course=root)
    listed = str(raised.value)
    assert all(f"{path}:" in listed for path in FILLED_IN)
    with pytest.raises(ContentError, match="to do"):
        autograder.release(["basics"], course=root)

    _fill_in(root)
    release(load_course(root), wheel=wheel)
    report = autograder.validate(["basics/halves"], course=root)

    assert [text for text in report.problems if "third" in text] == []
    assert [item.caught for item in report.questions if item.question == "third"] == [2]
    text = (source / "halves.md").read_text(encoding="utf-8")
    assert text.index(":question: third") < text.index("## Questions for thought")


def test_modules_for_a_new_question_are_imported_once(root: Path) -> None:
    autograder.new("basics", "sums", ["plus_two"], course=root)
    autograder.new("basics", "sums", ["plus_three"], course=root)

    text = (root / "tests" / "hidden" / "basics" / "test_sums.py").read_text(encoding="utf-8")
    assert text.count("from autograder.suite.traits import NO_TENSORS, Traits") == 1
    assert "PLUS_TWO = Traits(" in text and "PLUS_THREE = Traits(" in text
    compile(text, "test_sums.py", "exec")


def test_a_question_without_a_comparison_says_how_to_write_one(root: Path, wheel: Path) -> None:
    path = root / "source" / "basics" / "afterwards.toml"
    path.write_text('plus_one = "x + 1."\nLayer = "x * weight."\n', encoding="utf-8")
    with pytest.raises(ContentError) as error:
        release(load_course(root), wheel=wheel)
    assert (error.value.problem, error.value.fix) == ("no text for half", 'add half = "..."')
    path.write_text(path.read_text() + error.value.fix.removeprefix("add ") + "\n")
    release(load_course(root), wheel=wheel)
