"""Removes the caller's environment variables that could change inputs or points.

No other module removes these variables. The sandbox's fork server has its own environment
(`sandbox.fork_server`) and inherits none of these variables.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

#: the prefix of pytest's variables, which change which tests are collected and which plugins are
#: loaded
_PYTESTS = "PYTEST_"
#: the variables that choose threads and kernels for torch and the libraries below it
_KERNELS = ("ATEN_", "DNNL_", "KMP_", "MKL_", "OMP_", "ONEDNN_", "OPENBLAS_", "PYTORCH_", "TORCH_")
#: variables that change how a Python process runs; those that contain paths to packages are kept
_PYTHONS = (
    *("PYTHONBREAKPOINT", "PYTHONDEVMODE", "PYTHONHASHSEED", "PYTHONINSPECT", "PYTHONMALLOC"),
    *("PYTHONOPTIMIZE", "PYTHONSTARTUP", "PYTHONVERBOSE", "PYTHONWARNINGS"),
)


def forget_callers_settings() -> None:
    """Removes variables that change how this process and its children compute.

    A command calls this before it imports torch, because torch reads most of these variables while
    it is imported.
    """
    for name in [n for n in os.environ if n.startswith(_KERNELS) or n in _PYTHONS]:
        del os.environ[name]


@contextlib.contextmanager
def without_pytests_settings() -> Iterator[None]:
    """Hides pytest's variables during a block, and keeps pytest from loading installed plugins."""
    before = {name: value for name, value in os.environ.items() if name.startswith(_PYTESTS)}
    for name in before:
        del os.environ[name]
    os.environ[f"{_PYTESTS}DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        del os.environ[f"{_PYTESTS}DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update(before)
