"""Runs the command line for `python -m autograder`."""

from .cli import main

main()
