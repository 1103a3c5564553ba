"""Runs inside the sandbox, next to a student's code; imports no other code of the project.

The sandbox contains no other modules of the project. Nothing here may contain or find a test, a
solution or a known output.
"""
