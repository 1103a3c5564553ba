"""Grades assignments with nbgrader's own test cells, which run in the sandbox without a kernel.

These assignments need no code from this project; see docs/migration.md.
"""
