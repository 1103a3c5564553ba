"""Writes down what the example class earns: examples/expected.json, from a grading of today.

    python tools/expected.py [--jobs 2]

The same as `autograder expected`, which any course has.
"""

from __future__ import annotations

import sys

from autograder.cli import cli

if __name__ == "__main__":
    sys.exit(cli(["expected", *sys.argv[1:]], standalone_mode=False))
