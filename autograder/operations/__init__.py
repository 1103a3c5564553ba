"""Contains one function for each command; the functions return records and print nothing.

`import autograder` provides the functions that are useful in notebooks, services or tests.
"""
