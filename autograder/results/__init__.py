"""Results of submissions: the file, what counts, what needs a look, manual work, wording."""
