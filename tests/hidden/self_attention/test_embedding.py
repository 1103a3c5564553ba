"""Hidden suite of `embedding`: 20 of the assignment's 100 points."""

import string

import pytest
import torch

from autograder.suite import Draw, Expect, Step
from autograder.suite.traits import CustomInput, Ids, Sizes, Tensor, Traits, check_trait


def _words(draw: Draw, count: int) -> list[str]:
    """Draws different random lower-case words, in sorted order."""
    starts = sorted(draw.permutation(26)[:count])
    rests = draw.integers(count, 4, low=0, high=26).tolist()
    return [
        _letter(start) + "".join(_letter(i) for i in rest)
        for start, rest in zip(starts, rests, strict=True)
    ]


#: characters that belong to words, because they are neither the comma nor white space; among them
#: are commas of other scripts, invisible characters, and letters with an unusual sort order
MARKS = (
    string.punctuation.replace(",", "")
    + "\u00b2\ufb01\u00df\uff0c\u060c\u3001\u200b\u00ad\u2019\u00e9f\ufeff\uff5e\U0001f600"
)
#: the same, letters that consist of two characters or have an equivalent character, and notations
#: for characters in HTML, links and code
LETTERS = (
    *MARKS,
    *("e\u0301", "\u212b", "\uac00\u11a8", "\u0130", "\u0661", "\u200e"),
    *("&amp;", "&#39;", "%20", "\\n", "<br>", "...", "``", "--", "http://", "1e3"),
)


def _letter(index: int) -> str:
    return chr(ord("a") + index)


# build_vocabulary: 8 points


