"""Provides inputs and checks for suites about attention, such as low scores and dropout."""
