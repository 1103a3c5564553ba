"""Assignments of nbgrader's own test cells: their cells run in the sandbox, without a kernel.

Nothing of this project is needed in such an assignment; see docs/migration.md.
"""
