"""Provides inputs (such as low scores) and checks (such as of dropout) for suites on attention."""
