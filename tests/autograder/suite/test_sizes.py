"""Generated tests use sizes of 1, large sizes, randomly drawn sizes, and frozen weights."""

from pathlib import Path

import pytest

from autograder.attention.suites.divisors import undivided
from autograder.suite import Draw
from autograder.suite.traits import Traits, declarations
from autograder.suite.traits.class_tests import _builds_and_calls, _frozen_together
from autograder.suite.traits.size_cells import FEW, LENGTHS, ONE_LARGE, CallSizes

SUITES = sorted((Path(__file__).parents[3] / "tests/hidden").glob("*/test_*.py"))
FUNCTIONS = [t for suite in SUITES for t in declarations(suite) if t.build is None and t.inputs]


@pytest.mark.parametrize("traits", FUNCTIONS, ids=lambda traits: traits.question)
def test_gradients_are_tested_with_all_sizes_of_one(traits: Traits) -> None:
    asked = CallSizes(traits, Draw(1, "sizes"))
    sizes = [asked.middling(FEW), *asked.many_with_gradients(), asked.long()]
    unseen = asked.least_unseen(sizes)
    for letter in traits.call_letters():
        least = traits.smallest.get(letter, 1)
        assert any(one.letters[letter] <= least for one in [*sizes, *([unseen] if unseen else [])])


DECLARED = [t for suite in SUITES for t in declarations(suite) if t.inputs]


@pytest.mark.parametrize("traits", DECLARED, ids=lambda traits: traits.question)
def test_heads_and_lengths_are_drawn_between_their_ends(traits: Traits) -> None:
    for seed in range(5):
        cells = CallSizes(traits, Draw(seed, "sizes"))
        for letters in (traits.call_letters(), traits.built_letters()):
            extremes = cells.extremes(letters) if letters else []
            for heads in {"H"} & {*letters}:
                assert any(8 < one.get(heads, 0) < 16 for one in extremes)
        between = cells.between(traits.usual())
        long = {x for x in LENGTHS if traits.largest.get(x, 128) > 25}
        for length in long & {*traits.call_letters()}:
            assert any(24 < sizes.letters[length] < 128 for sizes in between)


@pytest.mark.parametrize("traits", DECLARED, ids=lambda traits: traits.question)
def test_all_heads_are_sixteen_at_most(traits: Traits) -> None:
    usual = traits.usual()
    for seed in range(5):
        cells = CallSizes(traits, Draw(seed, "sizes"))
        for letters in (traits.call_letters(), traits.built_letters()):
            for one in cells.extremes(letters) if letters else []:
                sizes = usual.but(one).letters
                assert sizes.get("H", sizes.get("G", 1) * sizes.get("R", 1)) <= 16


@pytest.mark.parametrize("traits", DECLARED, ids=lambda traits: traits.question)
def test_no_size_is_below_the_smallest(traits: Traits) -> None:
    for seed in range(20):
        sizes = CallSizes(traits, Draw(seed, "sizes")).middling(FEW).letters
        assert all(sizes[letter] >= least for letter, least in traits.smallest.items())


@pytest.mark.parametrize("traits", DECLARED, ids=lambda traits: traits.question)
def test_a_last_block_of_one_entry_is_tested(traits: Traits) -> None:
    usual, letters = traits.usual(), traits.call_letters()
    cells = CallSizes(traits, Draw(1, "sizes"))
    # the sizes that `any_size` uses for a class
    small = usual.but(dict.fromkeys(traits.built_letters(), 1))
    asked = [*cells.after_blocks(small), *cells.heads_after_blocks(small)]
    for length in {x for x in LENGTHS if traits.largest.get(x, 128) > 101} & {*letters}:
        for block in (16, 20, 24, 25, 32, 50, 64):
            assert any(one.letters[length] % block == 1 < one.letters[length] for one in asked)
    for heads in {"H"} & {*letters, *traits.built_letters()}:
        assert {one.letters[heads] for one in asked} >= {9, 13}
    for samples in {"B"} & {*letters} - {*traits.largest}:
        assert {one.letters[samples] for one in asked} >= {33, 61}


LAYERS = [t for t in DECLARED if t.build is not None and "T" in t.call_letters()]


@pytest.mark.parametrize("traits", LAYERS, ids=lambda traits: traits.question)
def test_every_built_layer_meets_several_tokens(traits: Traits) -> None:
    for built_with, calls in _builds_and_calls(traits, CallSizes(traits, Draw(1, "sizes"))):
        assert any(sizes.letters["T"] > 1 for sizes in calls), built_with


def test_undivided_numbers_are_of_all_kinds_and_at_most_sixteen() -> None:
    for seed in range(50):
        pairs = undivided(Draw(seed, "pairs"))
        assert all(number % among and 1 <= number <= 16 for number, among in pairs)
        assert any(number < among for number, among in pairs)
        assert any(number % among == 1 < among - 1 for number, among in pairs)
        assert any(among == 2 for _, among in pairs)


LONG = [t for t in DECLARED if {"T", "S"} & {*t.call_letters()} and not t.largest]


@pytest.mark.parametrize("traits", LONG, ids=lambda traits: traits.question)
def test_each_length_is_tested_with_128_and_127(traits: Traits) -> None:
    usual = traits.usual()
    for seed in range(4):
        cells = CallSizes(traits, Draw(seed, "sizes"))
        if traits.build is None:
            plan = [cells.varied(traits.call_letters(), usual, ONE_LARGE), cells.between(usual)]
        else:
            plan = [calls for _, calls in _builds_and_calls(traits, cells)]
        for letter in {"T", "S"} & {*traits.call_letters()}:
            assert {127, 128} <= {sizes.letters[letter] for calls in plan for sizes in calls}


@pytest.mark.parametrize("traits", DECLARED, ids=lambda traits: traits.question)
def test_functions_are_always_tested_with_64_samples(traits: Traits) -> None:
    for seed in range(4):
        cells = CallSizes(traits, Draw(seed, "sizes"))
        numbers = [sizes.leading[0] for sizes in cells.samples()]
        assert not numbers or (32 < numbers[0] < numbers[1] == 64)


def test_a_submodule_is_frozen_as_a_whole() -> None:
    names = ["attention.W_query.weight", "attention.out_proj.bias", "norm1.weight", "W_key"]
    assert _frozen_together(names) == [names[:2], ["norm1.weight"], ["W_key"]]
