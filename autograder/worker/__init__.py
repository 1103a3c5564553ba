"""Code that runs inside the sandbox, next to a student's code.

This package imports no other code of the project, because the sandbox contains none. Nothing here
may contain or find a test, a solution or a known output.
"""
