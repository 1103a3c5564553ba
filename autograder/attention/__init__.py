"""Code about attention, the subject of this course. Only notebooks, suites and tests import it."""
