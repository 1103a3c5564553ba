"""One module for each export format, with `write` and `DEFAULT`, the name of its file."""
