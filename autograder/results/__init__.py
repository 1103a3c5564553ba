"""Handles results of submissions: the file, the results that count, manual grades and wording."""
