"""Code specific to attention, this course's subject. Only notebooks, suites and tests import it."""
