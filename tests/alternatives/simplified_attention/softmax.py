"""Right but unusual ways to normalize scores."""

import math

import torch
import torch.nn.functional as F
from einops import reduce
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


@alternative("normalize_by_sum")
def negative_dimension_squeezed_and_back(scores):
    return scores / scores.sum(-1).unsqueeze(-1)


@alternative("normalize_by_sum")
def einsum_as_sum(scores):
    return scores / torch.einsum("...s->...", scores)[..., None]


@alternative("normalize_by_sum")
def times_the_reciprocal(scores):
    return scores * scores.sum(dim=-1, keepdim=True).reciprocal()


def _shares(scores):
    if scores.dim() == 1:
        return scores / sum(scores)
    return torch.stack([_shares(part) for part in scores])


@alternative("normalize_by_sum")
def row_by_row(scores):
    return _shares(scores)


@alternative("normalize_by_sum")
def mean_and_count(scores):
    return scores / (scores.mean(dim=-1, keepdim=True) * scores.size(-1))


@alternative("normalize_by_sum")
def last_of_the_running_sum(scores):
    return scores / scores.cumsum(dim=-1)[..., -1:]


@alternative("normalize_by_sum")
def product_with_ones(scores):
    return scores / (scores @ scores.new_ones(scores.shape[-1], 1))


@alternative("normalize_by_sum")
def reduced_by_einops(scores):
    return scores / reduce(scores, "... s -> ... 1", "sum")


@alternative("normalize_by_sum")
def copy_divided_in_place(scores):
    shares = scores.clone()
    shares /= scores.sum(dim=-1, keepdim=True)
    return shares


@alternative("normalize_by_sum")
def wide_sum(scores):
    total = scores.sum(dim=-1, keepdim=True, dtype=torch.float64)
    return (scores / total).to(scores.dtype)


@alternative("naive_softmax")
def softmax_of_torch(scores):
    return F.softmax(scores, dim=-1)


@alternative("naive_softmax")
def shifted_all_the_same(scores):
    exponentials = (scores - scores.max(-1, keepdim=True).values).exp()
    return exponentials / exponentials.sum(-1, keepdim=True)


@alternative("naive_softmax")
def power_of_e(scores):
    powers = math.e**scores
    return powers / powers.sum(-1)[..., None]


@alternative("naive_softmax")
def power_of_two(scores):
    powers = torch.exp2(scores * math.log2(math.e))
    return powers / powers.sum(-1, keepdim=True)


@alternative("naive_softmax")
def logarithms_subtracted(scores):
    return torch.exp(scores - torch.exp(scores).sum(-1, keepdim=True).log())


@alternative("naive_softmax")
def rows_in_a_loop(scores):
    rows = [row.exp() / row.exp().sum() for row in scores.reshape(-1, scores.shape[-1])]
    return torch.stack(rows).reshape(scores.shape)


@alternative("naive_softmax")
def one_over_the_sum_of_differences(scores):
    differences = scores.unsqueeze(-2) - scores.unsqueeze(-1)  # [..., i, j] = score j - score i
    return 1 / differences.exp().sum(-1)


@alternative("naive_softmax")
def normalized_by_absolute_sum(scores):
    return F.normalize(scores.exp(), p=1, dim=-1)


@alternative("naive_softmax")
def log_softmax_undone(scores):
    return scores.log_softmax(-1).exp()


@alternative("naive_softmax")
def computed_in_float64_and_back(scores):
    exponentials = scores.double().exp()
    return (exponentials / exponentials.sum(-1, True)).type_as(scores)


@alternative("softmax")
def from_logsumexp(scores, dim=-1):
    return torch.exp(scores - torch.logsumexp(scores, dim=dim, keepdim=True))


@alternative("softmax")
def maximum_by_pair(scores, dim=-1):
    largest, _ = torch.max(scores, dim, keepdim=True)
    exponentials = torch.exp(scores - largest)
    return exponentials / torch.sum(exponentials, dim, keepdim=True)


@alternative("softmax")
def maximum_detached(scores, dim=-1):
    exponentials = (scores - scores.max(dim=dim, keepdim=True).values.detach()).exp()
    return exponentials.div(exponentials.sum(dim=dim, keepdim=True))


