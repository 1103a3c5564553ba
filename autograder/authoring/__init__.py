"""From content to product: what students get, proved to be fresh and to tell nothing hidden."""

from .bundle import build_wheel
from .gradescope import gradescope_bundle
from .leaks import Leak
from .release import Difference, ReleasedFolder, ReleaseReport, find_leaks, release, verify_fresh

__all__ = [
    "Difference",
    "Leak",
    "ReleaseReport",
    "ReleasedFolder",
    "build_wheel",
    "find_leaks",
    "gradescope_bundle",
    "release",
    "verify_fresh",
]
