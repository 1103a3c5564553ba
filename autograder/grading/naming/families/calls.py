"""Other ways to call what a step calls, and to hand back what it hands back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

#: of calls: a keyword, other values of it, and what they do
_KEYWORDS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "Linear": (
        ("bias", "a layer has no bias that should have one", ("False",)),
        ("bias", "a layer has a bias that nobody asked for", ("True",)),
    ),
    "LayerNorm": (("eps", "the norm has another eps than the one asked for", ("1e-6", "1e-12")),),
    "tensor": (
        ("dtype", "numbers have another dtype than asked for", ("torch.int32", "torch.float32")),
    ),
}
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
    if called in ("cat", "stack") and node.args:
        turned = ast.parse(f"list({ast.unparse(node.args[0])})[::-1]", mode="eval").body
        text = ast.unparse(ast.Call(node.func, [turned, *node.args[1:]], node.keywords))
        yield text, "the parts are put together in the opposite order"
    for part, words in _ROUNDS.items() if called == "range" else ():
        yield f"list({ast.unparse(node)})[{part}]", words
    if called in ("tril", "triu") and isinstance(node.func, ast.Attribute):
        yield from _diagonals(node, called)


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
    for step in (1, -1):
        text = f"torch.{called}({ast.unparse(matrix)}, ({own}) + ({step}))"
        yield text, "the mask begins one diagonal too early or too late"
