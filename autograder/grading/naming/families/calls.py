"""Other ways to call what a step calls, and to hand back what it hands back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

OVERFLOWS = "exponentials are taken of scores as they come: of large ones they are infinite"
OTHER_WAY_ROUND = "the mask is the other way round"
SLICE = "a slice is too long or too short"
_LARGER = "the larger of two is taken where they should be put together"
_LOGARITHMS = "logarithms are added where the numbers that they stand for should be"
PARAMETER = "what should not train is a parameter"
#: of calls: other texts with their arguments, and what they do
_OTHER_CALLS: Mapping[str, tuple[tuple[str, str], ...]] = {
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
    "range": (("range({0}, {1} - {2} + 1, {2})", "a last part that is shorter is left out"),),
    "slice": (("slice({0}, {1} + 1)", SLICE), ("slice({0}, {1} - 1)", SLICE)),
    "amax": (("({0}).argmax({rest})", "the place of the largest is taken in place of its value"),),
    "maximum": (
        ("{0}", "one of two is taken where the larger one is asked for"),
        ("{1}", "one of two is taken where the larger one is asked for"),
    ),
    "split": (
        ("sorted({0}.split({rest}))", "things are put in order that should stay in their places"),
        ("list(dict.fromkeys({0}.split({rest})))", "what stands there twice counts once"),
    ),
    "repeat_interleave": (
        ("({0}).repeat(1, {1}, 1, 1)", "heads are repeated in turns, not each for its group"),
    ),
}
#: what may be made of several parts: all at once, or one of them
_TOGETHER: tuple[tuple[str, str], ...] = (
    ("({0})[0]", "the first of several parts is used, and no other"),
    ("({0})[-1]", "the last of several parts is used, and no other"),
    ("sum({0})", "several parts are added up that should stand side by side"),
    ("(sum({0}) / len({0}))", "a mean of several parts is taken that should stand side by side"),
)
#: of calls: a keyword, other values of it, and what they do
_KEYWORDS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
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
}
_SQUARE = "torch.ones(({q}).shape[-2], ({k}).shape[-2], dtype=torch.bool)"
#: of torch's attention: other keywords, and what they do; a mask is True where a token is seen
_OF_ATTENTION: tuple[tuple[str, str], ...] = (
    ("", "the mask has no effect"),
    ("attn_mask=~({m})", OTHER_WAY_ROUND),
    ("attn_mask=({m}).mT", "rows and columns of the mask are swapped"),
    ("is_causal=True", "the future is hidden, which nobody asked for"),
    (f"attn_mask={_SQUARE}.triu(1)", OTHER_WAY_ROUND),
    ("{rest}, scale=1.0", "the scores are not scaled"),
    ("{rest}, scale=1 / ({q}).shape[-1]", "the scores are divided by a size, not by its root"),
)
#: which rounds of a loop are made
_ROUNDS = {
    ":1": "a loop makes its first round only",
    "-1:": "a loop makes its last round only",
    "1:": "a loop leaves its first round out",
    ":-1": "a loop leaves its last round out",
}


def of_call(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    """Other keywords, the parts in the opposite order, a diagonal above or below."""
    yield from _with_keywords(node, called)
    yield from _others(node, called)
    if called in ("cat", "stack") and node.args:
        turned = ast.parse(f"list({ast.unparse(node.args[0])})[::-1]", mode="eval").body
        text = ast.unparse(ast.Call(node.func, [turned, *node.args[1:]], node.keywords))
        yield text, "the parts are put together in the opposite order"
        parts = "" if isinstance(node.args[0], ast.List) else ast.unparse(node.args[0])
        yield from ((text.format(parts), words) for text, words in _TOGETHER if parts)
    if called == "register_buffer":
        name, value = (ast.unparse(arg) for arg in node.args)
        made = f"torch.nn.Parameter({value}, requires_grad=False)"
        yield f"self.register_parameter({name}, {made})", PARAMETER
    for part, words in _ROUNDS.items() if called == "range" else ():
        yield f"list({ast.unparse(node)})[{part}]", words
    if called == "scaled_dot_product_attention":
        yield from _of_attention(node)
    if called in ("tril", "triu") and isinstance(node.func, ast.Attribute):
        yield from _diagonals(node, called)


def _others(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    """What takes the place of a call: a method's object is its first argument."""
    arguments = [ast.unparse(part) for part in (*node.args, *node.keywords)]
    if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "torch":
        arguments.insert(0, ast.unparse(node.func.value))
    for text, words in _OTHER_CALLS.get(called, ()):
        if all(f"{{{index}}}" not in text for index in range(len(arguments), 3)):
            yield text.format(*arguments, rest=", ".join(arguments[1:])), words
    if _is_layer(node.func) and len(node.args) == 1:
        layer, value = ast.unparse(node.func), ast.unparse(node.args[0])
        yield f"({value}) @ {layer}.weight", "a layer's weight is used without its transpose"
        yield f"torch.nn.functional.linear({value}, {layer}.weight)", "a layer's bias is not used"
    if len(node.args) == 1 and isinstance(node.args[0], ast.BinOp):
        part, function = node.args[0], ast.unparse(node.func)
        left, right = ast.unparse(part.left), ast.unparse(part.right)
        if isinstance(part.op, ast.Add):
            words = "a function is applied to one part of a sum, not to the whole"
            yield from (
                (f"{function}({left}) + {right}", words),
                (f"{left} + {function}({right})", words),
            )


