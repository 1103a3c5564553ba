"""What students write in the place of a value or an operation: other ways, each with its words.

A row is a text in which `{e}` stands for the step as it is, and other names in braces for its
parts. What several texts do has the same words: a family.
"""

from __future__ import annotations

from collections.abc import Mapping

#: other texts for a step, and what they do
Rows = tuple[tuple[str, str], ...]

CUT = "the gradient ends on its way back: nothing is trained through one of the steps"
SINGLE = "something is made float32, whatever dtype is asked for"
FIRST = "what comes first along dimension 0 is used for all"
ANOTHER = "one thing takes the place of another"
LEFT_OUT = "one step is left out"
SWAPPED = "two things change places"
OPERATION = "one operation is another than the one asked for"
FUNCTION = "another function is called than the one asked for"
COMPARISON = "a comparison is another than the one asked for"
CONDITION = "a condition is another than the one asked for, or none"
NUMBER = "a number or a switch is another than the one asked for"
ADDED = "something is added to the result that does not belong there"
APPLIED = "a function is applied to the result that is one too many"
ON_THE_WAY = "another value comes back than the one that the last step makes"
CHECK = "a check is left out: the error that is asked for does not come"
AXES = "two dimensions change places that should stay where they are"
OF_ANOTHER_SIZE = "the division is by the root of another number than the one asked for"
NO_ROOT = "the division is by a number itself, not by its root"
LARGER = "numbers are multiplied where they should be divided by a root"
RESHAPED = "numbers are reshaped where dimensions should change places"
#: a fill of the mask
FILL = "masked scores are not made minus infinity, and can keep weight"
#: in other places than the mask
INFINITY = "another number stands where minus infinity is asked for"

OF_FIRST_CALL = "a value of the first call is kept for all later ones"
IN_PLACE = "an operation writes into the caller's tensor"
OTHER_WAY_ROUND = "the mask is the other way round"
SLICE = "a slice is too long or too short"
ORDER = "two operations are done in another order, as with parentheses in another place"
#: what a module does to keep a value
KEPT = (
    'self.__dict__.setdefault("_first", {e})',
    'self.__dict__.setdefault("_first", ({e}).detach())',
    'self.__dict__.setdefault(("_first", ({e}).shape), {e})',
)