@alternative("softmax")
def moved_to_the_end_and_back(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    exponentials = (moved - moved.amax(-1, keepdim=True)).exp()
    return (exponentials / exponentials.sum(-1, keepdim=True)).movedim(-1, dim)


@alternative("softmax")
def swapped_with_the_end_and_back(scores, dim=-1):
    turned = scores.transpose(dim, -1)
    exponentials = (turned - turned.amax(-1)[..., None]).exp()
    return (exponentials / exponentials.sum(-1)[..., None]).transpose(dim, -1)


@alternative("softmax")
def sorted_maximum(scores, dim=-1):
    largest = scores.sort(dim=dim).values.narrow(dim, -1, 1)
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@alternative("softmax")
def powers_of_two_after_the_shift(scores, dim=-1):
    powers = torch.exp2((scores - scores.amax(dim, True)) / math.log(2.0))
    return powers / powers.sum(dim, True)


@alternative("softmax")
def float64_inside(scores, dim=-1):
    wide = scores.to(torch.float64)
    exponentials = torch.exp(wide - wide.amax(dim=dim, keepdim=True))
    return (exponentials / exponentials.sum(dim=dim, keepdim=True)).to(scores.dtype)


@alternative("softmax")
def running_maximum(scores, dim=-1):
    largest = scores.cummax(dim=dim).values.narrow(dim, scores.shape[dim] - 1, 1)
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.cumsum(dim=dim).narrow(dim, scores.shape[dim] - 1, 1)


@alternative("softmax")
def minus_infinity_as_a_low_number(scores, dim=-1):
    scores = scores.masked_fill(scores == -torch.inf, -1e9)
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@alternative("softmax")
def slice_by_slice(scores, dim=-1):
    largest = None
    for part in scores.unbind(dim):
        largest = part if largest is None else torch.maximum(largest, part)
    parts = [torch.exp(part - largest) for part in scores.unbind(dim)]
    return torch.stack([part / sum(parts) for part in parts], dim=dim)


class _Ops:
    def softmax(self, scores, dim):
        exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
        return exponentials / exponentials.sum(dim=dim, keepdim=True)


@alternative("softmax")
def helper_of_the_same_name(scores, dim=-1):
    # this comment with torch.softmax(scores, dim) must not count as a call
    return _Ops().softmax(scores, dim)


def _along(scores, dim):
    if dim > 0:
        return torch.stack([_along(part, dim - 1) for part in scores])
    exponentials = torch.exp(scores - scores.amax(0))
    return exponentials / exponentials.sum(0)


@alternative("softmax")
def recursion_over_what_leads(scores, dim=-1):
    return _along(scores, dim % scores.dim())


@alternative("softmax")
def row_by_row_online(scores, dim=-1):
    rows = scores.movedim(dim, 0)
    largest = torch.full_like(rows[0], float("-inf"))
    total = torch.zeros_like(rows[0])
    for row in rows:
        new = torch.maximum(largest, row)
        safe = torch.where(new.isinf(), 0.0, new)
        total = total * torch.exp(largest - safe) + torch.exp(row - safe)
        largest = new
    return (torch.exp(rows - largest) / total).movedim(0, dim)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        exponentials = torch.exp(scores - scores.amax(dim, keepdim=True))
        weights = exponentials / exponentials.sum(dim, keepdim=True)
        ctx.save_for_backward(weights)
        ctx.dim = dim
        return weights

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        mean = (gradient * weights).sum(ctx.dim, keepdim=True)
        return weights * (gradient - mean), None


@alternative("softmax")
def backward_of_its_own(scores, dim=-1):
    return _Softmax.apply(scores, dim)


@alternative("softmax")
def checkpointed_exponentials(scores, dim=-1):
    def weights(x):
        e = torch.exp(x - x.detach().amax(dim, keepdim=True))
        return e / e.sum(dim, keepdim=True)

    return checkpoint(weights, scores, use_reentrant=False)


@alternative("naive_softmax")
def in_double_and_back(scores):
    e = scores.double().exp()
    return (e / e.sum(-1, keepdim=True)).to(scores.dtype)


@alternative("normalize_by_sum")
def backward_by_hand(scores):
    class Shares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            total = x.sum(-1, keepdim=True)
            ctx.save_for_backward(x / total, total)
            return x / total

        @staticmethod
        def backward(ctx, gradient):
            shares, total = ctx.saved_tensors
            return (gradient - (gradient * shares).sum(-1, keepdim=True)) / total

    return Shares.apply(scores)


class _SoftmaxWithBothRules(torch.autograd.Function):
    """Defines `setup_context`, so that it also works with `torch.func`."""

    @staticmethod
    def forward(scores, dim):
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        return powers / powers.sum(dim, keepdim=True)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        product = gradient * weights
        return product - weights * product.sum(ctx.dim, keepdim=True), None


@alternative("softmax")
def backward_with_a_context_of_its_own(scores, dim=-1):
    return _SoftmaxWithBothRules.apply(scores, dim)


@alternative("softmax")
def gradient_of_logsumexp(scores, dim=-1):
    def total(x):
        return torch.logsumexp(x, dim).sum()

    return torch.func.grad(total)(scores)


@alternative("naive_softmax")
def compiled_formula(scores):
    return _compiled_formula(scores)


@torch.compile(backend="eager", dynamic=True)
def _compiled_formula(scores):
    powers = torch.exp(scores)
    return powers / powers.sum(dim=-1, keepdim=True)


@alternative("normalize_by_sum")
def divided_by_a_matrix_of_ones(scores):
    size = scores.shape[-1]
    return scores.div(scores @ scores.new_ones(size, size))


@alternative("naive_softmax")
def weight_by_weight(scores):
    if scores.dim() > 1:
        return torch.stack([weight_by_weight(row) for row in scores])
    powers = [torch.exp(score) for score in scores]
    total = 0
    for power in powers:
        total = total + power
    return torch.stack([power / total for power in powers])


@alternative("normalize_by_sum")
def quotient_by_quotient(scores):
    if scores.dim() > 1:
        return torch.stack([quotient_by_quotient(row) for row in scores])
    total = torch.zeros((), dtype=scores.dtype)
    for score in scores:
        total = total + score
    return torch.stack([score / total for score in scores])
