"""Contains a module for each export format, with `write` and the default file name, `DEFAULT`."""
