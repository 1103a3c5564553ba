"""One module per export format, with `write` and `DEFAULT`, the default name of its file."""
