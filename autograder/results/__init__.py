"""Handles results: the results file, the results that count, manual grades, changes and wording."""
