"""Recomputes the numbers that the documents print, with one function for each recipe.

Every step that is one of our questions uses that question's solution. Random weights are drawn as
in the document and copied into our modules by name. Nothing here contains a printed result; some
recipes start from `printed` numbers of other outputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from autograder.suite import load_module

HERE = Path(__file__).parent
SOLUTIONS = HERE.parents[1] / "solutions"

#: six words as vectors of size 3, from which documents 000, 003 and 004 start
WORDS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
#: three words as vectors of size 6, for the long example of document 004
THREE_WORDS = torch.tensor([[[1.0, 2, 3, 4, 5, 6], [6.0, 5, 4, 3, 2, 1], [1.0, 1, 1, 1, 1, 1]]])
#: the sentence of document 002
SHOES = "My shoes are small, my feet are big."

PARTS = ("query", "key", "value")


@cache
def solution(name: str) -> ModuleType:
    """Returns the solution module of an exercise, given as `<assignment>/<exercise>`."""
    return load_module(SOLUTIONS / f"{name}.py", f"_known_outputs_{name.replace('/', '_')}")


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Returns every known output by its id."""
    files = sorted((HERE / "numbers").glob("*.json"))
    return {
        entry["id"]: entry
        for file in files
        for entry in json.loads(file.read_text(encoding="utf-8"))
    }


