"""Right but unusual ways to compute rotary angles, and to rotate by them."""

import math

import torch
import torch.nn.functional as F

from autograder.suite import alternative


def needs_even(head_dim):
    if head_dim % 2:
        raise ValueError(f"head_dim = {head_dim} is odd")


# rotary_angles


@alternative("rotary_angles")
def outer_product(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    speeds = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=positions.dtype) / head_dim)
    return torch.outer(positions, speeds)


@alternative("rotary_angles")
def by_exponential_and_logarithm(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(head_dim // 2, dtype=positions.dtype)
    return positions[:, None] * torch.exp(-2 * pairs / head_dim * math.log(base))


@alternative("rotary_angles")
def einsum_over_nothing(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    speeds = torch.tensor([base ** (-2 * i / head_dim) for i in range(head_dim // 2)])
    return torch.einsum("t,i->ti", positions, speeds.to(positions.dtype))


@alternative("rotary_angles")
def entry_by_entry(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    rows = [
        torch.stack([place * base ** (-2 * i / head_dim) for i in range(head_dim // 2)])
        for place in positions
    ]
    return torch.stack(rows)


@alternative("rotary_angles")
def speeds_one_after_the_other(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    step = base ** (-2 / head_dim)
    columns = [positions]
    for _ in range(head_dim // 2 - 1):
        columns.append(columns[-1] * step)
    return torch.stack(columns, dim=-1)


@alternative("rotary_angles")
def float64_inside(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(0, head_dim, 2, dtype=torch.float64)
    return (positions.double()[:, None] / base ** (pairs / head_dim)).to(positions.dtype)


@alternative("rotary_angles")
def powers_of_a_tensor(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    powers = torch.linspace(0, head_dim - 2, head_dim // 2, dtype=positions.dtype) / head_dim
    return positions.unsqueeze(-1) * torch.pow(torch.tensor(base, dtype=positions.dtype), -powers)


@alternative("rotary_angles")
def mapped_over_positions(positions, head_dim, base=10000.0):
    if head_dim % 2 == 1:
        raise ValueError("odd")
    speeds = torch.full((head_dim // 2,), base, dtype=positions.dtype)
    speeds = speeds ** (-torch.arange(head_dim // 2, dtype=positions.dtype) / (head_dim / 2))
    return torch.vmap(lambda place: place * speeds)(positions)


@alternative("rotary_angles")
def matrix_product(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(0, head_dim, 2, dtype=positions.dtype)
    return positions.reshape(-1, 1) @ (base ** (-pairs / head_dim)).reshape(1, -1)


# apply_rotary


@alternative("apply_rotary")
def rotate_half_of_hugging_face(x, angles):
    cos = torch.cat([angles, angles], dim=-1).cos()
    sin = torch.cat([angles, angles], dim=-1).sin()
    half = x.shape[-1] // 2
    rotated = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + rotated * sin


@alternative("apply_rotary")
def complex_numbers(x, angles):
    first, second = x.chunk(2, dim=-1)
    turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


@alternative("apply_rotary")
def rotation_matrices(x, angles):
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack(
        [torch.stack([cos, -sin], dim=-1), torch.stack([sin, cos], dim=-1)], dim=-2
    )  # (T, d/2, 2, 2)
    pairs = torch.stack(x.chunk(2, dim=-1), dim=-1)  # (..., T, d/2, 2)
    turned = (matrices @ pairs.unsqueeze(-1)).squeeze(-1)
    return torch.cat(turned.unbind(-1), dim=-1)


@alternative("apply_rotary")
def written_into_a_new_tensor(x, angles):
    half = x.shape[-1] // 2
    out = torch.empty_like(x)
    out[..., :half] = x[..., :half] * angles.cos() - x[..., half:] * angles.sin()
    out[..., half:] = x[..., half:] * angles.cos() + x[..., :half] * angles.sin()
    return out


@alternative("apply_rotary")
def token_by_token(x, angles):
    turned = []
    for t in range(x.shape[-2]):
        first, second = x[..., t, :].tensor_split(2, dim=-1)
        cos, sin = torch.cos(angles[t]), torch.sin(angles[t])
        turned.append(torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1))
    return torch.stack(turned, dim=-2)


@alternative("apply_rotary")
def pair_by_pair(x, angles):
    half = x.shape[-1] // 2
    out = [None] * (2 * half)
    for i in range(half):
        a, one, other = angles[:, i], x[..., i], x[..., i + half]
        out[i] = one * torch.cos(a) - other * torch.sin(a)
        out[i + half] = other * torch.cos(a) + one * torch.sin(a)
    return torch.stack(out, dim=-1)


@alternative("apply_rotary")
def cosine_as_a_shifted_sine(x, angles):
    first, second = x.chunk(2, dim=-1)
    cos, sin = torch.sin(angles + math.pi / 2), torch.sin(angles)
    return torch.cat([first * cos - second * sin, torch.addcmul(second * cos, first, sin)], dim=-1)


@alternative("apply_rotary")
def one_large_block_matrix(x, angles):
    cos, sin = torch.diag_embed(angles.cos()), torch.diag_embed(angles.sin())
    turn = torch.cat([torch.cat([cos, sin], dim=-1), torch.cat([-sin, cos], dim=-1)], dim=-2)
    return torch.einsum("...ti,tij->...tj", x, turn)


@alternative("apply_rotary")
def float64_inside_and_back(x, angles):
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.double().cos(), angles.double().sin()
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(x.dtype)


@alternative("apply_rotary")
def rolled_halves(x, angles):
    half = x.shape[-1] // 2
    sign = torch.cat([-torch.ones(half), torch.ones(half)]).to(x.dtype)
    both = angles.repeat(1, 2)
    return x * both.cos() + x.roll(half, dims=-1) * sign * both.sin()


@alternative("apply_rotary")
def neighbours_after_a_permutation(x, angles):
    half = x.shape[-1] // 2
    order = torch.stack([torch.arange(half), torch.arange(half) + half], dim=-1).flatten()
    near = torch.view_as_complex(x[..., order].unflatten(-1, (half, 2)).contiguous())
    turned = torch.view_as_real(near * torch.exp(1j * angles)).flatten(-2)
    return (
        F.embedding(order.argsort(), turned.movedim(-1, 0).flatten(1))
        .reshape(turned.movedim(-1, 0).shape)
        .movedim(0, -1)
    )


@alternative("apply_rotary")
def halves_unflattened(x, angles):
    first, second = x.unflatten(-1, (2, -1)).unbind(-2)
    cos, sin = torch.cos(angles), torch.sin(angles)
    return torch.stack((first * cos - second * sin, second * cos + first * sin), -2).flatten(-2)


@alternative("rotary_angles")
def powers_one_by_one(positions, head_dim, base=10000.0):
    if head_dim % 2:
        raise ValueError("coordinates come in pairs")
    return torch.stack([positions * base ** (-i / head_dim) for i in range(0, head_dim, 2)], -1)


class _Rotation(torch.autograd.Function):
    """Rotates by the angles, and by the opposite angles in the backward pass."""

    @staticmethod
    def turned(x, angles):
        first, second = x.tensor_split(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    @staticmethod
    def forward(ctx, x, angles):
        ctx.save_for_backward(angles)
        return _Rotation.turned(x, angles)

    @staticmethod
    def backward(ctx, gradient):
        return _Rotation.turned(gradient, -ctx.saved_tensors[0]), None


@alternative("apply_rotary")
def backward_is_the_opposite_rotation(x, angles):
    return _Rotation.apply(x, angles)


@alternative("apply_rotary")
def polar_numbers(x, angles):
    pairs = torch.complex(*(half.contiguous() for half in x.chunk(2, dim=-1)))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


@alternative("rotary_angles")
def running_product_of_speeds(positions, head_dim, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd")
    steps = torch.full((head_dim // 2,), base ** (-2 / head_dim), dtype=torch.float64)
    steps[0] = 1.0
    return torch.outer(positions.double(), steps.cumprod(0)).to(positions.dtype)


@alternative("apply_rotary")
def pairs_turned_in_loops(x, angles):
    if x.dim() > 2:
        return torch.stack([pairs_turned_in_loops(part, angles) for part in x])
    turned = torch.zeros_like(x)
    half = angles.shape[1]
    for t in range(x.shape[0]):
        for i in range(half):
            cosine, sine = torch.cos(angles[t, i]), torch.sin(angles[t, i])
            turned[t, i] = x[t, i] * cosine - x[t, i + half] * sine
            turned[t, i + half] = x[t, i] * sine + x[t, i + half] * cosine
    return turned