def _of_attention(node: ast.Call) -> Iterator[tuple[str, str]]:
    """Torch's attention with another mask, scale or dropout."""
    mask = next((ast.unparse(k.value) for k in node.keywords if k.arg == "attn_mask"), "")
    rest, given = ", ".join(map(ast.unparse, node.keywords)), ", ".join(map(ast.unparse, node.args))
    if len(node.args) < 2 or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    parts = {"q": ast.unparse(node.args[0]), "k": ast.unparse(node.args[1]), "m": mask}
    for text, words in _OF_ATTENTION:
        if mask or "{m}" not in text:
            others = text.format(rest=rest, **parts).lstrip(", ")
            yield f"{ast.unparse(node.func)}({given}, {others})", words


def _is_layer(node: ast.expr) -> bool:
    """Whether it is `self.name`."""
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"


def of_tuple(value: ast.Tuple) -> Iterator[tuple[str, str]]:
    """One of several results alone, or all of them in another order."""
    items = [ast.unparse(item) for item in value.elts]
    for index, item in enumerate(items):
        yield item, "less comes back than is asked for"
        yield f"torch.stack([{', '.join(items)}])", "one tensor comes back in place of several"
        turned = [*items[index + 1 :], *items[: index + 1]]
        if turned != items:
            yield f"({', '.join(turned)})", "the results come back in another order"
    yield f"({', '.join(reversed(items))})", "the results come back in another order"


def _with_keywords(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    for name, words, values in _KEYWORDS.get(called, ()):
        kept = [keyword for keyword in node.keywords if keyword.arg != name]
        for value in values:
            keywords = [*kept, ast.keyword(name, ast.parse(value, mode="eval").body)]
            yield ast.unparse(ast.Call(node.func, node.args, keywords)), words


def _diagonals(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    """The diagonal above, and the one below: of `x.tril()` and of `torch.tril(x)`."""
    assert isinstance(node.func, ast.Attribute)
    is_module = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    matrix, *numbers = node.args if is_module else [node.func.value, *node.args]
    numbers += [keyword.value for keyword in node.keywords]
    own = ast.unparse(numbers[0]) if numbers else "0"
    for step in (1, 2, -1, -2):
        text = f"torch.{called}({ast.unparse(matrix)}, ({own}) + ({step}))"
        yield text, "the mask begins some diagonals too early or too late"
