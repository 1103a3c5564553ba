"""A release is rejected no matter where a secret is planted in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.authoring import find_leaks, release
from autograder.course import Course, load_course
from autograder.errors import ContentError

Edit = Callable[[str, str, str], None]


def refused(root: Path, wheel: Path) -> str:
    """Returns the error message of a rejected release, which must not write anything."""
    with pytest.raises(ContentError) as caught:
        release(load_course(root), wheel=wheel)
    assert not (root / "assignments").exists()
    assert not (root / "dist").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("planted", "kind", "origin"),
    [
        ("    return  x*self.weight   # so", "a line of the solution", "solutions/basics/sums.py"),
        ("> `return x * self.weight`", "a line of the solution", "solutions/basics/sums.py"),
        (
            "Take `torch.nn.Parameter(torch.ones(size))`: write `self.weight = "
            "torch.nn.Parameter(torch.ones(size))`.",
            "a line of the solution",
            "solutions/basics/sums.py",
        ),
        ("return x / 2.0", "a line of the solution", "solutions/basics/halves.py"),
        ("as test_any_size_is_fine says", "the name of a hidden test", "test_sums.py:21"),
        (
            "every entry of the input grows by one,\nthe last one too",
            "a message from a hidden test",
            "test_sums.py:15",
        ),
        (
            "expect.same('plus_one', draw.normal(size, 4), likely='no size is written down in"
            " the code',)",
            "code from a hidden test",
            "test_sums.py:22",
        ),
        ("The result is [0.1234,0.5678].", "data from a hidden test", "test_sums.py:13"),
        ("twice_as_much = x + x\nreturn twice_as_much", "a known mistake", "sums.py:14"),
        (
            "adding and multiplying: the input is doubled",
            "a known mistake",
            "misconceptions/basics/sums.py:10",
        ),
    ],
)
def test_a_planted_leak_is_named_by_file_line_and_origin(
    root: Path, edit: Edit, wheel: Path, planted: str, kind: str, origin: str
) -> None:
    edit("source/basics/sums.md", "The end.", planted)
    message = refused(root, wheel)
    assert "assignments/basics/sums.ipynb:" in message
    assert kind in message
    assert origin in message


def test_the_line_is_that_of_the_released_file(root: Path, edit: Edit, wheel: Path) -> None:
    edit("tests/public/basics/test_halves.py", "import pytest\n", "import pytest\n# return x/2.0\n")
    assert "assignments/basics/checks/test_halves.py:2: a line of" in refused(root, wheel)


def test_a_notebooks_leak_has_the_line_of_its_json(
    course: Course, folder: Path, wheel: Path
) -> None:
    path = folder / "halves.ipynb"
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "raise NotImplementedError" in line)
    lines[number] = lines[number].replace("raise NotImplementedError", "return x / 2.0")
    path.write_text("\n".join(lines))
    (leak,) = find_leaks(course, wheel=wheel)
    assert str(leak).startswith(f"basics/halves.ipynb:{number + 1}: a line of the solution")


def test_a_stub_left_solved_is_found(course: Course, folder: Path, root: Path, wheel: Path) -> None:
    assert find_leaks(course, wheel=wheel) == ()
    folder.joinpath("sums.py").write_bytes(root.joinpath("solutions/basics/sums.py").read_bytes())
    assert {leak.path for leak in find_leaks(course, wheel=wheel)} == {"basics/sums.py"}


def test_a_hidden_test_copied_to_the_public_checks_is_found(root: Path, wheel: Path) -> None:
    hidden = root.joinpath("tests/hidden/basics/test_sums.py").read_text()
    renamed = hidden.replace("def test_", "def test_public_")
    root.joinpath("tests/public/basics/test_sums.py").write_text(renamed)
    assert "code from a hidden test" in refused(root, wheel)


def test_the_wheel_is_searched_for_leaks(root: Path, make_wheel: Callable[..., Path]) -> None:
    wheel = make_wheel(extra="def f(x):\n    return x * self.weight\n")
    name = "attention_autograder-1.2.3-py3-none-any.whl"
    assert f"basics/{name}/autograder/extra.py:2:" in refused(root, wheel)
    (leak,) = find_leaks(load_course(root), wheel=wheel)
    assert str(leak).startswith(f"dist/{name}/autograder/extra.py:2:")


def test_code_given_to_students_is_not_a_leak(root: Path, edit: Edit, wheel: Path) -> None:
    edit("solutions/basics/sums.py", "    return total", "    return x + _STEP")
    release(load_course(root), wheel=wheel)
    for student_file in ("sums.py", "sums.ipynb"):
        assert "_STEP" in root.joinpath("assignments/basics", student_file).read_text()


def test_code_given_in_one_exercise_may_leak_another(root: Path, edit: Edit, wheel: Path) -> None:
    edit("solutions/basics/halves.py", "return x / 2.0", "return 2.0 * x")
    edit("source/basics/halves.md", "# Half", "# Half\n\n`return 2.0 * x`")
    assert "assignments/basics/halves.ipynb:" in refused(root, wheel)
