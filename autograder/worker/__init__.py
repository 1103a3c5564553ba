"""Code that runs inside the sandbox with a student's. Imports nothing else of the project.

A worker has no other modules of the project, so nothing here may contain or find a test, a solution
or a known output.
"""
