"""Proves a course's content by grading every case with a known verdict."""