def printed(name: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Returns the numbers in another output as the document prints them."""
    return torch.tensor(entries()[name]["values"], dtype=dtype)


@contextmanager
def _seed(number: int, drawn_before: int = 0) -> Iterator[None]:
    """Seeds torch and skips some draws within the block; restores the generator afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        torch.rand(drawn_before)
        yield


def _copied(target: nn.Module, weights: dict[str, torch.Tensor]) -> nn.Module:
    """Copies all weights into a module by name; returns the module in eval mode."""
    parameters = dict(target.named_parameters())
    assert parameters.keys() == weights.keys()
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
    return target.eval()


def _layers(*sizes: tuple[str, int, int], bias: bool = True) -> dict[str, torch.Tensor]:
    """Returns the weights of linear layers, drawn in order: (name, input size, output size)."""
    weights: dict[str, torch.Tensor] = {}
    for name, size_in, size_out in sizes:
        layer = nn.Linear(size_in, size_out, bias=bias)
        for part, value in layer.named_parameters():
            weights[f"{name}.{part}"] = value.detach()
    return weights


def sum_of(recipe: str) -> torch.Tensor:
    return RECIPES[recipe]().sum()


def size_of(recipe: str, dimension: int) -> int:
    """Returns the size of one dimension of another recipe's result."""
    return RECIPES[recipe]().shape[dimension]


# attention without weights: documents 000 and 003


def words() -> torch.Tensor:
    return WORDS


def two_equal_sequences() -> torch.Tensor:
    return torch.stack([WORDS, WORDS])  # (2, 6, 3)


def scores_of_word_2() -> torch.Tensor:
    """Returns the second word's scores with all words."""
    return solution("simplified_attention/scores").query_scores(WORDS, WORDS[1])


def shares_of_word_2() -> torch.Tensor:
    """Returns the second word's scores divided by their sum."""
    return solution("simplified_attention/softmax").normalize_by_sum(scores_of_word_2())


def naive_weights_of_word_2() -> torch.Tensor:
    """Returns the softmax of the second word's scores, without subtracting the maximum."""
    return solution("simplified_attention/softmax").naive_softmax(scores_of_word_2())


def weights_of_word_2() -> torch.Tensor:
    return solution("simplified_attention/softmax").softmax(scores_of_word_2(), dim=0)


def context_of_word_2() -> torch.Tensor:
    """Returns the context of the second word, a weighted sum of the words."""
    return solution("simplified_attention/context").context_vector(weights_of_word_2(), WORDS)


def scores_word_by_word() -> torch.Tensor:
    """Returns all words' scores, with one call for each query."""
    ask = solution("simplified_attention/scores").query_scores
    return torch.stack([ask(WORDS, word) for word in WORDS])


def scores_at_once() -> torch.Tensor:
    """Returns all words' scores, as one matrix product."""
    return solution("simplified_attention/scores").attention_scores(WORDS, WORDS)


def weights_of_words() -> torch.Tensor:
    """Returns the softmax of each row of scores."""
    return solution("simplified_attention/softmax").softmax(scores_at_once(), dim=-1)


def row_sums_of_weights() -> torch.Tensor:
    return weights_of_words().sum(dim=-1)


def sum_of_printed_row(name: str, row: int) -> float:
    """Returns the sum of one row of another output, as a reader computes it."""
    return sum(entries()[name]["values"][row])


def contexts_step_by_step() -> torch.Tensor:
    """Returns the product of all words' weights and the words."""
    ask = solution("simplified_attention/context").context_vectors
    return ask(weights_of_words(), WORDS)


def contexts_in_one_call() -> torch.Tensor:
    """Returns all contexts from one function that computes scores, softmax and contexts."""
    return solution("simplified_attention/context").simplified_self_attention(WORDS)


# attention with weights: documents 000 and 003


@cache
def _matrices(draw: str) -> tuple[torch.Tensor, ...]:
    """Returns the query, key and value matrices, drawn by `randn` or `rand` with seed 123."""
    with _seed(123):
        return tuple(getattr(torch, draw)(3, 2) for _ in PARTS)


def projected_words(draw: str, part: str) -> torch.Tensor:
    """Returns the queries, keys or values of all words."""
    ask = solution("self_attention/projections").project_qkv
    return ask(WORDS, *_matrices(draw))[PARTS.index(part)]


def projected_word_2(draw: str, part: str) -> torch.Tensor:
    """Returns the query, key or value of the second word."""
    return projected_words(draw, part)[1]


def trained_scores_of_word_2() -> torch.Tensor:
    ask = solution("simplified_attention/scores").query_scores
    return ask(projected_words("rand", "key"), projected_word_2("rand", "query"))


def trained_score_of_word_2_for_itself() -> torch.Tensor:
    return trained_scores_of_word_2()[1]


def trained_weights_of_word_2() -> torch.Tensor:
    """Returns the softmax of the second word's scaled scores."""
    ask = solution("self_attention/scaling").attention_weights
    return ask(projected_word_2("rand", "query")[None], projected_words("rand", "key"))[0]


def trained_context_of_word_2() -> torch.Tensor:
    """Returns the sum of the values, weighted for the second word."""
    ask = solution("self_attention/scaling").scaled_dot_product_attention
    queries, keys, values = (projected_words("rand", part) for part in PARTS)
    return ask(queries[1:2], keys, values)[0]


def self_attention_v1(draw: str) -> torch.Tensor:
    """Returns the output of the layer with three matrices."""
    layer = solution("self_attention/self_attention").SelfAttentionV1(3, 2)
    weights = {f"W_{part}": w for part, w in zip(PARTS, _matrices(draw), strict=True)}
    return _copied(layer, weights)(WORDS)


@cache
def _self_attention_v2() -> nn.Module:
    """Returns the layer with three linear layers, whose weights are drawn with seed 789."""
    with _seed(789):
        weights = _layers(*((f"W_{part}", 3, 2) for part in PARTS), bias=False)
    return _copied(solution("self_attention/self_attention").SelfAttentionV2(3, 2), weights)


def self_attention_v2() -> torch.Tensor:
    return _self_attention_v2()(WORDS)


# causal attention: document 000


def _queries_and_keys() -> tuple[torch.Tensor, torch.Tensor]:
    layer = _self_attention_v2()
    return layer.W_query(WORDS), layer.W_key(WORDS)  # (6, 2) twice


def unmasked_weights() -> torch.Tensor:
    return solution("self_attention/scaling").attention_weights(*_queries_and_keys())


def nothing_masked() -> torch.Tensor:
    """Returns a matrix of ones, since each entry is either allowed or forbidden."""
    return allowed() + forbidden()


def allowed() -> torch.Tensor:
    """Returns 1 where attention is allowed, and 0 elsewhere."""
    return (~solution("causal_attention/masking").causal_mask(6)).float()


def forbidden() -> torch.Tensor:
    """Returns 1 where attention is forbidden, and 0 elsewhere."""
    return solution("causal_attention/masking").causal_mask(6).float()


def weights_with_zeroed_future() -> torch.Tensor:
    """Returns the unmasked weights, with zeros for the future."""
    mask = solution("causal_attention/masking").causal_mask(6)
    return unmasked_weights().masked_fill(mask, 0.0)


def renormalized_weights() -> torch.Tensor:
    """Returns the weights without the future, with renormalized rows."""
    return solution("causal_attention/masking").mask_and_renormalize(unmasked_weights())


def masked_scores() -> torch.Tensor:
    """Returns the unscaled scores, with minus infinity for the future."""
    scores = solution("simplified_attention/scores").attention_scores(*_queries_and_keys())
    return solution("causal_attention/masking").mask_scores(scores)


def causal_weights() -> torch.Tensor:
    return solution("causal_attention/masking").causal_attention_weights(*_queries_and_keys())


def _kept_entries(call: int) -> torch.Tensor:
    """Returns the entries of (6, 6) that torch's dropout keeps in its first (0) or second (1) call.

    The pattern is that of a CPU with MKL; other CPUs draw a different one with the same seed.
    """
    with _seed(123):
        for _ in range(call):
            nn.functional.dropout(torch.ones(6, 6), 0.5)
        return nn.functional.dropout(torch.ones(6, 6), 0.5) != 0


def _dropped_alike(
    drop: Callable[[], torch.Tensor], whole: torch.Tensor, kept: torch.Tensor
) -> torch.Tensor:
    """Returns the result of our dropout for a given pattern of kept entries.

    Our dropout may draw differently from torch's, so it is called many times. Each entry is taken
    from a call that kept or dropped it as the pattern says.
    """
    result = torch.full_like(whole, torch.nan)
    with _seed(0):
        for _ in range(64):
            value = drop()
            result = torch.where(((value != 0) == kept) | (whole == 0), value, result)
    return result


def dropped_ones() -> torch.Tensor:
    """Returns a (6, 6) matrix of ones after dropout with probability 0.5."""
    ones = torch.ones(6, 6)
    ask = solution("causal_attention/dropout").dropout
    return _dropped_alike(lambda: ask(ones, 0.5), ones, _kept_entries(0))


def dropped_weights() -> torch.Tensor:
    """Returns the causal weights after dropout with probability 0.5."""
    weights = causal_weights()
    ask = solution("causal_attention/dropout").dropout_attention_weights
    # if the values are the identity, the result is the dropped weights
    return _dropped_alike(lambda: ask(weights, torch.eye(6), 0.5), weights, _kept_entries(1))


@cache
def _causal_heads(count: int) -> dict[str, torch.Tensor]:
    """Returns the weights of causal heads, drawn one after the other with seed 123."""
    with _seed(123):
        return _layers(
            *((f"heads.{head}.W_{part}", 3, 2) for head in range(count) for part in PARTS),
            bias=False,
        )


def causal_layer() -> torch.Tensor:
    """Returns the output of one causal head for a batch of two sequences."""
    layer = solution("causal_attention/causal_attention").CausalAttention(3, 2, 6, 0.0)
    weights = {name.removeprefix("heads.0."): w for name, w in _causal_heads(1).items()}
    return _copied(layer, weights)(two_equal_sequences())


def several_causal_heads(count: int) -> torch.Tensor:
    """Returns the output of causal heads side by side for a batch of two sequences."""
    wrapper = solution("multi_head_attention/multi_head_wrapper").MultiHeadAttentionWrapper
    return _copied(wrapper(3, 2, 6, 0.0, count), _causal_heads(count))(two_equal_sequences())


# splitting heads: document 000, which does not show how many numbers were drawn before


def hidden_input() -> torch.Tensor:
    """Returns two sequences of four tokens of size 3, drawn after 12 other numbers."""
    with _seed(123, drawn_before=12):
        return torch.randn(2, 4, 3)


def hidden_input_part(item: int) -> torch.Tensor:
    return hidden_input()[item]


def _hidden_layer() -> nn.Linear:
    with _seed(123, drawn_before=48):
        return nn.Linear(3, 8)


def hidden_weight() -> torch.Tensor:
    return _hidden_layer().weight


def hidden_queries() -> torch.Tensor:
    return _hidden_layer()(hidden_input())  # (2, 4, 8)


def hidden_heads() -> torch.Tensor:
    return solution("multi_head_attention/heads").split_heads(hidden_queries(), 2)


def hidden_heads_by_token() -> torch.Tensor:
    """Returns the split queries with tokens before heads."""
    return hidden_heads().transpose(1, 2)


def part_of_printed(name: str, item: int) -> torch.Tensor:
    """Returns one item of another output as printed."""
    return printed(name)[item]


def queries_from_printed_heads() -> torch.Tensor:
    """Returns the printed heads, merged again."""
    by_token = printed("000-L883")  # (2, 4, 2, 4)
    return solution("multi_head_attention/heads").merge_heads(by_token.transpose(1, 2))


def heads_by_token_from_printed_queries() -> torch.Tensor:
    """Returns the printed queries, split into heads; the row that was cut off is computed."""
    whole, cut = entries()["000-L853"]["values"]  # four rows, and three of four
    rows = torch.tensor(whole + cut)  # (7, 8)
    products = printed("000-L818").flatten(0, 1) @ printed("000-L843").T  # (8, 8), without bias
    bias = (rows - products[:7]).mean(dim=0)
    queries = torch.cat([rows, products[7:] + bias]).reshape(2, 4, 8)
    return solution("multi_head_attention/heads").split_heads(queries, 2).transpose(1, 2)


def heads_from_printed_heads_by_token() -> torch.Tensor:
    """Returns the printed heads of each token, merged and split again."""
    queries = printed("000-L883").flatten(-2)  # (2, 4, 8)
    return solution("multi_head_attention/heads").split_heads(queries, 2)


# shapes of a large layer: document 001


@cache
def _large_heads() -> tuple[torch.Tensor, torch.Tensor]:
    """Returns random queries and keys of 16 x 100 tokens of size 512, split into 8 heads."""
    split = solution("multi_head_attention/heads").split_heads
    config = SimpleNamespace(n_embd=512, n_head=8, block_size=100, attn_pdrop=0.0, resid_pdrop=0.0)
    with _seed(0), torch.no_grad():
        layer = solution("multi_head_attention/gpt_attention").CausalSelfAttention(config)
        tokens = torch.rand(16, 100, 512)
        return split(layer.query(tokens), 8), split(layer.key(tokens), 8)


def large_keys() -> torch.Tensor:
    return _large_heads()[1]


@cache
def large_scores() -> torch.Tensor:
    return solution("simplified_attention/scores").attention_scores(*_large_heads())


# from words to numbers, and weights stored the other way round: document 002


def vocabulary() -> dict[str, int]:
    """Returns the ids of the words in `SHOES`."""
    return solution("self_attention/embedding").build_vocabulary(SHOES)


def token_ids() -> torch.Tensor:
    return solution("self_attention/embedding").encode(SHOES, vocabulary())


def embedded() -> torch.Tensor:
    """Returns the rows of a random embedding table for the sentence."""
    with _seed(123):
        table = nn.Embedding(8, 2).weight.detach()
    return solution("self_attention/embedding").embed(token_ids(), table)  # (8, 2)


def embedded_columns() -> torch.Tensor:
    """Returns the embedded sentence, transposed."""
    return embedded().T


def embedded_batch() -> torch.Tensor:
    """Returns the embedded sentence as a batch of one."""
    return embedded()[None]


def embedded_copies() -> torch.Tensor:
    """Returns the transposed embedding, repeated for each of three heads."""
    return embedded().T.repeat(3, 1, 1)  # (3, 2, 8)


def embedded_word_2() -> torch.Tensor:
    return embedded()[1]


@cache
def _left_matrices() -> tuple[torch.Tensor, ...]:
    """Returns the query, key and value matrices, stored as (out, in) and drawn with seed 123."""
    with _seed(123):
        return torch.rand(3, 2), torch.rand(3, 2), torch.rand(4, 2)


def left_matrix(part: str) -> torch.Tensor:
    return _left_matrices()[PARTS.index(part)]


def left_projected(part: str) -> torch.Tensor:
    """Returns the queries, keys or values of the embedded sentence."""
    ask = solution("self_attention/projections").project_qkv_left
    return ask(embedded(), *_left_matrices())[PARTS.index(part)]


def left_projected_word_2(part: str) -> torch.Tensor:
    """Returns the query, key or value of the second word."""
    return left_projected(part)[1]


def typed_query_entry() -> torch.Tensor:
    """Returns the first entry of the second word's query, in float64 from printed numbers."""
    matrix = printed("002-L140", torch.float64)
    ask = solution("self_attention/projections").project_qkv_left
    queries, _, _ = ask(printed("002-L137", torch.float64)[None], matrix, matrix, matrix)
    return queries[0, 0]


def typed_score(key: int) -> torch.Tensor:
    """Returns one score of the second word, computed in float64 from printed query and keys."""
    ask = solution("simplified_attention/scores").query_scores
    return ask(printed("002-L261", torch.float64), printed("002-L256", torch.float64))[key]


def typed_context(column: int) -> torch.Tensor:
    """Returns an entry of the second word's context, computed in float64 from printed numbers."""
    ask = solution("simplified_attention/context").context_vector
    weights = printed("002-L320", torch.float64)[0]
    return ask(weights, printed("002-L327", torch.float64))[column]


def left_score(key: int) -> torch.Tensor:
    """Returns the second word's score for one key."""
    return left_scores()[key]


def left_scores() -> torch.Tensor:
    ask = solution("simplified_attention/scores").query_scores
    return ask(left_projected("key"), left_projected_word_2("query"))


def left_scores_as_row() -> torch.Tensor:
    """Returns the second word's scores as a matrix of one row."""
    ask = solution("simplified_attention/scores").attention_scores
    return ask(left_projected("query")[1:2], left_projected("key"))


def left_weights() -> torch.Tensor:
    """Returns the softmax of the second word's scaled scores, as a matrix of one row."""
    ask = solution("self_attention/scaling").attention_weights
    return ask(left_projected("query")[1:2], left_projected("key"))


def left_context() -> torch.Tensor:
    """Returns the second word's context as a matrix of one row."""
    ask = solution("self_attention/scaling").scaled_dot_product_attention
    return ask(left_projected("query")[1:2], left_projected("key"), left_projected("value"))


def sliced_context() -> torch.Tensor:
    """Returns the second word's contexts for three slices of the values, side by side."""
    ask = solution("multi_head_attention/head_weights").slice_value_heads
    return ask(left_weights(), left_projected("value"), 3)  # (1, 3)


def sliced_context_part(head: int) -> torch.Tensor:
    """Returns the second word's context for one slice of the values."""
    return sliced_context()[:, head : head + 1]


def value_slice(head: int) -> torch.Tensor:
    """Returns one slice of the values, computed with the identity as weights."""
    ask = solution("multi_head_attention/head_weights").slice_value_heads
    return ask(torch.eye(8), left_projected("value"), 3)[:, head : head + 1]


# one weight matrix per head: document 002


@cache
def _head_matrices() -> tuple[torch.Tensor, ...]:
    """Returns the query, key and value matrices of three heads.

    They are drawn with seed 123 after 20 other numbers.
    """
    with _seed(123, drawn_before=20):
        return torch.rand(3, 3, 2), torch.rand(3, 3, 2), torch.rand(3, 4, 2)


def head_matrices(part: str) -> torch.Tensor:
    return _head_matrices()[PARTS.index(part)]


def projected_heads(part: str) -> torch.Tensor:
    """Returns the embedded sentence, projected by each head's matrix."""
    ask = solution("multi_head_attention/head_weights").project_heads
    return ask(embedded(), head_matrices(part))  # (3, 8, d)


def projected_heads_word_2(part: str) -> torch.Tensor:
    """Returns the second word, projected by each head's matrix."""
    ask = solution("multi_head_attention/head_weights").project_heads
    return ask(embedded_word_2()[None], head_matrices(part))[:, 0]


def projected_heads_by_column(part: str) -> torch.Tensor:
    """Returns the projected sentence of each head, with columns before tokens."""
    return projected_heads(part).transpose(1, 2)


# the encoder block: document 002


@cache
def _block_weights() -> dict[str, torch.Tensor]:
    """Returns the weights of the encoder block's attention and network.

    They are drawn with seed 123 after 20 other numbers.
    """
    names = ("W_query", "W_key", "W_value", "out_proj")
    with _seed(123, drawn_before=20):
        return {
            **_layers(*((f"attention.{name}", 2, 2) for name in names)),
            **_layers(("feed_forward.linear1", 2, 4), ("feed_forward.linear2", 4, 2)),
        }


def _of(part: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(f"{part}."): weight
        for name, weight in _block_weights().items()
        if name.startswith(part)
    }


@cache
def _encoder_attention() -> nn.Module:
    exercise = solution("transformer_block/multi_head_self_attention")
    return _copied(exercise.MultiHeadSelfAttention(2, 2), _of("attention"))


@cache
def _network() -> nn.Module:
    exercise = solution("transformer_block/feed_forward")
    return _copied(exercise.FeedForward(2, 4), _of("feed_forward"))


def encoder_projection(part: str) -> torch.Tensor:
    """Returns the unsplit queries, keys or values of the encoder's attention."""
    return getattr(_encoder_attention(), f"W_{part}")(embedded_batch())


def encoder_query_heads() -> torch.Tensor:
    return solution("multi_head_attention/heads").split_heads(encoder_projection("query"), 2)


def encoder_attention() -> torch.Tensor:
    return _encoder_attention()(embedded_batch())


def first_add_and_norm() -> torch.Tensor:
    """Returns the normalized sum of input and attention, with weight 1 and bias 0."""
    ask = solution("transformer_block/encoder_block").add_and_norm
    return ask(embedded_batch(), encoder_attention(), torch.ones(2), torch.zeros(2))


def network_text() -> str:
    return repr(_network())


def network() -> torch.Tensor:
    """Returns the feed-forward network's output for the first normalized sum."""
    return _network()(first_add_and_norm())


def encoder_block() -> torch.Tensor:
    """Returns the output of the whole block, whose norms have their initial weights."""
    block = solution("transformer_block/encoder_block").EncoderBlock(2, 2, 4)
    norms = {name: w for name, w in block.state_dict().items() if name.startswith("norm")}
    return _copied(block, {**_block_weights(), **norms})(embedded_batch())


# weight split, step by step: document 004


@cache
def _split_layer() -> nn.Module:
    """Returns multi-head attention with linear layers for queries, keys and values.

    Their weights are drawn with seed 123 after 36 other numbers. The last projection is the
    identity.
    """
    with _seed(123, drawn_before=36):
        weights = _layers(*((f"W_{part}", 6, 6) for part in PARTS))
    exercise = solution("multi_head_attention/multi_head_attention")
    layer = exercise.MultiHeadAttention(6, 6, 3, 0.0, 2, qkv_bias=True)
    weights |= {"out_proj.weight": torch.eye(6), "out_proj.bias": torch.zeros(6)}
    return _copied(layer, weights)


def split_layer_text(part: str) -> str:
    """Returns the printed form of the layer for queries, keys or values."""
    return repr(getattr(_split_layer(), f"W_{part}"))


def split_layer_weight(part: str) -> torch.Tensor:
    return getattr(_split_layer(), f"W_{part}").weight


def split_layer_bias(part: str) -> torch.Tensor:
    return getattr(_split_layer(), f"W_{part}").bias


def split_projection(part: str) -> torch.Tensor:
    """Returns the unsplit queries, keys or values of `THREE_WORDS`."""
    return getattr(_split_layer(), f"W_{part}")(THREE_WORDS)  # (1, 3, 6)


def split_heads(part: str) -> torch.Tensor:
    return solution("multi_head_attention/heads").split_heads(split_projection(part), 2)


def split_heads_by_token(part: str) -> torch.Tensor:
    """Returns the split queries, keys or values with tokens before heads."""
    return split_heads(part).transpose(1, 2)


def split_scores() -> torch.Tensor:
    ask = solution("simplified_attention/scores").attention_scores
    return ask(split_heads("query"), split_heads("key"))


def split_masked() -> torch.Tensor:
    """Returns the scores, with minus infinity for the future."""
    return solution("causal_attention/masking").mask_scores(split_scores())


def split_scaled() -> torch.Tensor:
    """Returns the masked scores divided by the square root of the head size."""
    return solution("self_attention/scaling").scale_scores(split_masked(), 3)


def split_weights() -> torch.Tensor:
    return solution("simplified_attention/softmax").softmax(split_scaled(), dim=-1)


def split_contexts() -> torch.Tensor:
    """Returns each head's weights times its values."""
    ask = solution("simplified_attention/context").context_vectors
    return ask(split_weights(), split_heads("value"))


def split_contexts_in_one_call() -> torch.Tensor:
    """Returns the contexts from one function that masks, scales and applies softmax."""
    ask = solution("multi_head_attention/heads").causal_head_attention
    return ask(*(split_heads(part) for part in PARTS))


def split_contexts_by_token() -> torch.Tensor:
    """Returns the contexts, with tokens before heads."""
    return split_contexts().transpose(1, 2)


def merged_contexts() -> torch.Tensor:
    """Returns the contexts of all heads side by side."""
    return solution("multi_head_attention/heads").merge_heads(split_contexts())


def merged_contexts_of_the_layer() -> torch.Tensor:
    return _split_layer()(THREE_WORDS)


#: the public functions of this module by name; each computes a printed output
RECIPES: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", None) == __name__
    and not name.startswith("_")
    and name not in ("solution", "entries", "printed")
}
