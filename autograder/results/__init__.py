"""Handles results of submissions: their file, the ones that count, manual work and wording."""
