"""Inputs and checks for suites about attention: dropout, low scores, numbers of heads."""
