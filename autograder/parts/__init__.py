"""Functions and classes of earlier exercises that later exercises import from `autograder.parts`.

A part satisfies the question with the same name, but is written differently from a usual answer.
The module of a part is loaded when the part is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .angles import rotary_angles
    from .cached_attention import CachedAttention
    from .causal_attention import CausalAttention
    from .decoder_block import DecoderBlock
    from .feed_forward import FeedForward
    from .multi_head_self_attention import MultiHeadSelfAttention
    from .turning import apply_rotary

#: the module of each part
_MODULES = {
    "CachedAttention": "cached_attention",
    "CausalAttention": "causal_attention",
    "DecoderBlock": "decoder_block",
    "FeedForward": "feed_forward",
    "MultiHeadSelfAttention": "multi_head_self_attention",
    "apply_rotary": "turning",
    "rotary_angles": "angles",
}

__all__ = [
    "CachedAttention",
    "CausalAttention",
    "DecoderBlock",
    "FeedForward",
    "MultiHeadSelfAttention",
    "apply_rotary",
    "rotary_angles",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"there is no part {name!r}; parts are {', '.join(sorted(_MODULES))}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(_MODULES)
