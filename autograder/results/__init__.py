"""Results of submissions: their file, the ones that count, reviews, manual work and wording."""
