"""Grades submissions in parallel processes that share one fork server."""
