"""Hidden suite of `causal_attention`: 30 of the assignment's 100 points.

Dropout is tested by properties that every draw has, and by statistics that reject a right answer
less than once in a million runs.
"""

import pytest
import torch

from autograder.attention.suites.chance import (
    dependence_problem,
    drawn_rate,
    factor_problem,
    rate_problem,
    repeat_problem,
)
from autograder.attention.suites.dropped import (
    check_dropped_weights,
    check_layers_apart,
    shown_weights,
)
from autograder.attention.suites.dropped_gradients import check_gradients_of_weights
from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    far_scoring,
    far_tokens,
    low_scoring,
    low_tokens,
)
from autograder.suite import Draw, Expect, ExpectLayer, difference
from autograder.suite.traits import CustomInput, Rate, Size, Tensor, Traits, check_trait

NAME = "CausalAttention"


@pytest.mark.question(NAME, points=2)
def test_three_projections_are_trained_and_nothing_else(expect: Expect) -> None:
    likely = (
        "W_query, W_key and W_value are trained, with biases only if qkv_bias is True; the mask "
        "is not trained"
    )
    expect.layer(NAME, 3, 5, 6, 0.0).exact_weights(likely=likely)
    expect.layer(NAME, 3, 5, 6, 0.1, True).exact_weights(likely=likely)


@pytest.mark.question(NAME, points=3)
def test_batch_of_full_length(expect: Expect, draw: Draw) -> None:
    likely = (
        "check these steps in order: projections, scores of each query with each key, mask above "
        "the diagonal, division by the square root of the key size, softmax over the keys, "
        "weights times values"
    )
    layer = expect.layer(NAME, 3, 5, 6, 0.0, scale=0.7)
    other = expect.layer(NAME, 3, 3, 3, 0.0, False, scale=0.7)  # a different context length
    layer.same(draw.normal(2, 6, 3), likely=likely)
    # with as many tokens as items and entries, a wrong dimension raises no error
    other.same(draw.normal(3, 3, 3), likely=likely)


@pytest.mark.question(NAME, points=2)
def test_biases_count(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 4, 3, 5, 0.0, True, scale=0.7)
    layer.same(
        draw.normal(2, 5, 4),
        likely="if qkv_bias is True, each of the three projections adds its own bias",
    )


@pytest.mark.question(NAME, points=2)
def test_sequence_shorter_than_the_context(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 4, 6, 8, 0.0, scale=0.7)
    layer.same(
        draw.normal(2, 5, 4),
        likely="the mask has context_length rows and columns, but the scores of a shorter "
        "sequence have fewer: which part of the mask applies to them?",
    )


@pytest.mark.question(NAME, points=1)
def test_a_token_of_zeros(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 5, 6, 0.0, scale=0.7)
    x = draw.normal(2, 5, 3)
    x[:, 2] = 0.0  # as in padding: all scores of this query are 0
    layer.same(
        x,
        likely="a score of 0 is a score like any other: mask the future by position, not by the "
        "value of a score",
    )


@pytest.mark.question(NAME, points=1)
def test_future_stays_hidden_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 1, 5, 0.0)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 3), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64).same(
        low_tokens(draw, 2, 5, 3),
        likely="scores can be far below zero: a masked score must be so low that softmax gives it "
        "no weight",
    )


@pytest.mark.question(NAME, points=2)
def test_sequence_longer_than_the_context_raises(expect: Expect, draw: Draw) -> None:
    likely = (
        "compare the number of tokens with context_length first: raise a ValueError if there are "
        "more"
    )
    length = draw.integer(3, 40)
    layer = expect.layer(NAME, 3, 5, length, 0.0)
    layer.raises(draw.normal(2, length + 1, 3), error=ValueError, likely=likely)
    for more in (draw.integer(2, 60), length):  # multiples are not accepted, either
        longer = draw.normal(1, length + more, 3)
        layer.eval().raises(longer, error=ValueError, likely=likely)
    one = expect.layer(NAME, 3, 5, 1, 0.0)
    one.raises(draw.normal(1, 2, 3), error=ValueError, likely=likely)
    layer.same(
        draw.normal(2, length, 3), likely="a sequence of exactly context_length tokens is allowed"
    )


@pytest.mark.question(NAME, points=2)
def test_evaluation_drops_nothing(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 5, 6, 0.5).eval()
    layer.same(
        draw.normal(2, 6, 3),
        likely="after `eval()`, dropout must do nothing: does your dropout follow the module's "
        "mode?",
    )


