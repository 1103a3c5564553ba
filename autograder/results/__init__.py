"""Handles submission results: the file, the results that count, manual grades and wording."""