@pytest.mark.question("build_vocabulary", points=2)
def test_each_word_gets_its_place_in_sorted_order(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    got = expect.same(
        "build_vocabulary",
        f"{c} {a} {d} {b}",
        likely="sort the words first, then number them from 0 in that order",
    )
    expect.that(
        all(isinstance(place, int) for place in got.values()),
        got=f"ids of type {sorted({type(place).__name__ for place in got.values()})}",
        expected="ids of type int",
        likely="an id is a plain Python integer",
    )


@pytest.mark.question("build_vocabulary", points=2)
def test_a_repeated_word_gets_its_last_place(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    expect.same(
        "build_vocabulary",
        f"{b} {d} {a} {b} {c} {b} {a}",
        likely="a repeated word is in the sorted list several times, and its id is its last "
        "position there; the ids then have a gap",
    )


@pytest.mark.question("build_vocabulary", points=1)
def test_commas_vanish(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    expect.same(
        "build_vocabulary",
        f"{d}, {b},{a} ,{c} , {b},,",
        likely="remove every comma before splitting, without putting a space in its place; a "
        "comma on its own is not a word",
    )


@pytest.mark.question("build_vocabulary", points=1)
def test_capitals_and_other_marks_stay(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    expect.same(
        "build_vocabulary",
        f'{c} {a}-{d} {c.capitalize()} {b}. {b} {d}\'s {a}! {c.upper()} {b}? {d}; {a}: "{c}" '
        f"({b} {d}) _{a} 3 {c}\u00e9 {b}\u2014{d} {d}. "
        + " ".join(a + mark + b for mark in LETTERS)
        + f" {a}.",
        likely="remove only commas: capitals, periods and hyphens make a different word; sort in "
        "Python's own order of strings (capitals first)",
    )
    expect.same(
        "build_vocabulary",
        f"\ufeff{a} {b}-\n{c} {a} \ufeff",
        likely="a word is any text between white space: do not strip marks from either end, and "
        "do not join words at the end of a line",
    )


@pytest.mark.question("build_vocabulary", points=1)
def test_any_white_space_separates(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    expect.same(
        "build_vocabulary",
        f"  {b}   {d}\t{a}\n{c} \n\n {b} \r\n{a}\r\n{d}\f{c}\v{b}",
        likely="several spaces, tabs and newlines separate words as one space does: they do not "
        "give an empty word",
    )


# encode: 6 points


@pytest.mark.question("encode", points=1)
def test_ids_come_in_sentence_order(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    expect.same(
        "encode",
        f"{c} {a} {d}",
        {a: 31, b: 2, c: 7, d: 11},
        likely="look up every word of the sentence in the given vocabulary, in the order of the "
        "sentence; the result is an int64 tensor",
    )
    expect.steps(
        "encode",
        Step((f"{b} {a}", {a: 3, b: 8})),
        Step((f"{b} {a}", {a: 5, b: -1})),
        likely="the dictionary may have changed since an earlier call, so look the words up in "
        "every call; any integer may be an id",
    )


@pytest.mark.question("encode", points=1)
def test_a_repeated_word_is_encoded_every_time(expect: Expect, draw: Draw) -> None:
    a, b, c = _words(draw, 3)
    expect.same(
        "encode",
        f"{b} {c} {b} {a} {b} {c}",
        {a: 5, b: 0, c: 3},
        likely="return one id for every word of the sentence, including repeated words",
    )


@pytest.mark.question("encode", points=1.5)
def test_words_are_split_as_in_the_vocabulary(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    likely = "remove the commas, then split on white space; change nothing else"
    # only commas, only white space, and both
    expect.same("encode", f"{c}, {a}, {b}", {a: 0, b: 9, c: 6}, likely=likely)
    expect.same("encode", f"{c}  {a}\t{b}", {b: 0, a: 6, c: 9}, likely=likely)
    expect.same(
        "encode",
        f" {c}, {b.capitalize()}\t{a},{d}  {b} ,\n{c}. {c}.\f{a}-{b}\v{a}/{b} {c}. "
        + " ".join(mark + a + mark + b + mark for mark in LETTERS),
        {a + d: 4, b: 9, b.capitalize(): 1, c: 6, c + ".": 2, a: 0, d: 3, f"{a}-{b}": 8}
        | {f"{a}/{b}": 5}
        | {mark + a + mark + b + mark: 10 + place for place, mark in enumerate(LETTERS)},
        likely=likely,
    )
    expect.same(
        "encode", f"\ufeff{a} {b}-\n{c}", {f"\ufeff{a}": 3, f"{b}-": 1, c: 7}, likely=likely
    )


@pytest.mark.question("encode", points=0.5)
def test_one_word_with_a_large_id(expect: Expect, draw: Draw) -> None:
    a, b = _words(draw, 2)
    expect.same(
        "encode",
        b,
        {a: 0, b: 2**40 + draw.integer(1, 99)},
        likely="a single word gives a tensor of shape (1,), and ids are int64",
    )


@pytest.mark.question("encode", points=1.5)
def test_an_unknown_word_is_named(expect: Expect, draw: Draw) -> None:
    a, b, c, d = _words(draw, 4)
    vocabulary = {a: 0, b: 1, c: 2, "<unk>": 3, "<|unk|>": 4, d.capitalize(): 5}
    expect.same("encode", f"{b} {a}", vocabulary, likely="known words are encoded")
    for sentence, unknown in (
        (f"{a} {b}s {b}", f"{b}s"),
        (f"{d} {c}, {b} {d},", d),
        (f"{c}. {b}", f"{c}."),
        (f"{c} {b.capitalize()}", b.capitalize()),
        (d, d),
    ):
        expect.raises(
            "encode",
            sentence,
            vocabulary,
            error=KeyError,
            naming=unknown,
            likely="a word that is not in the vocabulary has no id: the KeyError that a dict "
            "raises names the word",
        )
    expect.raises(
        "encode",
        f"{a} {b}",
        {},
        error=KeyError,
        naming=a,
        likely="in an empty vocabulary, every word is unknown",
    )


# embed: 6 points


@pytest.mark.question("embed", points=1)
def test_rows_come_in_the_order_of_the_ids(expect: Expect, draw: Draw) -> None:
    ids = torch.tensor([3, 0, 2])
    expect.same(
        "embed",
        ids,
        draw.normal(5, 4),
        likely="row t of the result is the row of the table that id t points to",
    )


@pytest.mark.question("embed", points=1)
def test_more_tokens_than_rows(expect: Expect, draw: Draw) -> None:
    # every row occurs, including the last one
    ids = torch.tensor([*draw.permutation(4), *draw.permutation(4)[:3], 1, 1])
    expect.same(
        "embed",
        ids,
        draw.normal(4, 3, scale=3.0),
        likely="an id may occur several times, and each time the result is the same row, unchanged",
    )


@pytest.mark.question("embed", points=1)
def test_as_many_tokens_as_rows_and_columns(expect: Expect, draw: Draw) -> None:
    expect.same(
        "embed",
        torch.tensor([1, 2, 0, 2]),
        draw.normal(4, 4),
        likely="an id picks a row of the table, not a column; the ids need not include the last "
        "row",
    )


@pytest.mark.question("embed", points=1)
def test_precision_of_the_table_is_kept(expect: Expect, draw: Draw) -> None:
    expect.same(
        "embed",
        torch.tensor([2, 0, 4, 2]),
        draw.strided(5, 3, dtype=torch.float64),
        likely="the result has the dtype of the table; do not convert it to float32 on the way",
    )


# general properties, tested from declarations


def _sentence(draw: Draw, sizes: Sizes) -> str:
    """Draws a sentence of T words from a vocabulary of V words."""
    picked = draw.integers(sizes.of("T"), low=0, high=sizes.of("V")).tolist()
    return " ".join(f"w{number}" for number in picked)


def _vocabulary(draw: Draw, sizes: Sizes) -> dict[str, int]:
    """Returns a vocabulary of these V words with random ids of up to 100,000."""
    ids = draw.integers(sizes.of("V"), low=0, high=100_000).tolist()
    return {f"w{number}": place for number, place in enumerate(ids)}


SENTENCE = CustomInput(_sentence, ["T", "V"])
TEXT = {
    "any memory layout": "text has none",
    "gradients": "text has none",
    "float64": "ids are int",
}
BUILD_VOCABULARY = Traits(
    "build_vocabulary",
    [SENTENCE],
    loops="T*V",
    without={**TEXT, "errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("build_vocabulary", shared=1)
@pytest.mark.parametrize("trait", BUILD_VOCABULARY.tested)
def test_build_vocabulary_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, BUILD_VOCABULARY, trait)


ENCODE = Traits(
    "encode",
    [SENTENCE, CustomInput(_vocabulary, ["V"])],
    loops="T",
    largest={"V": 1000},
    own={"errors": "test_an_unknown_word_is_named"},
    without={**TEXT, "chance": "nothing is random"},
)


@pytest.mark.question("encode", shared=0.5)
@pytest.mark.parametrize("trait", ENCODE.tested)
def test_encode_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ENCODE, trait)


EMBED = Traits(
    "embed",
    [Ids("T", below="V"), Tensor("V d")],
    loops="T*d",
    largest={"V": 100_001},
    factors=(32,),
    own={"float64": "test_precision_of_the_table_is_kept"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("embed", shared=2)
@pytest.mark.parametrize("trait", EMBED.tested)
def test_embed_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, EMBED, trait)
