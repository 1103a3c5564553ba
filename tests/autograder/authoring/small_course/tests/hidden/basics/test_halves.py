import pytest

from autograder.suite import Expect


@pytest.mark.question("half", points=2)
def test_half_of_four(expect: Expect) -> None:
    expect.value("half", [4.0], 2.0, likely="divide")
