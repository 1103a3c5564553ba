"""Inputs and checks of attention for hidden and public suites: dropout, low scores, head counts."""
