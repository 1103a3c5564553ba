"""The work of each command, as functions over records: they report events, and print nothing.

`import autograder` offers the ones that a notebook, a service or a test would call.
"""
