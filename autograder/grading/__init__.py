"""Grades submissions: one loop for all kinds of assignments, with jobs that share a fork server."""
