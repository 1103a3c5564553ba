"""Variants in a file can be read as data, without executing them."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

import torch

from autograder.suite.variants import variants_in

_COMPILED = """
import torch
from autograder.suite.variants import alternative


@alternative("double")
@torch.compile(backend="eager")
def compiled(x):
    return x + x
"""


def test_a_compiled_variant_is_read_without_the_compiler(tmp_path: Path) -> None:
    """Loading torch's compiler takes more than a second in each process that reads the file."""
    path = tmp_path / "variants.py"
    path.write_text(_COMPILED, encoding="utf-8")
    before = torch.compile
    (variant,) = variants_in(path)
    assert type(variant.implementation) is FunctionType
    assert variant.implementation.__code__.co_filename == str(path)
    assert torch.compile is before
