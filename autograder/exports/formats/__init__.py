"""One module for each export format: `DEFAULT`, the name of what it writes, and `write`."""
