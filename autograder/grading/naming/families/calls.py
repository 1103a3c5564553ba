"""What students write in the place of a call, or give to it, each with its words.

`{0}`, `{1}`, `{2}` are the arguments of a call, of a method the object is the first. `{rest}` are
those after the first, `{given}` those by position, `{named}` those by name, a keyword in braces its
value; `{f}` is the function and `{all}` the whole call. Rows with a part that a call does not have
do not count for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .tables import FILL, OTHER_WAY_ROUND, SINGLE, SLICE, Rows

OVERFLOWS = "exponentials are taken of scores as they come: of large ones they are infinite"
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
    ("torch.log_softmax({0}, -1)", "the logarithm of the weights is used"),
    ("torch.sigmoid({0})", "a sigmoid takes the place of softmax"),
    ("({0}) / ({0}).sum(-1, keepdim=True)", "scores are divided by their sum, without exponential"),
    ("torch.exp({0})", "the exponentials are not divided by their sum"),
    ("torch.exp({0}) / torch.exp({0}).sum(-1, keepdim=True)", OVERFLOWS),
    ("torch.softmax(({0}).masked_fill(torch.ones_like({0}).triu(1) > 0, -torch.inf), -1)", FUTURE),
    ("torch.softmax({0}, -1).tril()", "the future is set to 0 after softmax, and nothing follows"),
    ("torch.softmax(torch.softmax({0}, -1), -1)", "softmax is applied twice"),
    ("torch.softmax({0}, -1, dtype=torch.float32)", SINGLE),
    ("torch.softmax(-({0}), -1)", "the scores have the opposite sign"),
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
    ("({0}) + ({1}).to(({0}).dtype)", "the mask is added as 0 and 1"),
    ("({0}) - ({1}).to(({0}).dtype)", "the mask is added as 0 and 1"),
    ("({0}) * ({1}).to(({0}).dtype)", "the scores are multiplied by the mask"),
    *((f"({{0}}) - {fill} * ({{1}})", FILL) for fill in (10, 100)),
    *(
        (
            f"({{0}}).masked_fill(({{1}}).{of}(-2, keepdim=True), -torch.inf)",
            "what is hidden from one token is hidden from all, or from none",
        )
        for of in ("any", "all")
    ),
    ("({0}).masked_fill({1}, float('nan'))", "masked scores get nan, not minus infinity"),
    ("({0}).masked_fill({1}, ({0}).min().item())", FILL),
    ("({0}).masked_fill({1}, float('inf'))", "masked scores get plus infinity, not minus"),
    ("({0}).masked_fill(~({1}), -torch.inf)", OTHER_WAY_ROUND),
    ("({0}).masked_fill(({1}).mT, -torch.inf)", "rows and columns of the mask are swapped"),
    ("({0}) + ({1}).to(({0}).dtype) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({0}) * ({1}) * -torch.inf", "0 times minus infinity makes nan of scores"),
    ("({0}).masked_fill(({1}) | (torch.ones_like({0}).triu(1) > 0), -torch.inf)", FUTURE),
    (
        "({0}).masked_fill(({1}) | torch.eye(({1}).shape[-1], dtype=torch.bool), -torch.inf)",
        "a token does not see itself",
    ),
    (
        "({0}).masked_fill(({1}) & ~torch.ones_like({1}).triu(1).tril(1), -torch.inf)",
        "a token sees the next one",
    ),
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
#: of several parts that are put together
_OF_PARTS: Rows = (
    ("{f}(list({0})[::-1], {rest})", "the parts are put together in the opposite order"),
    ("({0})[0]", "the first of several parts is used, and no other"),
    ("({0})[-1]", "the last of several parts is used, and no other"),
    ("sum({0})", "several parts are added up that should stand side by side"),
    ("(sum({0}) / len({0}))", "a mean of several parts is taken that should stand side by side"),
)
_DIAGONALS: Rows = tuple(
    (f"torch.{{called}}({{0}}, ({{diagonal}}) + ({step}))", words)
    for words in ("the mask begins some diagonals too early or too late",)
    for step in (1, 2, -1, -2)
)
#: of calls, by the last part of their name; of layers; of one of a sum
OF_CALLS: Mapping[str, Rows] = {
    "softmax": _OF_SOFTMAX,
    "masked_fill": _OF_MASK,
    "scaled_dot_product_attention": _OF_ATTENTION,
    "cat": _OF_PARTS,
    "stack": _OF_PARTS,
    "tril": _DIAGONALS,
    "triu": _DIAGONALS,
    "dropout": tuple(
        (f"({{all}}) if {when}{{self}}.training else ({{0}})", f"dropout is applied {words} only")
        for when, words in MODES
    ),
    "relu": (
        ("torch.nn.functional.gelu({0})", "GELU, not ReLU"),
        ("torch.nn.functional.leaky_relu({0})", "a leaky ReLU"),
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
    ),
    "repeat_interleave": (
        ("({0}).repeat(1, {1}, 1, 1)", "heads are repeated in turns, not each for its group"),
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
OF_SUMS: Rows = tuple(
    (text, "a function is applied to one part of a sum, not to the whole")
    for text in ("{f}({l}) + {r}", "{l} + {f}({r})")
)
_REDUCTIONS = (
    *("sum", "mean", "var", "std", "amax", "max", "cat", "stack", "repeat_interleave"),
    *("logsumexp", "chunk"),
)
#: of calls: a keyword, what another value of it does, and such values; those of `dim` count only
#: where it has one
KEYWORDS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "Linear": (
        ("bias", "a layer has no bias that should have one", ("False",)),
        ("bias", "a layer has a bias that nobody asked for", ("True",)),
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
            ("dim", f"`{called}` runs over all numbers at once", ("",)),
            (
                "dim",
                f"`{called}` runs along another dimension than the one asked for",
                ("-1", "-2", "0", "1", "2"),
            ),
        )
        for called in _REDUCTIONS
    },
}
