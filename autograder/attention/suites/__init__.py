"""Provides special inputs, and checks of dropout, for the suites on attention."""
