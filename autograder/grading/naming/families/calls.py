"""What students write in the place of a call, or give to it, each with its words.

`{0}`, `{1}`, `{2}` are the arguments of a call, of a method the object is the first. `{rest}` are
those after the first, `{given}` those by position, `{named}` those by name, a keyword in braces its
value; `{l}` and `{r}` are the sides of the first one, `{minus}` what is subtracted there; `{f}` is
the function and `{all}` the whole call. Rows with a part that a call does not have
do not count for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .tables import FILL, OTHER_WAY_ROUND, SINGLE, SLICE, Rows

OVERFLOWS = "exponentials are taken of numbers as they come: of large ones they are infinite"
DIAGONAL = "the border of a mask lies some diagonals too far to one side"
BIAS_LEFT_OUT = "a layer has no bias that should have one"
BIAS_TOO_MANY = "a layer has a bias that nobody asked for"
OF_PART_OF_SUM = "a function is applied to one part of a sum, not to the whole"
PARAMETER = "what should not train is a parameter"
AXIS = "softmax runs along another dimension than the one asked for"
FUTURE = "the future is hidden, which nobody asked for"
_LARGER = "the larger of two is taken where they should be put together"
_LOGARITHMS = "logarithms are added where the numbers that they stand for should be"
_ONE_OF_TWO = "one of two is taken where the larger one is asked for"
MODES = (("", "in training"), ("not ", "in evaluation"))
_OF_SOFTMAX: Rows = (
    *((f"torch.softmax({{0}}, {dim})", AXIS) for dim in (-1, -2, -3, 0, 1, 2)),
    ("torch.nn.functional.softmax({0})", AXIS),
    ("torch.softmax(({0}).clamp(-50, 50), -1)", "large numbers are cut off"),
    ("torch.sigmoid({0})", "a sigmoid takes the place of softmax"),
    ("torch.exp({0})", "the exponentials are not divided by their sum"),
    ("torch.exp({0}) / torch.exp({0}).sum(-1, keepdim=True)", OVERFLOWS),
    ("torch.softmax(({0}).masked_fill(torch.ones_like({0}).triu(1) > 0, -torch.inf), -1)", FUTURE),
    ("torch.softmax(({0}).masked_fill(torch.ones_like({0}).triu(1) > 0, -1e9), -1)", FUTURE),
    ("torch.softmax(torch.softmax({0}, -1), -1)", "softmax is applied twice"),
    ("torch.softmax({0}, -1, dtype=torch.float32)", SINGLE),
    ("torch.softmax({0}, -1).mT", "rows and columns of the weights are swapped"),
    ("({0})", "softmax is left out"),
    ("torch.softmax({l}, -1) / ({r})", "the weights are divided, not the scores"),
)
_OF_MASK: Rows = (
    ("({0})", "the mask has no effect"),
    *(
        (f"({{0}}).masked_fill({{1}}, {fill})", FILL)
        for fill in (0, -1, -2, -3, -4, -5, -10, -20, -50, -100)
    ),
    ("({0}).masked_fill({1}, 1e-9)", FILL),
    ("({0}).masked_fill({1}, -1e-9)", FILL),
    ("({0}) + ({1}).to(({0}).dtype)", "the mask is added or subtracted as 0 and 1"),
    ("({0}) - ({1}).to(({0}).dtype)", "the mask is added or subtracted as 0 and 1"),
    *((f"({{0}}) - {fill} * ({{1}})", FILL) for fill in (10, 100)),
    ("({0}).masked_fill({1}, ({0}).min().item())", FILL),
    ("({0}).masked_fill(~({1}), -torch.inf)", OTHER_WAY_ROUND),
    ("({0}).masked_fill(~({1}), -1e9)", OTHER_WAY_ROUND),
    ("({0}).masked_fill(({1}).mT, -torch.inf)", "rows and columns of the mask are swapped"),
    ("({0}) + ({1}).to(({0}).dtype) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({0}) * ({1}) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({0}).masked_fill(({1}) | (torch.ones_like({0}).triu(1) > 0), -torch.inf)", FUTURE),
    *(
        (f"({{all}}) if {when}{{self}}.training else ({{0}})", f"the mask is applied {words} only")
        for when, words in MODES
    ),
)
_SQUARE = "torch.ones(({0}).shape[-2], ({1}).shape[-2], dtype=torch.bool)"
_OF_ATTENTION: Rows = (
    ("{f}({given}, )", "the mask has no effect"),
    ("{f}({given}, attn_mask=~({attn_mask}))", OTHER_WAY_ROUND),
    ("{f}({given}, attn_mask=({attn_mask}).mT)", "rows and columns of the mask are swapped"),
    ("{f}({given}, is_causal=True)", FUTURE),
    (f"{{f}}({{given}}, attn_mask={_SQUARE}.triu(1))", OTHER_WAY_ROUND),
    ("{f}({given}, {named}, scale=1.0)", "the scores are not scaled"),
    (
        "{f}({given}, {named}, scale=1 / ({0}).shape[-1])",
        "the scores are divided by a size, not by its root",
    ),
)
_TURNED: Rows = (
    ("{f}(list({0})[::-1], {rest})", "the parts are put together in the opposite order"),
)
#: of several parts that are put together, and have no names of their own
OF_PARTS: Rows = (
    ("({0})[0]", "the first of several parts is used, and no other"),
    ("({0})[-1]", "the last of several parts is used, and no other"),
    ("sum({0})", "several parts are added up that should stand side by side"),
    ("(sum({0}) / len({0}))", "a mean is taken of several parts that should stand side by side"),
)
_DIAGONALS: Rows = tuple(
    (f"torch.{{called}}({{0}}, ({{diagonal}}) + ({step}))", words)
    for words in (DIAGONAL,)
    for step in (1, 2, -1, -2)
)
#: of calls, by the last part of their name; of layers; of one of a sum
OF_CALLS: Mapping[str, Rows] = {
    "softmax": _OF_SOFTMAX,
    "masked_fill": _OF_MASK,
    "scaled_dot_product_attention": _OF_ATTENTION,
    "cat": _TURNED,
    "stack": _TURNED,
    "tril": _DIAGONALS,
    "triu": _DIAGONALS,
    "dropout": (
        *(
            (
                f"({{all}}) if {when}{{self}}.training else ({{0}})",
                f"dropout is applied {words} only",
            )
            for when, words in MODES
        ),
        (
            "(kept := {all}) / kept.sum(-1, keepdim=True).clamp(min=1e-9)",
            "rows are made to sum to one again after dropout",
        ),
        ("{f}({given}, )", "dropout is applied in evaluation as well"),
    ),
    "exp": (
        ("torch.exp(({l}).clamp(-50, 50))", "large numbers are cut off"),
        ("torch.exp({l}) / torch.exp({minus})", OVERFLOWS),
    ),
    "transpose": (
        (
            "({0}).flatten(2).unflatten(2, ({0}).shape[:1:-1]).transpose(2, 3).transpose({rest})",
            "columns are dealt out to the heads in turn, not in blocks",
        ),
    ),
    "logaddexp": (
        ("torch.log(torch.exp({0}) + torch.exp({1}))", OVERFLOWS),
        ("({0}) + ({1})", _LOGARITHMS),
        ("torch.maximum({0}, {1})", _LARGER),
    ),
    "logsumexp": (
        ("torch.log(torch.exp({0}).sum({rest}))", OVERFLOWS),
        ("({0}).sum({rest})", _LOGARITHMS),
        ("({0}).amax({rest})", _LARGER),
    ),
    "range": (
        ("range({0}, {1} - {2} + 1, {2})", "a last part that is shorter is left out"),
        ("list({all})[:1]", "a loop makes its first round only"),
        ("list({all})[-1:]", "a loop makes its last round only"),
        ("list({all})[1:]", "a loop leaves its first round out"),
        ("list({all})[:-1]", "a loop leaves its last round out"),
    ),
    "slice": (("slice({0}, {1} + 1)", SLICE), ("slice({0}, {1} - 1)", SLICE)),
    "amax": (("({0}).argmax({rest})", "the place of the largest is taken in place of its value"),),
    "maximum": (("{0}", _ONE_OF_TWO), ("{1}", _ONE_OF_TWO)),
    "split": (
        ("sorted({0}.split({rest}))", "things are put in order that should stay in their places"),
        ("list(dict.fromkeys({0}.split({rest})))", "what stands there twice counts once"),
        ("{0}.lower().split({rest})", "capital letters are made small"),
        ("__import__('re').findall(r'\\w+', {0})", "words are split at any sign, not at blanks"),
    ),
    "register_buffer": (
        (
            "self.register_parameter({0}, torch.nn.Parameter({1}, requires_grad=False))",
            PARAMETER,
        ),
    ),
}
#: of layers
OF_LAYERS: Rows = (
    ("({0}) @ {f}.weight", "a layer's weight is used without its transpose"),
    ("torch.nn.functional.linear({0}, {f}.weight)", "a layer's bias is not used"),
)
#: of any function of a sum
OF_SUMS: Rows = tuple((text, OF_PART_OF_SUM) for text in ("{f}({l}) + {r}", "{l} + {f}({r})"))
#: what runs along a dimension
_RUNNING: Mapping[str, str] = {
    **{"sum": "a sum runs", "mean": "a mean runs", "var": "a variance runs"},
    **{"std": "a standard deviation runs", "amax": "a maximum runs", "max": "a maximum runs"},
    **{"cat": "parts are put together", "stack": "parts are put together"},
    **{"repeat_interleave": "parts are repeated", "chunk": "numbers are cut into parts"},
    "logsumexp": "a sum of exponentials runs",
}
_OVER_ALL = "over all numbers at once"
_ALONG_ANOTHER = "along another dimension than the one asked for"
#: what runs along dimension 0 where none is given
_WITHOUT_DIMENSION: Mapping[str, str] = dict.fromkeys(("cat", "stack", "chunk"), _ALONG_ANOTHER)
#: of calls: a keyword, what another value of it does, and such values; those of `dim` count only
#: where it has one
KEYWORDS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "Linear": (
        ("bias", BIAS_LEFT_OUT, ("False",)),
        ("bias", BIAS_TOO_MANY, ("True",)),
        ("bias", "a switch for other layers decides on the bias of one", ("qkv_bias",)),
    ),
    "LayerNorm": (
        ("eps", "the norm has another eps than the one asked for", ("1e-3", "1e-6", "1e-12")),
    ),
    "tensor": (
        ("dtype", "numbers have another dtype than asked for", ("torch.int32", "torch.float32")),
    ),
    **{
        called: (
            ("dim", f"{running} {_WITHOUT_DIMENSION.get(called, _OVER_ALL)}", ("",)),
            (
                "dim",
                f"{running} {_ALONG_ANOTHER}",
                ("-1", "-2", "0", "1", "2"),
            ),
        )
        for called, running in _RUNNING.items()
    },
}
