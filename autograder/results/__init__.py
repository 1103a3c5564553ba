"""Handles results: their file, the ones that count, manual grades, changes and wording."""
