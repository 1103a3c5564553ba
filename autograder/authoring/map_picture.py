"""Draws a transformer as SVG; an assignment's own boxes are highlighted in color."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

#: colors as in `autograder.attention.notebooks.drawing`, readable on white and on black pages
_INK, _FRAME, _BOX_INK = "#7a7a7a", "#8a8a8a", "#222222"
_HERE, _BUILT, _LATER = "#f2b661", "#c6d7ea", "#e4e4e0"
_WIDTH, _HEIGHT = 400, 384

Box = tuple[float, float, float, str]  # left, top, width, text
_TALL = 26

#: all boxes, by the name of the assignment in which students build them
_BOXES: Mapping[str, tuple[Box, ...]] = {
    "simplified_attention": (
        (190, 206, 84, "scores"),
        (190, 110, 84, "softmax"),
        (190, 72, 200, "weights × values"),
    ),
    "self_attention": (
        (8, 324, 140, "embedding"),
        (190, 308, 60, "queries"),
        (260, 308, 60, "keys"),
        (330, 308, 60, "values"),
        (190, 174, 84, "÷ √d"),
    ),
    "causal_attention": (
        (190, 142, 84, "causal mask"),
        (284, 110, 106, "dropout"),
    ),
    "multi_head_attention": (
        (190, 40, 200, "heads side by side, out_proj"),
        (190, 276, 200, "split into heads"),
    ),
    "transformer_block": (
        (22, 190, 112, "add and norm"),
        (22, 142, 112, "feed-forward"),
        (22, 94, 112, "add and norm"),
    ),
    "decoder_attention": (
        (190, 244, 130, "positions: turn"),
        (284, 206, 106, "cache, groups"),
        (8, 40, 140, "the next word"),
    ),
}
#: the box that the right half of the picture shows in detail; it belongs to all assignments
_ATTENTION: Box = (22, 238, 112, "attention")
_LINES = ((78, 324, 78, 66), (232, 308, 232, 98), (365, 308, 365, 98), (290, 72, 290, 66))


def map_picture(order: tuple[str, ...], here: str = "") -> str:
    """Returns the picture as SVG, with boxes of `here` in orange and those of earlier ones in blue.

    Only the assignments in `_BOXES` have boxes.
    """
    place = order.index(here) if here in order else -1
    parts = [_line(*line) for line in _LINES]
    parts.append(_text(78, 374, "words", "middle"))
    parts.append(_text(78, 18, "a transformer", "middle"))
    parts.append(_text(290, 18, "inside attention", "middle"))
    parts.append(_frame(12, 84, 132, 190) + _text(152, 100, "× N", "start"))
    parts.append(_frame(180, 28, 214, 316))
    parts.append(
        f'<path d="M134 251 L180 251" stroke="{_FRAME}" stroke-dasharray="3 3" fill="none"/>'
    )
    parts.append(_box(_ATTENTION, _HERE if here else _LATER, ""))
    for number, name in enumerate(order):
        color = _HERE if number == place else _BUILT if number < place else _LATER
        parts += [_box(box, color, str(number + 1)) for box in _BOXES.get(name, ())]
    label = f"A transformer. Orange: what {here} builds." if here else "A transformer."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(label)}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _box(box: Box, color: str, number: str) -> str:
    left, top, width, text = box
    edge = "#b4690e" if color == _HERE else _FRAME
    shape = (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{_TALL}" rx="5" '
        f'fill="{color}" stroke="{edge}"/>'
    )
    middle = left + width / 2 - (5 if number else 0)
    shape += _text(middle, top + 17, text, "middle", _BOX_INK)
    if number:
        shape += (
            f'<text x="{left + width - 4:g}" y="{top + 10:g}" text-anchor="end" font-size="8" '
            f'fill="{_BOX_INK}">{number}</text>'
        )
    return shape


def _text(x: float, y: float, text: str, anchor: str, color: str = _INK) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    tip = f"M{to_x - 4:g} {to_y + 6:g} L{to_x:g} {to_y:g} L{to_x + 4:g} {to_y + 6:g}"
    return (
        f'<path d="M{x:g} {y:g} L{to_x:g} {to_y:g} {tip}" stroke="{_FRAME}" fill="none" '
        'stroke-width="1.5"/>'
    )


def _frame(left: float, top: float, width: float, height: float) -> str:
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="8" '
        f'fill="none" stroke="{_FRAME}"/>'
    )
