"""What sizes generated tests ask: of every question, one of everything and what nobody can know."""

from pathlib import Path

import pytest

from autograder.suite import Draw
from autograder.suite.divisors import undivided
from autograder.suite.traits import Traits, declarations
from autograder.suite.traits.asked import FEW_WITH_GRADIENTS, Asked

SUITES = sorted((Path(__file__).parents[3] / "tests/hidden").glob("*/test_*.py"))
FUNCTIONS = [t for suite in SUITES for t in declarations(suite) if t.build is None and t.inputs]


@pytest.mark.parametrize("traits", FUNCTIONS, ids=lambda traits: traits.question)
def test_gradients_are_asked_with_one_of_everything(traits: Traits) -> None:
    asked = Asked(traits, Draw(1, "sizes"))
    sizes = [asked.middling(FEW_WITH_GRADIENTS), *asked.many_with_gradients(), asked.long()]
    unseen = asked.least_unseen(sizes)
    for letter in traits.call_letters():
        least = traits.smallest.get(letter, 1)
        assert any(one.letters[letter] <= least for one in [*sizes, *([unseen] if unseen else [])])


def test_numbers_that_do_not_divide_are_of_all_kinds_and_at_most_sixteen() -> None:
    for seed in range(50):
        pairs = undivided(Draw(seed, "pairs"))
        assert all(number % among and 1 <= number <= 16 for number, among in pairs)
        assert any(number < among for number, among in pairs)
        assert any(number % among == 1 < among - 1 for number, among in pairs)
        assert any(among == 2 for _, among in pairs)
