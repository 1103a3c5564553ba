"""Creates the students' files from a course's content, and checks that they reveal no secrets."""

from .gradescope import gradescope_bundle
from .release import ReleaseReport, find_leaks, release, verify_fresh
from .scaffold import Scaffold, scaffold_course, scaffold_exercise
