"""Public checks of `embedding`."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.traits import Ids, Tensor, Traits, check_by_itself

SENTENCE = "My shoes are small, my feet are big."
VOCABULARY = {"My": 0, "are": 2, "big.": 3, "feet": 4, "my": 5, "shoes": 6, "small": 7}


@pytest.mark.question("build_vocabulary", points=0)
def test_three_different_words(expect: Expect) -> None:
    expect.value(
        "build_vocabulary",
        ("dogs chase cats",),
        {"cats": 0, "chase": 1, "dogs": 2},
        likely="sort the words, then number them from 0: cats, chase, dogs",
    )


@pytest.mark.question("build_vocabulary", points=0)
def test_sentence_of_the_shoes(expect: Expect) -> None:
    expect.value(
        "build_vocabulary",
        (SENTENCE,),
        VOCABULARY,
        likely="the sorted words are My, are, are, big., feet, my, shoes, small.; `are` is at "
        "positions 1 and 2, and the last position counts, so no word has the id 1",
    )


@pytest.mark.question("build_vocabulary", points=0)
def test_comma_is_part_of_no_word(expect: Expect) -> None:
    got = expect.result("build_vocabulary", "yes, no, yes,")
    expect.that(
        isinstance(got, dict) and set(got) == {"yes", "no"},
        got=repr(got)[:200],
        expected="a dict with the two words 'no' and 'yes'",
        likely="remove the commas from the sentence before you split it",
    )


@pytest.mark.question("encode", points=0)
def test_ids_of_the_shoes(expect: Expect) -> None:
    expect.value(
        "encode",
        (SENTENCE, VOCABULARY),
        torch.tensor([0, 6, 2, 7, 5, 4, 2, 3]),
        likely="one id for each of the eight words, in the order of the sentence; split the "
        "words as in `build_vocabulary`",
    )


@pytest.mark.question("encode", points=0)
def test_ids_come_from_the_vocabulary(expect: Expect) -> None:
    expect.value(
        "encode",
        ("tea or coffee", {"coffee": 20, "milk": 30, "or": 10, "tea": 40}),
        torch.tensor([40, 10, 20]),
        likely="the dict says which id a word has, such as 40 for tea; the ids need not be 0, 1 "
        "and 2",
    )


@pytest.mark.question("encode", points=0)
def test_word_without_an_id(expect: Expect) -> None:
    expect.raises(
        "encode",
        "tea or water",
        {"coffee": 20, "or": 10, "tea": 40},
        error=KeyError,
        naming="water",
        likely="`water` has no id, so a KeyError that names it is right",
    )


@pytest.mark.question("embed", points=0)
def test_rows_of_a_small_table(expect: Expect) -> None:
    table = torch.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
    expect.value(
        "embed",
        (torch.tensor([2, 0, 2, 1]), table),
        torch.tensor([[2.0, 2.5], [0.0, 0.5], [2.0, 2.5], [1.0, 1.5]]),
        likely="the id 2 stands for row 2 of the table, (2.0, 2.5)",
    )


@pytest.mark.question("embed", points=0)
def test_sentence_of_the_shoes_in_two_dimensions(expect: Expect) -> None:
    table = torch.tensor(
        [
            [0.3374, -0.1778],
            [9.0, 9.0],  # no word has the id 1
            [0.3486, 0.6603],
            [-0.2196, -0.3792],
            [0.7671, -1.1925],
            [0.6984, -1.4097],
            [0.1794, 1.8951],
            [0.4954, 0.2692],
        ]
    )
    expected = torch.tensor(
        [
            [0.3374, -0.1778],
            [0.1794, 1.8951],
            [0.3486, 0.6603],
            [0.4954, 0.2692],
            [0.6984, -1.4097],
            [0.7671, -1.1925],
            [0.3486, 0.6603],
            [-0.2196, -0.3792],
        ]
    )
    expect.value(
        "embed",
        (torch.tensor([0, 6, 2, 7, 5, 4, 2, 3]), table),
        expected,
        likely="row t of the result is the row of the table that id t names; both words `are` "
        "get the same row",
    )


@pytest.mark.question("embed", points=0)
def test_table_can_be_learned(expect: Expect) -> None:
    pulled = expect.pulled(
        "embed", torch.tensor([1, 1, 2]), torch.zeros(3, 2), cotangent=torch.ones(3, 2)
    )
    gradient = pulled.inputs[1]
    expect.that(
        gradient is not None and gradient.tolist() == [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]],
        got="no gradient" if gradient is None else str(gradient.tolist()),
        expected="[[0, 0], [2, 2], [1, 1]]: row 1 is used twice, row 2 once, row 0 never",
        likely="take the rows from the table itself, not from a copy",
    )


@pytest.mark.question("embed", points=0)
def test_embed_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("embed", [Ids("T", below="V"), Tensor("V d")]))


@pytest.mark.question("build_vocabulary", points=0)
def test_commas_in_words_and_spaces_of_any_kind(expect: Expect) -> None:
    expect.value(
        "build_vocabulary",
        ("so ,we\tread  1,000 pages\n",),
        {"1000": 0, "pages": 1, "read": 2, "so": 3, "we": 4},
        likely="remove every comma, wherever it is, without putting a space in its place; white "
        "space separates words",
    )
    found = expect.result("build_vocabulary", "so it is")
    expect.that(
        all(type(place) is int for place in found.values()),
        got=f"{[type(place).__name__ for place in found.values()]}",
        expected="plain integers",
        likely="a position in a list is an int",
    )


@pytest.mark.question("encode", points=0)
def test_sentences_with_commas_in_words_and_spaces_of_any_kind(expect: Expect) -> None:
    expect.value(
        "encode",
        ("1,000\tpages  ,", {"1000": 2**30 + 7, "pages": 1, "000": 5}),
        torch.tensor([2**30 + 7, 1]),
        likely="split the sentence into words in the same way as for the vocabulary",
    )
    expect.value(
        "encode",
        ("so", {"so": 3}),
        torch.tensor([3]),
        likely="one word gives a tensor of shape (1,)",
    )


@pytest.mark.question("embed", points=0)
def test_one_token_of_a_larger_table(expect: Expect) -> None:
    table = torch.arange(12.0).view(4, 3)
    expect.value(
        "embed",
        (torch.tensor([1]), table),
        table[1:2],
        likely="one token gives a table with one row",
    )
