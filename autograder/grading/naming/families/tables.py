"""What students write at a known step: a table from the step to other ways, each with its words.

A rewriting is a text in which `{e}` stands for the step as it is. What several texts do has the
same words: a family.
"""

from __future__ import annotations

from collections.abc import Mapping

from .calls import OTHER_WAY_ROUND, OVERFLOWS, SLICE

CUT = "the gradient ends on the way: the result can't train what it comes from"
SINGLE = "something is made float32, whatever dtype is asked for"
FIRST = "what comes first along dimension 0 is used for all"
HEAD = "what comes first along dimension 1 is used for all"
ANOTHER = "one tensor or layer is used in the place of another"
LEFT_OUT = "one step is left out"
SWAPPED = "two things change places"
AXES = "two dimensions change places that should stay where they are"
SCALE = "the scores are divided by the root of another size than the one asked for"
NO_ROOT = "the scores are divided by a size itself, not by its root"
LARGER = "the scores are multiplied where they should be divided"
AXIS = "softmax runs along another dimension than the one asked for"
FUTURE = "the future is hidden, which nobody asked for"
RESHAPED = "numbers are reshaped where dimensions should change places"
FILL = "masked scores get a number that still leaves them weight"

OF_FIRST_CALL = "a value of the first call is kept for all later ones"
ORDER = "two operations are done in another order, as with parentheses in another place"
#: what a module does to keep a value
KEPT = (
    'self.__dict__.setdefault("_first", {e})',
    'self.__dict__.setdefault("_first", ({e}).detach())',
)

