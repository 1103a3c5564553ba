"""The work of each command, as functions that return records, report events, and print nothing.

`import autograder` offers the functions that a notebook, a service or a test would call.
"""
