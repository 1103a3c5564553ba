"""Grades submissions in parallel processes that share fork servers."""
