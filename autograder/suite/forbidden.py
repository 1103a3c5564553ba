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
_SOFTMAX = frozenset(
    {
        "aten::softmax",
        "aten::_softmax",
        "aten::special_softmax",
        "aten::_safe_softmax",
        "aten::_masked_softmax",
        "aten::_sparse_softmax",
        "aten::log_softmax",
        "aten::_log_softmax",
        "aten::special_log_softmax",
        "aten::_sparse_log_softmax",
    }
)
_SOFTMAX_NAMES = frozenset(
    {
        "softmax",
        "_softmax",
        "_safe_softmax",
        "_masked_softmax",
        "gumbel_softmax",
        "log_softmax",
        "_log_softmax",
        "softmin",
        "Softmax",
        "Softmax2d",
        "LogSoftmax",
        "Softmin",
        # have one inside
        "cross_entropy",
        "CrossEntropyLoss",
        "Categorical",
        "OneHotCategorical",
    }
)


def scaled_dot_product(instead: str) -> Forbidden:
    """Rules out torch's `scaled_dot_product_attention`; `instead` says what to build it from."""
    return Forbidden(_SCALED_DOT_PRODUCT, _SCALED_DOT_PRODUCT_NAMES, instead)


def torch_attention(instead: str) -> Forbidden:
    """Rules out every attention function and layer of torch."""
    return Forbidden(
        _SCALED_DOT_PRODUCT
        | {"aten::_native_multi_head_attention", "flex_attention::flex_attention"}
        | {"torch.nn.functional::multi_head_attention_forward"},
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


def torch_softmax(instead: str) -> Forbidden:
    """Rules out torch's softmax functions, and its attention functions, which have one inside."""
    attention = torch_attention(instead)
    return Forbidden(_SOFTMAX | attention.operators, _SOFTMAX_NAMES | attention.names, instead)