# Dropout. A value has more entries than there are tokens, so the weights can be computed from the
# context vectors.

TOKENS, WIDTH, BATCH, P = 8, 11, 64, 0.33


class _TrainingLayer:
    """A layer in train mode, a batch that repeats one sequence, and the weights without dropout."""

    def __init__(self, expect: Expect, draw: Draw, likely: str, p: float = P) -> None:
        self._likely = likely
        self.layer: ExpectLayer = expect.layer(NAME, 10, WIDTH, TOKENS + 1, p)
        projections: dict[str, torch.Tensor] = {}

        def fill(name: str, shape: tuple[int, ...]) -> torch.Tensor:
            scale = 0.5 if name == "W_value.weight" else 0.25
            projections[name] = draw.normal(*shape, scale=scale)
            return projections[name]

        self.layer.fill(fill)
        to_values = projections["W_value.weight"].T
        sequence = draw.until(
            lambda draw: draw.normal(TOKENS, 10),
            lambda tokens: float(torch.linalg.cond(tokens @ to_values)) < 40,
        )
        self.x = sequence.repeat(BATCH, 1, 1)
        self._values = sequence @ to_values  # (T, d_out)
        self.layer.eval()
        self.weights = self.used()
        # other tests check which weights there are and how large they are
        self.large = self.weights.amax(dim=-1, keepdim=True)
        self.present = self.weights > self.large / 20
        self.layer.train()

    def used(self) -> torch.Tensor:
        """Returns the weights of a new call; fails if no weights give the context vectors."""
        got = self.layer.result(self.x, likely=self._likely)
        fits = isinstance(got, torch.Tensor) and got.shape == (BATCH, TOKENS, WIDTH)
        text = None if fits else difference(got, torch.zeros(BATCH, TOKENS, WIDTH))
        self.layer.that(fits, got=f"{text}", expected="(B, T, d_out)", likely=self._likely)
        assert isinstance(got, torch.Tensor)
        used = got.detach() @ torch.linalg.pinv(self._values)  # (B, T, T)
        off = float((used @ self._values - got.detach()).abs().max())
        self.layer.that(
            off < 1e-3,
            got=_impossible_contexts(got),
            expected="sums of value vectors, each multiplied as a whole by one weight",
            likely=self._likely,
        )
        return used

    def dropped(self, used: torch.Tensor) -> torch.Tensor:
        return (used < self.weights / 10) & self.present


def _impossible_contexts(context: torch.Tensor) -> str:
    """Describes context vectors that no attention weights can produce."""
    zeros = (context == 0).double().mean(dim=(0, 2))  # (T,)
    if float(zeros[-1]) > 0.1:
        return "context vectors in which single entries are 0"
    if float(zeros[0]) > 0.1:
        return "single entries that are 0 in the first context vector, but not in the last"
    return "context vectors that no attention weights with dropout can produce"


@pytest.mark.question(NAME, points=1)
@pytest.mark.parametrize("p", [0.62, 0.07])
def test_training_scales_the_weights_that_are_kept(expect: Expect, draw: Draw, p: float) -> None:
    likely = (
        "dropout is applied to the attention weights after softmax, and kept weights are "
        "multiplied by 1 / (1 - p); nothing in the scores, values or result is dropped, and rows "
        "are not normalized again"
    )
    dropout = _TrainingLayer(expect, draw, likely, p)
    used = dropout.used()
    dropped = dropout.dropped(used)
    kept = dropout.present & ~dropped
    problem = factor_problem(used[kept], dropout.weights[kept], p, tolerance=0.02)
    sums = used.sum(dim=-1)
    if problem is not None and bool(((sums - 1).abs() < 0.01)[sums.abs() > 0.01].all()):
        problem += "; the weights of each row sum to 1"
    others = (used.abs() * (1 - p) / dropout.large)[~dropout.present]
    if bool((others > 0.1).any()):
        problem = "in training, the weights go to different tokens than in evaluation"
    some = "weights are dropped" if bool(dropped.any()) else "no weight is dropped"
    dropout.layer.that(
        problem is None and bool(dropped.any()),
        got=f"{problem or 'kept entries are right'}; {some}",
        expected=f"about {p:.0%} of the weights are 0, the others multiplied by {1 / (1 - p):.4g}",
        likely=likely,
    )


