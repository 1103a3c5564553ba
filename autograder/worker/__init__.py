"""Runs inside the sandbox, next to a student's code.

This package imports nothing else from the project, because the sandbox contains nothing else. No
code here may contain a test, a solution or a known output, or give access to one.
"""
