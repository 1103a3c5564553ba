"""Hidden suite of `encoder_block`: 50 of the assignment's 100 points."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_rule, check_trait

RULES = rules_of(__file__)
#: the spread of tokens, so large that eps does not matter, because other tests check eps. Float32
#: tokens have at least 8 entries: with fewer, some tokens would be far from zero with entries close
#: to each other, and the mean of the squares minus the squared mean would lose digits.
WIDE = 30.0


# add_and_norm: 20 points


@pytest.mark.question("add_and_norm", points=3)
def test_one_token_with_a_plain_scale(expect: Expect, draw: Draw) -> None:
    expect.same(
        "add_and_norm",
        draw.normal(1, 9, scale=WIDE),
        draw.normal(1, 9, scale=WIDE),
        torch.ones(9),
        torch.zeros(9),
        likely="add first; then subtract the token's mean and divide by the square root of its "
        "variance, which is the sum of the squared distances from the mean, divided by D",
    )


@pytest.mark.question("add_and_norm", points=3)
def test_weight_and_bias_of_every_entry(expect: Expect, draw: Draw) -> None:
    expect.same(
        "add_and_norm",
        draw.normal(5, 9, scale=WIDE),
        draw.normal(5, 9, scale=WIDE),
        draw.normal(9),
        draw.normal(9),
        likely="after normalizing, multiply entry i of every token by weight[i], then add bias[i]",
    )


@pytest.mark.question("add_and_norm", points=2)
def test_every_token_of_a_batch_is_normalised_alone(expect: Expect, draw: Draw) -> None:
    # Tokens have different means, so that a mean over several tokens is noticed. They are float64,
    # because one right formula for the variance loses digits far from zero. The tolerance is
    # smaller in float64, so tokens need a larger spread for eps not to matter.
    wide = 100 * WIDE
    offsets = draw.normal(3, 5, 1, scale=3 * wide, dtype=torch.float64)
    expect.same(
        "add_and_norm",
        draw.normal(3, 5, 4, scale=wide, dtype=torch.float64) + offsets,
        draw.normal(3, 5, 4, scale=wide, dtype=torch.float64),
        draw.normal(4, dtype=torch.float64),
        draw.normal(4, dtype=torch.float64),
        likely="take the mean and the variance over the last dimension only: one of each for "
        "every token",
    )


@pytest.mark.question("add_and_norm", points=1)
def test_four_dimensions(expect: Expect, draw: Draw) -> None:
    expect.same(
        "add_and_norm",
        draw.normal(2, 3, 5, 9, scale=WIDE),
        draw.normal(2, 3, 5, 9, scale=WIDE),
        draw.normal(9),
        draw.normal(9),
        likely="count the dimension from the end (-1), not from the front",
    )


@pytest.mark.question("add_and_norm", points=2)
def test_tokens_that_hardly_vary(expect: Expect, draw: Draw) -> None:
    # in float64, so that all right formulas for the variance are exact enough
    expect.same(
        "add_and_norm",
        draw.normal(4, 6, scale=3e-3, dtype=torch.float64),
        draw.normal(4, 6, scale=3e-3, dtype=torch.float64),
        draw.normal(6, dtype=torch.float64),
        draw.normal(6, dtype=torch.float64),
        likely="add eps (1e-5 by default) to the variance before taking the square root",
    )
    whole = torch.tensor([[2.0], [-3.0]], dtype=torch.float64).expand(2, 4).clone()
    weight, bias = (draw.normal(4, dtype=torch.float64) for _ in range(2))
    expect.gradients(
        "add_and_norm",
        whole,
        2 * whole,
        weight,
        bias,
        likely="a constant token has finite gradients, too: the square root has no finite "
        "gradient at a variance of 0, so add eps before you take it",
    )


@pytest.mark.question("add_and_norm", points=2)
def test_another_eps(expect: Expect, draw: Draw) -> None:
    expect.same(
        "add_and_norm",
        draw.normal(2, 4, 6),
        draw.normal(2, 4, 6),
        draw.normal(6),
        draw.normal(6),
        0.7,
        likely="use the eps that is passed in, and add it to the variance before taking the "
        "square root",
    )
    # the variance is as small as eps, so that a lower bound on eps is noticed
    for eps, scale in ((1e-9, 3e-5), (1e-12, 1e-6)):
        arguments = [draw.normal(2, 4, 6, scale=scale, dtype=torch.float64) for _ in range(2)]
        arguments += [draw.normal(6, dtype=torch.float64) for _ in range(2)]
        expect.same("add_and_norm", *arguments, eps, likely="use any eps as it is, however small")
    for eps, scale in ((0.0, 0.1), (3.0, 5.0)):
        arguments = [draw.normal(2, 4, 6, scale=scale, dtype=torch.float64) for _ in range(2)]
        arguments += [draw.normal(6, dtype=torch.float64) for _ in range(2)]
        expect.same("add_and_norm", *arguments, eps, likely="use any eps as it is, even 0")


@pytest.mark.question("add_and_norm", points=1)
def test_tokens_that_do_not_vary_at_all(expect: Expect, draw: Draw) -> None:
    level = draw.normal(3, 1, dtype=torch.float64).expand(3, 5).clone()
    expect.same(
        "add_and_norm",
        level,
        2 * level,
        draw.normal(5, dtype=torch.float64),
        draw.normal(5, dtype=torch.float64),
        likely="a constant token has variance 0, and eps keeps the division finite",
    )


@pytest.mark.question("add_and_norm", points=1)
def test_one_tensor_twice_and_tensors_that_are_not_contiguous(expect: Expect, draw: Draw) -> None:
    x = draw.strided(2, 5, 9, scale=WIDE)
    weight, bias = draw.normal(9), draw.normal(9)
    for sublayer_output in (draw.strided(2, 5, 9, scale=WIDE), x):
        expect.same(
            "add_and_norm",
            x,
            sublayer_output,
            weight,
            bias,
            likely="do not change either tensor; `view` works only for some memory layouts",
        )


@pytest.mark.question("add_and_norm", points=1)
def test_layer_norm_is_written_out(expect: Expect, draw: Draw) -> None:
    summands = (draw.normal(2, 3, 8, scale=WIDE), draw.normal(2, 3, 8, scale=WIDE))
    arguments = (*summands, draw.normal(8), draw.normal(8))
    expect.allowed("add_and_norm", *arguments, rule=RULES["add_and_norm"], backward=False)
    check_rule(expect, ADD_AND_NORM, RULES["add_and_norm"])
    expect.same(
        "add_and_norm",
        *arguments,
        likely="add first; then normalize every token with its own mean and variance",
    )


# EncoderBlock: 30 points


def _block(expect: Expect, d_model: int, num_heads: int, hidden_dim: int) -> ExpectLayer:
    """Builds the block in eval mode, with weights that give both norms a large spread."""
    layer = expect.layer("EncoderBlock", d_model, num_heads, hidden_dim)
    layer.fill(
        lambda name, shape: expect.draw.normal(
            *shape, scale=WIDE if any(part in name for part in ("out_proj", "norm1")) else 0.4
        )
    )
    return layer.eval()


@pytest.mark.question("EncoderBlock", points=3)
def test_weights_are_those_of_the_four_submodules(expect: Expect) -> None:
    _block(expect, 6, 2, 9).exact_weights(
        likely="the submodules are attention, norm1, feed_forward and norm2; each norm has its "
        "own weight and bias"
    )


@pytest.mark.question("EncoderBlock", points=2)
def test_one_token_in_one_sequence(expect: Expect, draw: Draw) -> None:
    _block(expect, 8, 2, 5).same(
        draw.normal(1, 1, 8),
        likely="norm1 gets the input plus the attention's output; the feed-forward network gets "
        "the result of norm1, and norm2 gets that result plus the network's output",
    )


@pytest.mark.question("EncoderBlock", points=5)
def test_one_sequence(expect: Expect, draw: Draw) -> None:
    _block(expect, 9, 3, 11).same(
        draw.normal(1, 5, 9),
        likely="norm1 gets the input plus the attention's output; the feed-forward network gets "
        "the result of norm1, and norm2 gets that result plus the network's output",
    )


@pytest.mark.question("EncoderBlock", points=5)
def test_several_sequences(expect: Expect, draw: Draw) -> None:
    _block(expect, 12, 2, 7).same(
        draw.normal(3, 5, 12),
        likely="every sequence is processed separately, and every token is normalized separately",
    )


@pytest.mark.question("EncoderBlock", points=3)
def test_both_norms_have_the_same_eps(expect: Expect, draw: Draw) -> None:
    layer = _block(expect, 8, 2, 5)
    # the inputs of both norms have a variance near eps, because sublayers and norm1 are scaled down
    small = ("out_proj", "linear2", "norm1")
    layer.fill(
        lambda name, shape: draw.normal(
            *shape, scale=3e-3 if any(part in name for part in small) else 0.4
        )
    )
    layer.move(dtype=torch.float64).same(
        draw.normal(2, 5, 8, scale=3e-3, dtype=torch.float64),
        likely="both norms add an eps of 1e-5 to the biased variance before taking the square root",
    )


@pytest.mark.question("EncoderBlock", points=2)
def test_float64(expect: Expect, draw: Draw) -> None:
    _block(expect, 8, 2, 5).move(dtype=torch.float64).same(
        draw.normal(2, 6, 8, dtype=torch.float64),
        likely="a float64 module computes everything in float64",
    )


# general properties, tested from declarations


def wide(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return draw.normal(*shape, scale=100 * WIDE, dtype=dtype)


ADD_AND_NORM = Traits(
    "add_and_norm",
    [Tensor("... D", wide), Tensor("... D", wide), Tensor("D"), Tensor("D")],
    dtype=torch.float64,
    smallest={"D": 4},  # with fewer entries, some tokens hardly vary
    factors=(32, 32, 1, 32),
    own={"float64": "test_every_token_of_a_batch_is_normalised_alone"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("add_and_norm", shared=4)
@pytest.mark.parametrize("trait", ADD_AND_NORM.tested)
def test_add_and_norm_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ADD_AND_NORM, trait)
    if trait == "any size":
        shapes = ((3, 2, 1), (3, 2, 1), (1,), (1,))
        expect.same(
            "add_and_norm",
            *(expect.draw.normal(*shape, dtype=torch.float64) for shape in shapes),
            likely="the variance of a single entry is 0: divide by D, which is 1, not by D - 1",
        )


def _block_weights(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Draws weights that give both norms inputs with a large spread."""
    wide = any(part in name for part in ("out_proj", "norm1"))
    return draw.normal(*shape, scale=WIDE if wide else 0.4 * min(1.0, (8 / shape[-1]) ** 0.5))


ENCODER_BLOCK = Traits(
    "EncoderBlock",
    [Tensor("B T H*d")],
    build=[Size("H*d"), Size("H"), Size("F")],
    dtype=torch.float64,
    weights=_block_weights,
    own={"float64": "test_float64"},
    without={
        "errors": "none is promised",
        "chance": "nothing is random: train and eval mode are compared in call after call",
    },
)


@pytest.mark.question("EncoderBlock", shared=10)
@pytest.mark.parametrize("trait", ENCODER_BLOCK.tested)
def test_encoder_block_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ENCODER_BLOCK, trait)