def _equal_scores(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Returns weights that make all scores equal and not 0, and values that show the weights."""
    return shown_weights(shape[1]) if name == "W_value.weight" else torch.full(shape, 0.5)


@pytest.mark.question(NAME, points=1)
def test_training_drops_every_weight_on_its_own(expect: Expect, draw: Draw) -> None:
    likely = (
        "each attention weight is dropped independently, for each query and each item of the batch"
    )
    dropout = _TrainingLayer(expect, draw, likely)
    dropped, present = dropout.dropped(dropout.used()), dropout.present
    problem = dependence_problem(dropped, P, present) or rate_problem(dropped, P, present)
    dropout.layer.that(
        problem is None,
        got=f"{problem} (dimensions: batch, query, key)",
        expected=f"each weight dropped with probability {P}, independently of the others",
        likely=likely,
    )
    # Rates have three decimals, so no rounded percentage gives them. There are three times three
    # tokens, so that two entries that determine a third are in its row. With 150 samples, a pattern
    # that repeats after 8,192 entries is noticed, and random numbers that are multiples of 1 / 256.
    tokens = 9
    for (low, high), samples in (
        ((0.001, 0.002), 300),
        ((0.351, 0.449), 150),
        ((0.951, 0.999), 50),
    ):
        x = torch.eye(tokens).repeat(samples, 1, 1)
        p = drawn_rate(draw, low, high)
        layer = expect.layer(NAME, tokens, tokens + 1, tokens, p)
        layer.fill(_equal_scores)
        check_dropped_weights(layer, x, p, likely=likely)


@pytest.mark.question(NAME, points=1)
def test_training_drops_other_weights_in_every_call(expect: Expect, draw: Draw) -> None:
    likely = "draw new random numbers in every call: set no seed and keep no pattern"
    dropout = _TrainingLayer(expect, draw, likely)
    problem = repeat_problem([dropout.dropped(dropout.used())[dropout.present] for _ in range(5)])
    dropout.layer.that(
        problem is None,
        got=f"{problem}",
        expected="five independent calls",
        likely=likely,
    )
    check_layers_apart(expect, NAME, (10, WIDTH, TOKENS, P), dropout.x, likely=likely)


@pytest.mark.question(NAME, points=1)
def test_training_learns_from_the_weights_that_are_kept(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, TOKENS, WIDTH, TOKENS, P)
    shown = torch.nn.functional.pad(shown_weights(TOKENS), (0, 0, 0, WIDTH - TOKENS - 1))
    layer.fill(
        lambda name, shape: shown if name == "W_value.weight" else draw.normal(*shape, scale=0.3)
    )
    check_gradients_of_weights(layer, draw, torch.eye(TOKENS).repeat(4, 1, 1))


@pytest.mark.question(NAME, points=1)
def test_moved_to_double_precision(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 5, 6, 0.0, scale=0.7).move(dtype=torch.float64)
    layer.same(
        draw.strided(2, 4, 3, dtype=torch.float64),
        likely="after `module.to(torch.float64)`, everything is computed in float64, even if x is "
        "a view of another tensor",
    )


@pytest.mark.question(NAME, points=3)
def test_moved_to_another_device(expect: Expect, draw: Draw) -> None:
    # with dropout, whose patterns must also be created on the device
    layer = expect.layer(NAME, 3, 5, 6, 0.3, scale=0.7)
    x = draw.normal(2, 4, 3)
    likely = "before the module is moved, it must already compute causal attention"
    layer.eval().same(x, likely=likely)
    layer.train().moves(
        x,
        likely="`module.to(device)` moves parameters and buffers, but not a tensor that is a "
        "plain attribute; `torch.ones(...)` in `forward` needs the device of x",
    )


# general properties, tested from declarations

CAUSAL = Traits(
    NAME,
    [Tensor("B T d_in")],
    build=[Size("d_in"), Size("d_out"), Size("C"), Rate(), CustomInput(lambda draw, sizes: True)],
    sizes={"C": 128},
    fixed=["C"],
    root=ScaledScores("d_out"),
    own={
        "float64": "test_moved_to_double_precision",
        "errors": "test_sequence_longer_than_the_context_raises",
        "chance": "test_training_drops_every_weight_on_its_own",
    },
)


@pytest.mark.question(NAME, shared=6)
@pytest.mark.parametrize("trait", CAUSAL.tested)
def test_causal_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CAUSAL, trait)
