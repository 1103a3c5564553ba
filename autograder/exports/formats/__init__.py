"""Contains one module per export format; each defines `write` and `DEFAULT`, a file name."""