#: of anything that is assigned or returned, and is no step of its own
WRAPPED: tuple[tuple[str, str], ...] = (
    ("({e}).detach()", CUT),
    ("({e}).float()", SINGLE),
    *((f"({{e}}).round(decimals={d})", "numbers are rounded on the way") for d in (4, 3, 2)),
    ("({e})[:1].expand_as({e})", FIRST),
    ("({e})[:, :1].expand_as({e})", HEAD),
    ("({e}).mean(0, keepdim=True).expand_as({e})", "samples are averaged over the batch"),
    ("({e}).mean(1, keepdim=True).expand_as({e})", "numbers are averaged over dimension 1"),
    ("({e}).mT", "rows and columns of one tensor are swapped"),
    ("({e}).transpose(0, 1)", AXES),
    ("({e}).transpose(1, 2)", AXES),
    ("({e}).squeeze()", "dimensions of size one are dropped"),
    ("({e}).flatten(0, 1)", "two dimensions become one"),
    ("({e}).transpose(1, 2).flatten(2)", "heads are merged that should stay apart"),
    ("({e}).transpose(1, 2).flatten(2)[:, None]", "heads are merged that should stay apart"),
    ("({e}).flip(-1)", "numbers come in the opposite order"),
    ("({e}).flip(0)", "numbers come in the opposite order"),
    ("({e}).flip(1)", "numbers come in the opposite order"),
    ("({e})[:, :1]", "the first one of dimension 1 comes back, and no other"),
    ("torch.softmax({e}, -1)", "a softmax is applied that is one too many"),
    ("({e}) / ({e}).norm(dim=-1, keepdim=True)", "vectors are brought to length one"),
    ("({e}) / ({e}).sum(-1, keepdim=True)", "rows are made to sum to one that should not be"),
    ("({e}) / ({e}).shape[-1]", "a mean is taken where a sum is asked for"),
    ("({e}) / ({e}).shape[-1] ** 0.5", "numbers are scaled by a root that is not asked for"),
    ("({e}) / ({e}).shape[-2] ** 0.5", "numbers are scaled by a root that is not asked for"),
    ("({e}).abs()", "the sign of numbers is lost"),
    ("-({e})", "numbers have the opposite sign"),
    ("torch.relu({e})", "a ReLU is applied that is one too many"),
    ("({e}).sum(0)", "a sum runs over the first dimension"),
    ("({e}).sum(1)", "a sum runs over dimension 1"),
    ("({e}).sum(-1)", "a sum runs over the last dimension"),
    ("({e}).mean(1)", "a mean is taken over dimension 1"),
    ("({e}).unsqueeze(-1)", "the result has a dimension of size one too many"),
    ("({e}).unsqueeze(0)", "the result has a dimension of size one too many"),
    ("({e})[1:]", "the first one is left out"),
    ("({e})[:-1]", "the last one is left out"),
    ("({e}).tolist()", "a list comes back, not a tensor"),
    ("torch.tensor(({e}).tolist())", "numbers leave torch: gradient and dtype are lost"),
    ("({e}).double()", "something is made float64, whatever dtype is asked for"),
    ("({e}) + 1", "numbers are one too large or too small"),
    ("({e}) - 1", "numbers are one too large or too small"),
    ("({e}) * 2", "numbers are doubled or halved"),
    ("({e}) / 2", "numbers are doubled or halved"),
    ("({e}).transpose(1, 2).reshape(({e}).shape)", RESHAPED),
    ("({e}).mT.reshape(({e}).shape)", RESHAPED),
    ("({e}).transpose(0, 1).reshape(({e}).shape)", RESHAPED),
)
#: of what is returned, as well
RETURNED: tuple[tuple[str, str], ...] = (
    ("torch.zeros_like({e})", "zeros come back, whatever is asked for"),
    *(
        (f"torch.{function}({{e}})", "a function is applied to the result that is one too many")
        for function in ("cos", "sin", "exp", "log", "tanh", "sigmoid")
    ),
)
#: words of what may be done to any step: where a step of its own has others, those are told;
#: else the first
_WORDS = (*(words for _, words in (*WRAPPED, *RETURNED)), ORDER, OF_FIRST_CALL)
ANY_STEP_WORDS = tuple(dict.fromkeys(words for words in _WORDS if words not in (CUT, SINGLE)))
OF_SOFTMAX: tuple[tuple[str, str], ...] = (
    *((f"torch.softmax({{a}}, {dim})", AXIS) for dim in (-1, -2, -3, 0, 1, 2)),
    ("torch.nn.functional.softmax({a})", AXIS),
    ("torch.log_softmax({a}, -1)", "the logarithm of the weights is used"),
    ("torch.sigmoid({a})", "a sigmoid takes the place of softmax"),
    ("({a}) / ({a}).sum(-1, keepdim=True)", "scores are divided by their sum, without exponential"),
    ("torch.exp({a})", "the exponentials are not divided by their sum"),
    ("torch.exp({a}) / torch.exp({a}).sum(-1, keepdim=True)", OVERFLOWS),
    ("torch.softmax(({a}).masked_fill(torch.ones_like({a}).triu(1) > 0, -torch.inf), -1)", FUTURE),
    ("torch.softmax({a}, -1).tril()", "the future is set to 0 after softmax, and nothing follows"),
    ("torch.softmax(torch.softmax({a}, -1), -1)", "softmax is applied twice"),
    ("torch.softmax({a}, -1, dtype=torch.float32)", SINGLE),
    ("torch.softmax(-({a}), -1)", "the scores have the opposite sign"),
    ("torch.softmax({a}, -1).mT", "rows and columns of the weights are swapped"),
    ("({a})", "softmax is left out"),
)
OF_MASK: tuple[tuple[str, str], ...] = (
    ("({s})", "the mask has no effect"),
    *(
        (f"({{s}}).masked_fill({{m}}, {fill})", FILL)
        for fill in (0, -1, -2, -3, -4, -5, -10, -20, -50, -100)
    ),
    ("({s}).masked_fill({m}, 1e-9)", FILL),
    ("({s}).masked_fill({m}, -1e-9)", FILL),
    ("({s}) + ({m}).to(({s}).dtype)", "the mask is added as 0 and 1"),
    ("({s}) - ({m}).to(({s}).dtype)", "the mask is added as 0 and 1"),
    ("({s}) * ({m}).to(({s}).dtype)", "the scores are multiplied by the mask"),
    *((f"({{s}}) - {fill} * ({{m}})", FILL) for fill in (10, 100)),
    *(
        (
            f"({{s}}).masked_fill(({{m}}).{of}(-2, keepdim=True), -torch.inf)",
            "what is hidden from one token is hidden from all, or from none",
        )
        for of in ("any", "all")
    ),
    ("({s}).masked_fill({m}, float('nan'))", "masked scores get nan, not minus infinity"),
    ("({s}).masked_fill({m}, ({s}).min().item())", FILL),
    ("({s}).masked_fill({m}, float('inf'))", "masked scores get plus infinity, not minus"),
    ("({s}).masked_fill(~({m}), -torch.inf)", OTHER_WAY_ROUND),
    ("({s}).masked_fill(({m}).mT, -torch.inf)", "rows and columns of the mask are swapped"),
    ("({s}) + ({m}).to(({s}).dtype) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({s}) * ({m}) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({s}).masked_fill(({m}) | (torch.ones_like({s}).triu(1) > 0), -torch.inf)", FUTURE),
    (
        "({s}).masked_fill(({m}) | torch.eye(({m}).shape[-1], dtype=torch.bool), -torch.inf)",
        "a token does not see itself",
    ),
    (
        "({s}).masked_fill(({m}) & ~torch.ones_like({m}).triu(1).tril(1), -torch.inf)",
        "a token sees the next one",
    ),
)
OF_SCALE: tuple[tuple[str, str], ...] = (
    ("({l}) / ({b}) ** 0.5", SCALE),
    ("({l}) / ({b})", NO_ROOT),
    ("({l}) * ({b}) ** 0.5", LARGER),
    ("({l}) / int(({b}) ** 0.5)", "the root is cut to a whole number"),
    ("({l}) / round(({b}) ** 0.5)", "the root is rounded to a whole number"),
    ("({l}) / (({b}) / 2)", "the scores are divided by half of a size"),
    ("(({l}) / ({b})) ** 0.5", ORDER),
    ("({l}) / ({b}) ** 2", "the scores are divided by the square of a size"),
    ("({l}) * ({b})", LARGER),
)
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
    "size": "a size is one too large or too small",
    "arithmetic": "one operation is another than the one asked for",
    "other function": "another function is called than the one asked for",
    "comparison": "a comparison is another than the one asked for",
    "condition": "a condition is another than the one asked for, or none",
    "in place": "an operation writes into the caller's tensor",
    "detached": CUT,
    "other error": "an error of another class is raised than the one asked for",
    "no buffer": "what belongs to the module does not move with it",
    "sign": FILL,
    "argument removed": "an argument of a call is left out: what it is by default counts",
    "constant": "a number or a switch is another than the one asked for",
}