_TURNED = "numbers come in the opposite order"
_ROOT = "numbers are scaled by a root that is not asked for"
_ROUNDED = "numbers are rounded on the way"
#: of anything that is assigned or returned, and is no step of its own
WRAPPED: Rows = (
    ("({e}).detach()", CUT),
    ("({e}).float()", SINGLE),
    ("({e}).round(decimals=4)", _ROUNDED),
    ("({e})[:1].expand_as({e})", FIRST),
    ("({e}).mean(1, keepdim=True).expand_as({e})", "numbers are averaged over dimension 1"),
    ("({e}).mT", "rows and columns of one tensor are swapped"),
    ("({e}).transpose(0, 1)", AXES),
    ("({e}).transpose(1, 2)", AXES),
    ("({e}).flatten(0, 1)", "two dimensions become one"),
    ("({e}).transpose(1, 2).flatten(2)", "heads are merged that should stay apart"),
    ("({e}).transpose(1, 2).flatten(2)[:, None]", "heads are merged that should stay apart"),
    ("({e}).flip(1)", _TURNED),
    ("({e})[:, :1]", "of dimension 1 the first one is used, and no other"),
    ("torch.softmax({e}, -1)", "a softmax is applied that is one too many"),
    ("({e}) / ({e}).shape[-1] ** 0.5", _ROOT),
    ("-({e})", "numbers have the opposite sign"),
    ("torch.relu({e})", "a ReLU is applied that is one too many"),
    ("({e}).sum(0)", "a sum runs over dimension 0, which nobody asked for"),
    ("({e}).sum(1)", "a sum runs over dimension 1, which nobody asked for"),
    ("({e})[1:]", "of dimension 0 the first one is left out"),
    ("torch.tensor(({e}).tolist())", "numbers leave torch: gradient and dtype are lost"),
    ("({e}).transpose(1, 2).reshape(({e}).shape)", RESHAPED),
    ("({e}).mT.reshape(({e}).shape)", RESHAPED),
)
#: of what is returned, as well
RETURNED: Rows = (
    *((f"({{e}}).round(decimals={d})", _ROUNDED) for d in (3, 2)),
    ("({e}).mean(0, keepdim=True).expand_as({e})", "numbers are averaged over dimension 0"),
    ("({e}).squeeze()", "dimensions of size one are dropped"),
    ("({e}).flip(-1)", _TURNED),
    ("({e}).flip(0)", _TURNED),
    ("({e}) / ({e}).norm(dim=-1, keepdim=True)", "vectors are brought to length one"),
    ("({e}) / ({e}).sum(-1, keepdim=True)", "rows are made to sum to one, unasked for"),
    (
        "({e}) / ({e}).shape[-1]",
        "a result is divided by its number of columns, as for a mean",
    ),
    ("({e}) / ({e}).shape[-2] ** 0.5", _ROOT),
    ("({e}).abs()", "the sign of numbers is lost"),
    ("({e}).sum(-1)", "a sum runs over the last dimension, which nobody asked for"),
    ("({e}).mean(1)", "a mean is taken over dimension 1"),
    ("({e}).unsqueeze(-1)", "the result has a dimension of size one too many"),
    ("({e}).unsqueeze(0)", "the result has a dimension of size one too many"),
    ("({e})[:-1]", "of dimension 0 the last one is left out"),
    ("({e}).tolist()", "a list comes back, not a tensor"),
    ("({e}).double()", "something is made float64, whatever dtype is asked for"),
    ("({e}).transpose(0, 1).reshape(({e}).shape)", RESHAPED),
    *(
        (f"({{e}})[..., {row}, :]", "one row comes back, not all of them")
        for row in ("0", "min(1, ({e}).shape[-2] - 1)", "-1")
    ),
    *(
        (
            f"({{e}}) * (torch.arange(-({{e}}).shape[{dim}], 0) != {place}){new}",
            "the first or last row or column is 0 (or False)",
        )
        for dim, new in ((-1, ""), (-2, "[:, None]"))
        for place in ("-1", f"-({{e}}).shape[{dim}]")
    ),
    ("torch.zeros_like({e})", "only zeros (or False) come back"),
    *(
        (f"torch.{function}({{e}})", APPLIED)
        for function in ("cos", "sin", "exp", "log", "tanh", "sigmoid")
    ),
)
#: of what is returned, with an argument `{a}`
WITH_ARGUMENT: Rows = (
    ("({e}) / {a}.norm(dim=-1)", "a result is divided by the length of a vector"),
    ("{a}.sum(1)", "a sum runs over dimension 1, which nobody asked for"),
    ("{a}.mean(1)", "a mean is taken over dimension 1"),
    ("({e}) / {a}.shape[-1] ** 0.5", _ROOT),
    ("({e}) * (1 - {p})", "a result is 1 - p times what it should be"),
)
#: of what is returned, with any name `{n}`
WITH_NAME: Rows = (
    ("({e}) + {n}", ADDED),
    ("({e}), {n}", "more comes back than is asked for"),
    ("{n}", ON_THE_WAY),
)
#: words of what may be done to any step: where a step of its own has others, those are told;
#: else the first
_WORDS = (*(words for _, words in (*WRAPPED, *RETURNED)), ORDER, OF_FIRST_CALL)
ANY_STEP_WORDS = tuple(dict.fromkeys(words for words in _WORDS if words not in (CUT, SINGLE)))
#: of scores: of any other size, and of the size itself
OF_OTHER_SIZES: Rows = (("({l}) / ({b}) ** 0.5", OF_ANOTHER_SIZE), ("({l}) / ({b})", NO_ROOT))
OF_SCALE: Rows = (
    ("({l})", "the division by a root is left out"),
    ("({l}) / ({b})", NO_ROOT),
    ("({l}) / (({l}).shape[1] * ({b})) ** 0.5", OF_ANOTHER_SIZE),
    ("({l}) * ({b}) ** 0.5", LARGER),
    ("({l}) / int(({b}) ** 0.5)", "the root is cut to a whole number"),
    ("({l}) / round(({b}) ** 0.5)", "the root is rounded to a whole number"),
    ("({l}) / (({b}) / 2)", "the division is by half of a number, not by its root"),
    ("(({l}) / ({b})) ** 0.5", ORDER),
    ("({l}) / ({b}) ** 2", "the division is by the square of a number, not by its root"),
    ("({l}) * ({b})", LARGER),
)
_TWICE = "one part of a sum is added twice"
_ONE_SIDE = "one side of a product is transposed that should not be"
_ITEMS = "the first or last item of a sum is left out, or taken twice"
#: other sums than "...ts,...sd->...td"
_LETTERS = {
    _ONE_SIDE: ("...st,...sd->...td", "...ts,...td->...sd"),
    "a sum runs over another dimension than the one that both sides share": (
        "...ts,...sd->...sd",
        "...ts,...sd->...d",
    ),
    "each row is made of itself alone": ("...ss,...sd->...sd",),
}
#: of `1 - {r}`
OF_THE_REST: Rows = (("({r})", "a share stands where what is left of it belongs: one minus it"),)
_BOUND = "a bound is one too high or too low"
_NUMBERED = "other rows are taken than those that the numbers name"
_ROWS = "rows are taken one too early or too late"
#: of operations, by their class: `{l}` and `{r}` are the sides, `{0}` what has one side only; of
#: rows by their numbers `{1}`
OF_OPERATIONS: Mapping[str, Rows] = {
    "Add": (("({l}) + ({l}) + ({r})", _TWICE), ("({l}) + ({r}) + ({r})", _TWICE)),
    "Sub": (("({l}) / ({r})", OPERATION),),
    "MatMult": (
        ("({l}).mT @ ({r})", _ONE_SIDE),
        ("({l}) @ ({r}).mT", _ONE_SIDE),
        ("({r}) @ ({l})", "the two sides of a product change places"),
        ("(({l}) * ({l})).sum(-1)", "every vector is multiplied with itself"),
        (
            "(({l}) * ({r})).sum(0)",
            "both sides of a product are multiplied entry by entry, then added up over dimension 0",
        ),
        ("(({l}) - ({r})).square().sum(-1)", "distances take the place of products"),
        ("torch.ones_like({l}) @ ({r})", "a plain sum is taken where a weighted one is asked for"),
        ("({l}).mT @ ({r}).mT", "both sides of a product are transposed"),
        (
            "torch.ones_like({l}) @ ({r}) / ({l}).shape[-1]",
            "a plain mean is taken where a weighted sum is asked for",
        ),
        ("({l}) @ ({r}) + ({l})[..., :1] @ ({r})[..., :1, :]", _ITEMS),
        ("({l})[..., 1:] @ ({r})[..., 1:, :]", _ITEMS),
        ("({l})[..., :-1] @ ({r})[..., :-1, :]", _ITEMS),
        *(
            (f"torch.einsum('{letters}', {{l}}, {{r}})", words)
            for words, several in _LETTERS.items()
            for letters in several
        ),
    ),
    "Compare": (("{l} {op} ({r}) + 1", _BOUND), ("{l} {op} ({r}) - 1", _BOUND)),
    "Invert": (("{0}", OTHER_WAY_ROUND),),
    "Attribute": (("{0}.detach()", CUT),),
    "Subscript": (
        ("({0})[({1} + 1).clamp(max=len({0}) - 1)]", _ROWS),
        ("({0})[({1} + 1) % len({0})]", _ROWS),
        ("({0})[({1} - 1).clamp(min=0)]", _ROWS),
        ("({0})[{1} - 1]", _ROWS),
        ("({0})[torch.arange(len({1})) % len({0})]", _NUMBERED),
        ("({0})[{1} % len({0})]", _NUMBERED),
        ("({0}).setdefault({1}, len({0}))", "what is unknown gets a new number"),
    ),
}
#: words of the small changes that any code may have; of two that do the same, the first is told.
#: Others are for the mutation run only
OPERATOR_WORDS: Mapping[str, str] = {
    "operand left out": LEFT_OUT,
    "call removed": LEFT_OUT,
    "statement removed": LEFT_OUT,
    "other name": ANOTHER,
    "other attribute": ANOTHER,
    "arguments swapped": SWAPPED,
    "operands swapped": SWAPPED,
    "slice": SLICE,
    "arithmetic": OPERATION,
    "other function": FUNCTION,
    "comparison": COMPARISON,
    "condition": CONDITION,
    "in place": IN_PLACE,
    "detached": CUT,
    "other error": "an error of another class is raised than the one asked for",
    "no buffer": "what belongs to the module does not move with it",
    "sign": INFINITY,
    "constant": NUMBER,
}
