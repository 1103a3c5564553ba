"""Code that runs inside the sandbox, next to a student's. Imports no other code of the project.

A worker has no other modules of the project. Nothing here may contain or find a test, a solution or
a known output.
"""
