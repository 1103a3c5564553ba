import torch


def needs_even(head_dim):
    if head_dim % 2:
        raise ValueError(f"head_dim = {head_dim} is odd")


def rotary_angles(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    speeds = 1.0 / base ** (torch.arange(0, head_dim, 2, dtype=positions.dtype) / head_dim)
    return torch.outer(positions, speeds)


def apply_rotary(x, angles):
    cos = torch.cat([angles, angles], dim=-1).cos()
    sin = torch.cat([angles, angles], dim=-1).sin()
    half = x.shape[-1] // 2
    rotated = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + rotated * sin
