"""Families of torch calls that several questions rule out."""

from __future__ import annotations

from .rules import Forbidden

#: every operator behind torch's function; which one runs depends on shape, device and gradient
_SCALED_DOT_PRODUCT = frozenset(
    {
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_attention_math",
        "aten::_scaled_dot_product_attention_math_for_mps",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_scaled_dot_product_fused_attention_overrideable",
    }
)
_SCALED_DOT_PRODUCT_NAMES = frozenset(
    {
        "scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention_for_cpu",
    }
)


def scaled_dot_product(instead: str) -> Forbidden:
    """Rules out torch's `scaled_dot_product_attention`; `instead` says what to build it from."""
    return Forbidden(_SCALED_DOT_PRODUCT, _SCALED_DOT_PRODUCT_NAMES, instead)


def torch_attention(instead: str) -> Forbidden:
    """Rules out every attention function and layer of torch."""
    return Forbidden(
        _SCALED_DOT_PRODUCT
        | {"aten::_native_multi_head_attention", "flex_attention::flex_attention"},
        _SCALED_DOT_PRODUCT_NAMES
        | {
            "multi_head_attention_forward",
            "MultiheadAttention",
            "_native_multi_head_attention",
            "flex_attention",
            "TransformerEncoderLayer",
            "TransformerDecoderLayer",
        },
        instead,
    )
