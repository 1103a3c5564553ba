"""Makes the students' files from a course's content, and checks them for freshness and leaks."""

from .gradescope import gradescope_bundle
from .leaks import Leak
from .package_wheel import package_wheel
from .release import Difference, ReleasedFolder, ReleaseReport, find_leaks, release, verify_fresh
from .scaffold import Scaffold, scaffold_course, scaffold_exercise

__all__ = [
    "Difference",
    "Leak",
    "ReleaseReport",
    "ReleasedFolder",
    "Scaffold",
    "find_leaks",
    "gradescope_bundle",
    "package_wheel",
    "release",
    "scaffold_course",
    "scaffold_exercise",
    "verify_fresh",
]
