"""Checks a course's content by grading every case whose verdict is known."""
