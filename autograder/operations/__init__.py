"""Contains a function for each command, which returns records and prints nothing.

`import autograder` provides the functions that are useful in notebooks, services or tests.
"""
