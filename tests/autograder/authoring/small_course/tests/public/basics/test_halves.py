import pytest

from autograder.suite import Expect


@pytest.mark.question("half", points=0)
def test_half_of_six(expect: Expect) -> None:
    expect.value("half", [6.0], 3.0, likely="divide")
