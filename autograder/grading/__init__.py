"""Grades submissions: one loop for any kind of assignment, over jobs that share a fork server."""
