"""Finds the known mistake that explains a wrong answer."""
