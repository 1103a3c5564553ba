"""`python -m autograder`: the same as the console script."""

from .cli import main

main()
