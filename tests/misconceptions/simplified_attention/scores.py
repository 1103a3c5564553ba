"""What students write instead of the scores."""

from autograder.suite import misconception


@misconception(
    "attention_scores",
    confuses="rows and columns: keys score queries instead of queries keys",
    hint="Which of the two sets does row t of the result belong to?",
)
def transposed(queries, keys):
    return keys @ queries.transpose(-2, -1)
