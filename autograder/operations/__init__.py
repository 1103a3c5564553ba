"""Does the work of each command, in functions that return records and print nothing.

`import autograder` provides the functions that a notebook, a service or a test would call.
"""
