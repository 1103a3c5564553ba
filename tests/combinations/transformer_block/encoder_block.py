"""Two known mistakes of add and norm at once: neither's name fits."""

from autograder.suite import combination


@combination("add_and_norm", "unbiased_variance", "eps_beside_the_root")
def standard_deviation_and_eps_outside(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    centred = total - total.mean(-1, keepdim=True)
    return centred / (total.std(-1, keepdim=True) + eps) * weight + bias


@combination("add_and_norm", "normalised_over_everything", "bias_not_used")
def one_mean_and_no_bias(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return (total - total.mean()) / (total.var(correction=0) + eps).sqrt() * weight
