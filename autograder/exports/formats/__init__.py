"""One module for each export format, with `DEFAULT`, the name of its file, and `write`."""
