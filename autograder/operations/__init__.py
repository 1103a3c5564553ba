"""What each command does, as functions over records: they tell events, and print nothing.

`import autograder` offers the ones that a notebook, a service or a test would call.
"""
