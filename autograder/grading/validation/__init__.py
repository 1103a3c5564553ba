"""Checks a course's content by grading all cases with a known verdict."""
