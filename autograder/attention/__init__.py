"""Contains code that is specific to attention, this course's subject.

Only notebooks, suites and tests import this package.
"""
