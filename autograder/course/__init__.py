"""A course's content on disk becomes records: its exercises, what their tests are worth, releases."""

from .content import BEGIN_SOLUTION, END_SOLUTION, Course, find_root, load_course

__all__ = ["BEGIN_SOLUTION", "END_SOLUTION", "Course", "find_root", "load_course"]
