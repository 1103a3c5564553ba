"""Known mistakes in rotary angles, and in rotating by them."""

import math

import torch

from autograder.suite import misconception


def speeds_of(positions, head_dim, base):
    pairs = torch.arange(0, head_dim, 2, dtype=positions.dtype)
    return base ** (-pairs / head_dim)


def needs_even(head_dim):
    if head_dim % 2:
        raise ValueError(f"head_dim = {head_dim} is odd")


# rotary_angles


@misconception(
    "rotary_angles",
    confuses="the exponent 2i / d with i / d: from pair to pair, the angles shrink too slowly",
    hint="For `head_dim=64`, what is the exponent of the base for the last pair? It should be "
    "nearly -1.",
)
def exponent_without_the_two(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(head_dim // 2, dtype=positions.dtype)
    return positions[:, None] * base ** (-pairs / head_dim)


@misconception(
    "rotary_angles",
    confuses="one angle per pair with one per coordinate: the angles are returned twice, one half "
    "after the other, as in Hugging Face's code",
    hint="How many pairs does a vector of size head_dim have, and what is the size of your last "
    "dimension?",
)
def halves_repeated(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    angles = positions[:, None] * speeds_of(positions, head_dim, base)
    return torch.cat([angles, angles], dim=-1)


@misconception(
    "rotary_angles",
    confuses="one angle per pair with one per coordinate: each angle is returned twice in a row",
    hint="How many pairs does a vector of size head_dim have, and what is the size of your last "
    "dimension?",
)
def each_angle_twice(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    angles = positions[:, None] * speeds_of(positions, head_dim, base)
    return angles.repeat_interleave(2, dim=-1)


@misconception(
    "rotary_angles",
    confuses="an argument with a constant: the base is always 10000, whatever is given",
    hint="Call it with a base of 100 and a base of 500000. What changes?",
)
def ten_thousand_built_in(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return positions[:, None] * speeds_of(positions, head_dim, 10000.0)


@misconception(
    "rotary_angles",
    confuses="an error that must be reported with a case that never happens: an odd head_dim "
    "raises no error",
    hint="If there are seven coordinates, which one is the last paired with? Raise a ValueError.",
)
def odd_size_accepted(positions, head_dim, base=10000.0):
    return positions[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="an exception for the caller with an assertion: an `assert` raises AssertionError, "
    "and has no effect with python -O",
    hint="Which exception does the exercise ask for?",
)
def odd_size_asserted(positions, head_dim, base=10000.0):
    assert head_dim % 2 == 0
    return positions[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="the given positions with 0, 1, 2, ...: positions are always counted from 0, which is "
    "right for a prefill but wrong for decoding",
    hint="Call it with positions 7, 8 and 9. Which angles should be in the first row?",
)
def positions_counted_anew(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    places = torch.arange(len(positions), dtype=positions.dtype)
    return places[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="counting from 0 with counting from 1: pairs are counted from 1, as in the paper, but "
    "without the paper's - 1 in the exponent",
    hint="The first pair turns by one radian per position. By how much does your first pair turn?",
)
def pairs_counted_from_one(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(2, head_dim + 2, 2, dtype=positions.dtype)
    return positions[:, None] * base ** (-pairs / head_dim)


@misconception(
    "rotary_angles",
    confuses="steps of 2 / d with larger ones: the exponents of the base go from 0 to -1, "
    "including -1",
    hint="Which exponent does the base have for the last of three pairs: -2/3 or -1?",
)
def exponents_up_to_one(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    powers = torch.linspace(0, 1, head_dim // 2, dtype=positions.dtype)
    return positions[:, None] * base**-powers


@misconception(
    "rotary_angles",
    confuses="slower with faster: later pairs turn faster instead of more slowly",
    hint="Do the later pairs turn faster or more slowly than the first one?",
)
def later_pairs_faster(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return positions[:, None] / speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="the size of the vector with the number of pairs: from pair to pair, the angles "
    "shrink too fast",
    hint="Which power of the base does pair 1 have for `head_dim=4`? It should be -1/2.",
)
def divided_by_the_number_of_pairs(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(0, head_dim, 2, dtype=positions.dtype)
    return positions[:, None] * base ** (-pairs / (head_dim // 2))


@misconception(
    "rotary_angles",
    confuses="rows with columns: the result has one row for each pair instead of one for each "
    "position",
    hint="Which shape does the exercise ask for: (T, d/2) or (d/2, T)?",
)
def pairs_as_rows(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return speeds_of(positions, head_dim, base)[:, None] * positions


@misconception(
    "rotary_angles",
    confuses="radians with degrees: the angles are in degrees",
    hint="Torch's sine and cosine take radians, and the angles here are in radians: pair 0 at "
    "position 1 has an angle of 1. What is yours?",
)
def in_degrees(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return torch.rad2deg(positions[:, None] * speeds_of(positions, head_dim, base))


@misconception(
    "rotary_angles",
    confuses="an angle with a direction on the circle: whole turns are subtracted from the angles",
    hint="Should the angle at position 7 be smaller than the one at position 6?",
)
def whole_turns_taken_off(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return (positions[:, None] * speeds_of(positions, head_dim, base)) % (2 * math.pi)


@misconception(
    "rotary_angles",
    confuses="angles with their sines: the sines of the angles are returned",
    hint="The angle of pair 0 at position 3 is 3. What is yours?",
)
def sines_of_the_angles(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return torch.sin(positions[:, None] * speeds_of(positions, head_dim, base))


@misconception(
    "rotary_angles",
    confuses="angles with complex numbers of that angle, as in Llama's freqs_cis: the result "
    "contains complex numbers instead of angles",
    hint="The result should contain angles, which are real numbers, in the dtype of the positions. "
    "What is the dtype of yours?",
)
def complex_numbers(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    angles = positions[:, None] * speeds_of(positions, head_dim, base)
    return torch.polar(torch.ones_like(angles), angles)


@misconception(
    "rotary_angles",
    confuses="positions with integers: positions are turned into whole numbers",
    hint="Call it with a position of 2.5. Is the angle of the first pair 2.5?",
)
def positions_made_whole(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return positions.long()[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="the dtype of the positions with float32: the result is always float32",
    hint="Call it with float64 positions, and print the dtype of the result.",
)
def always_float32(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    speeds = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    return positions.float()[:, None] * speeds


@misconception(
    "rotary_angles",
    confuses="positions with distances from the first one: positions are counted from the first "
    "one given",
    hint="Call it with positions 7, 8 and 9. Should the first row be zero?",
)
def counted_from_the_first(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return (positions - positions[0])[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="positions from zero with positions from one: positions are counted from 1",
    hint="Which angles should position 0 have?",
)
def positions_plus_one(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return (positions + 1)[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="a plain value with a value that has a gradient: no gradient flows back to the "
    "positions",
    hint="If the positions require a gradient, does the result require one, too?",
)
def angles_without_gradient(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return positions.detach()[:, None] * speeds_of(positions, head_dim, base)


# apply_rotary


def halves(x):
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


@misconception(
    "apply_rotary",
    confuses="halves with neighbors (as in the paper, GPT-J and CS336): neighboring coordinates "
    "are paired, not coordinate i with i + d/2",
    hint="If there are six coordinates, which one does the exercise pair with coordinate 0: 1 or "
    "3?",
)
def neighbours_paired(x, angles):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos = angles.cos()
    sin = angles.sin()
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


@misconception(
    "apply_rotary",
    confuses="halves with neighbors: neighboring coordinates are paired in the input, but "
    "coordinates from the two halves in the result",
    hint="Rotate by an angle of 0. Does every coordinate keep its position?",
)
def neighbours_in_halves_out(x, angles):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([even * cos - odd * sin, odd * cos + even * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="halves with neighbors: coordinates from the two halves are paired, but the results "
    "are interleaved",
    hint="Rotate by an angle of 0. Does every coordinate keep its position?",
)
def halves_in_neighbours_out(x, angles):
    first, second = halves(x)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)


@misconception(
    "apply_rotary",
    confuses="a difference with a sum: the two terms are added in both halves, without a minus "
    "sign",
    hint="A rotation does not change the length of a pair. Rotate (1, 1) by 45 degrees. What is "
    "the length of the result?",
)
def minus_forgotten(x, angles):
    first, second = halves(x)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos + second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="one direction of rotation with the other: each pair is rotated in the opposite "
    "direction",
    hint="Rotate (1, 0) by a small angle. Should the second coordinate be above or below zero?",
)
def turned_the_other_way(x, angles):
    first, second = halves(x)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos + second * sin, second * cos - first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="rotating with adding: sines and cosines are added to the input, as in the older "
    "encoding",
    hint="A rotation preserves lengths, so a vector of zeros stays zero. Is that true of your "
    "result?",
)
def added_like_sinusoids(x, angles):
    return x + torch.cat([angles.sin(), angles.cos()], dim=-1)


@misconception(
    "apply_rotary",
    confuses="rotating by the angles with adding them: the angles themselves are added to the "
    "input",
    hint="What should a vector of zeros become when it is rotated?",
)
def angles_added(x, angles):
    return x + torch.cat([angles, angles], dim=-1)


@misconception(
    "apply_rotary",
    confuses="both halves with the first one: the second half stays as it was",
    hint="A pair has two coordinates, and the formula has two lines. Which half of your result "
    "changes?",
)
def second_half_left_alone(x, angles):
    first, second = halves(x)
    return torch.cat([first * angles.cos() - second * angles.sin(), second], dim=-1)


@misconception(
    "apply_rotary",
    confuses="tokens with heads: the angles run along the dimension before the tokens",
    hint="The shape is (..., T, d). Which dimension counts the tokens? In the angles, which "
    "dimension is T?",
)
def angles_along_the_heads(x, angles):
    first, second = halves(x)
    turned = angles if x.dim() < 3 else angles[: x.shape[-3], None]
    cos, sin = turned.cos(), turned.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="the old first half with the rotated one: the second half is computed from the first "
    "half after the first half has been rotated",
    hint="Both lines of the formula use x_i as it was before. Which value does your second line "
    "use?",
)
def from_what_is_turned_already(x, angles):
    out = x.clone()
    first, second = halves(out)
    cos, sin = angles.cos(), angles.sin()
    turned = first * cos - second * sin
    return torch.cat([turned, second * cos + turned * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="the given angles with those for positions 0, 1, 2, ...: the angles are computed "
    "again for positions 0, 1, 2, ..., which is right only in a prefill",
    hint="Call it with angles of zero. Is the result equal to the input?",
)
def angles_made_anew(x, angles):
    d = x.shape[-1]
    pairs = torch.arange(0, d, 2, dtype=x.dtype)
    places = torch.arange(x.shape[-2], dtype=x.dtype)
    own = places[:, None] * 10000.0 ** (-pairs / d)
    first, second = halves(x)
    cos, sin = own.cos(), own.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="constant angles with constant inputs: no gradient flows back through the rotation",
    hint="Queries are trained through this function. Does the result have a gradient?",
)
def turned_without_gradient(x, angles):
    with torch.no_grad():
        first, second = halves(x)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="sine with cosine: sine and cosine are swapped",
    hint="Rotate by an angle of 0: cos 0 = 1 and sin 0 = 0. Is the result equal to the input?",
)
def sine_and_cosine_swapped(x, angles):
    first, second = halves(x)
    cos, sin = angles.sin(), angles.cos()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="the first half with the second: the two halves of the result are swapped",
    hint="Rotate by an angle of 0. Does every coordinate keep its position?",
)
def halves_swapped(x, angles):
    first, second = halves(x)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([second * cos + first * sin, first * cos - second * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="every pair with the first one: all pairs of a token are rotated by the same angle",
    hint="Each pair has its own column in the angles. Which columns does your code use?",
)
def first_angle_for_all_pairs(x, angles):
    first, second = halves(x)
    cos, sin = angles[:, :1].cos(), angles[:, :1].sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="every token with the first one: all tokens are rotated by the same angles",
    hint="Each token has its own row in the angles. Which rows does your code use?",
)
def angles_of_the_first_token(x, angles):
    first, second = halves(x)
    cos, sin = angles[:1].cos(), angles[:1].sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="angles for halves with angles for neighbors: each angle is repeated for the "
    "neighboring coordinate, but the halves are paired",
    hint="Which angle belongs to coordinate 1, and which angle belongs to coordinate d/2 + 1?",
)
def angles_of_neighbours_for_halves(x, angles):
    first, second = halves(x)
    cos, sin = (table.repeat_interleave(2, dim=-1) for table in (angles.cos(), angles.sin()))
    return x * cos + torch.cat([-second, first], dim=-1) * sin


@misconception(
    "apply_rotary",
    confuses="a new tensor with the caller's: the halves are written into the input",
    hint="Is `x` still the same after the call?",
)
def written_into_the_input(x, angles):
    first, second = (part.clone() for part in halves(x))
    cos, sin = angles.cos(), angles.sin()
    x[..., : x.shape[-1] // 2] = first * cos - second * sin
    x[..., x.shape[-1] // 2 :] = second * cos + first * sin
    return x


@misconception(
    "apply_rotary",
    confuses="the dtype of the input with float32: cosine and sine lose precision along the way",
    hint="Print the dtype of every tensor for a float64 input.",
)
def turned_in_float32(x, angles):
    first, second = (part.float() for part in halves(x))
    cos, sin = angles.float().cos(), angles.float().sin()
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(x.dtype)


@misconception(
    "apply_rotary",
    confuses="any number of leading dimensions with (B, T, H, d): in inputs with four dimensions, "
    "tokens are expected before heads",
    hint="The tokens are in the second-to-last dimension. How does (T, d/2) line up with (..., T, "
    "d/2)?",
)
def tokens_before_heads(x, angles):
    first, second = halves(x)
    turned = angles[:, None] if x.dim() == 4 else angles
    cos, sin = turned.cos(), turned.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="angles with angles per position: row t of the angles is multiplied by t again",
    hint="The angles already depend on the position. What does your code do with the position of a "
    "token?",
)
def multiplied_by_the_position_again(x, angles):
    first, second = halves(x)
    turned = angles * torch.arange(x.shape[-2], dtype=x.dtype)[:, None]
    cos, sin = turned.cos(), turned.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "rotary_angles",
    confuses="a single position with a case that needs no check: an odd head_dim is accepted for a "
    "single position",
    hint="Try one position and head_dim=3. What does your code check first?",
)
def one_position_unchecked(positions, head_dim, base=10000.0):
    if len(positions) > 1 and head_dim % 2:
        raise ValueError("head_dim must be even")
    pairs = torch.arange(0, head_dim - 1, 2, dtype=positions.dtype, device=positions.device)
    return positions[:, None] * base ** (-pairs / head_dim)


@misconception(
    "apply_rotary",
    confuses="a sum with a difference: in the second half, x_i sin a is subtracted instead of "
    "added",
    hint="Rotate (1, 0) by a small angle. Should the second coordinate be above or below zero?",
)
def minus_in_both_halves(x, angles):
    first, second = halves(x)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos - first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="radians with degrees: the angles are converted from degrees",
    hint="The angles are in radians. Which unit do torch's sine and cosine take?",
)
def angles_taken_for_degrees(x, angles):
    first, second = halves(x)
    cos, sin = torch.deg2rad(angles).cos(), torch.deg2rad(angles).sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "rotary_angles",
    confuses="the given order of the positions with an ascending one: the rows are sorted by "
    "position",
    hint="Call it with positions 2, 0 and 1. Which row should be zero?",
)
def positions_sorted(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return positions.sort().values[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="a position with its share of the largest one: the positions are divided by the "
    "largest",
    hint="Call it with position 3 alone. Is the angle of the first pair 3?",
)
def positions_divided_by_the_largest(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    shares = positions / positions.max().clamp(min=1)
    return shares[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "rotary_angles",
    confuses="radians with turns: every angle is multiplied by two pi",
    hint="From one position to the next, the first pair rotates by one radian. By how much does "
    "yours rotate?",
)
def whole_turns_for_radians(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    return 2 * math.pi * positions[:, None] * speeds_of(positions, head_dim, base)


@misconception(
    "apply_rotary",
    confuses="any number of leading dimensions with (B, T, H, d): the angles always get a "
    "dimension for heads after the tokens, whatever shape the input has",
    hint="The tokens are in the second-to-last dimension. How does (T, 1, d/2) line up with (..., "
    "T, d/2)?",
)
def dimension_for_heads_after_the_tokens(x, angles):
    first, second = halves(x)
    cos, sin = angles[:, None].cos(), angles[:, None].sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="any number of leading dimensions with (B, T, H, d): the angles always get a leading "
    "dimension for the batch and one for heads after the tokens, whatever shape the input has",
    hint="The tokens are in the second-to-last dimension. How does (1, T, 1, d/2) line up with "
    "(..., T, d/2)?",
)
def dimensions_for_batch_and_heads(x, angles):
    first, second = halves(x)
    table = angles[None, :, None]
    cos, sin = table.cos(), table.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="an angle with half of it: each pair is rotated by half of its angle",
    hint="Rotate (1, 0) by an angle of pi. What should the result be?",
)
def half_of_the_angles(x, angles):
    first, second = halves(x)
    cos, sin = (angles / 2).cos(), (angles / 2).sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


@misconception(
    "apply_rotary",
    confuses="the order of the tokens with the reverse order: the rows of the angles are used in "
    "reverse order",
    hint="Set the first row of the angles to zero. Which token stays as it was?",
)
def angles_in_the_opposite_order(x, angles):
    first, second = halves(x)
    cos, sin = angles.flip(0).cos(), angles.flip(0).sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
