"""What leads a student on from what an answer behaves like: a question, or something to try.

It must show the fault in any code that behaves so, and show nothing in right code.
"""

from __future__ import annotations

import re
from functools import lru_cache

_COMPARE = "Compare each step with the docstring."
_BY_HAND = "What should it be divided by? Take one number, and do that step by hand."
_RETURNS = "What should come back? Print the type and the shapes of what does."
_OF_ONE = "Call it with two values of this argument: what changes, and what should?"
_SUM = "Which dimension should a sum run over? Print the shapes before and after it."
_PARTS = "Print where each part begins and ends, in a small case: what should it hold?"
_DIFFERENT = "Take sizes that all differ, and print the shape after each step."
_HIDDEN = "Take a small case: what is hidden, and what should be?"
_AGAIN = "Call it twice, with different inputs: does the first one change the second result?"
#: by words: a pattern has to fit all of them, and none fits those of two mistakes at once
LEADS: tuple[tuple[str, str], ...] = (
    (r"the mask is the other way round", _HIDDEN),
    (r"the mask has no effect", _HIDDEN),
    (r"the border of a mask lies .*", _HIDDEN),
    (
        r"softmax runs along .*",
        "Along which dimension must softmax sum to one? Print the sums along it.",
    ),
    (
        r"one thing takes the place of another|.* are taken for each other|two layers .*",
        "Is every step given what the docstring names for it?",
    ),
    (
        r"one layer does what several .*",
        "Change one layer's weights: which results change, and which should?",
    ),
    (
        r"a layer has (no|a) bias .*",
        "Print the names in `named_parameters()`: which layers have a bias, and which should?",
    ),
    (r"another value comes back .*", "Which step comes last? Is its result what comes back?"),
    (
        r"the division is by the root of another .*",
        "Take sizes that all differ: what do you divide by, and what should it be?",
    ),
    (r"the division (is by|by a root) .*|numbers are multiplied .*|the root is .*", _BY_HAND),
    (
        r"a small constant .*",
        "Take numbers that are very small: what should come out, and what does?",
    ),
    (r"exponentials are taken of .*", "Take numbers of 1000: what comes out?"),
    (
        r"rows and columns of .*",
        "What should one row hold, and what does it hold?",
    ),
    (
        r"a function is applied to one part .*",
        "What should it be applied to? Do that step by hand for two numbers.",
    ),
    (
        r"heads are merged .*|numbers are averaged .*|two dimensions .*|numbers are reshaped .*",
        _DIFFERENT,
    ),
    (r"a size is fixed.*|dimensions \d and \d are .*|the last two dimensions .*", _DIFFERENT),
    (
        r"masked scores are .*|the mask is added .*",
        "How much weight do masked scores get in softmax, also where all others are far below 0?",
    ),
    (
        r"rows are made to sum to one again .*",
        "Must rows still sum to one after dropout? Print one before and after it.",
    ),
    (
        r"what should not train .*",
        "Print the names in `named_parameters()`: should each of them be trained?",
    ),
    (r".* is not applied where .*", "What should it be applied to, and what is it applied to?"),
    (
        r"zeros come back.*|only zeros .*",
        "Take a small case by hand: what should not be 0, and at which step is it lost?",
    ),
    (r"the module keeps .*|a value of the first call .*|.* of the first call counts .*", _AGAIN),
    (
        r"the gradient ends .*",
        "Print `.grad` of every input and parameter after `.backward()`: what has no part in it?",
    ),
    (r"a check is left out.*", "Make a call that must be refused: what happens?"),
    (r"a sum runs .*|both sides of a product are multiplied .*", _SUM),
    (r"parts overlap.*|a slice is .*|a last part .*|a loop .*", _PARTS),
    (
        r"a bound is .*|a comparison is .*",
        "Try values at each bound, and on both sides of it.",
    ),
    (r"the norm has another eps .*", "Which eps is asked for, and which one has your norm?"),
    (r"an operation writes into .*", "Print the input before and after the call: is it the same?"),
    (
        r"a result is 1 - p times .*|a share stands .*",
        "Take ones as the input, in training and in evaluation: what is their mean afterwards?",
    ),
    (
        r"parts are (put together|repeated) along .*",
        "Print the shapes before and after it: which size should grow?",
    ),
    (
        r"a dimension of size one stands .*",
        "Write both shapes below each other, from the right: which dimensions should meet?",
    ),
    (
        r"something is made float.*",
        "Call it with float64: which dtype has each step?",
    ),
    (
        r"what comes first along .*|of `\w+` the .*",
        "Change one sample, or one row, after the other: which results change, and which should?",
    ),
    (r"large numbers are cut off", "Take scores of 100 and 1000: what should come out?"),
    (r"softmax is applied twice", "What goes into each softmax on the way? Print it."),
    (r"(less|more) comes back.*|one tensor .*|a list .*|the results come .*", _RETURNS),
    (r"`\w+` (has no effect|counts as .*)", _OF_ONE),
    (
        r"`\w+` is .* where it is left out",
        "Which default does the docstring give it? Call it without this argument, and with it.",
    ),
    (
        r"the future is hidden.*",
        "Change the last key: which results change, and which should?",
    ),
    (
        r"dropout is applied in evaluation .*",
        "Call it twice in evaluation: is the result the same?",
    ),
)


@lru_cache(maxsize=1024)
def leads_on(words: str) -> str:
    """What follows the words of a family."""
    return next((lead for pattern, lead in LEADS if _fits(pattern, words)), _COMPARE)


def _fits(pattern: str, words: str) -> bool:
    return ";" not in words and re.fullmatch(pattern, words) is not None
