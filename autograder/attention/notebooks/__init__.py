"""Provides pictures and small experiments about attention for the lessons and the capstone."""

from ...student.missing_names import explain_missing_names

explain_missing_names()
