from autograder.suite import misconception


@misconception(
    "plus_one",
    confuses="adding and multiplying: the input is doubled",
    hint="What should become of a zero in the input?",
)
def doubled_instead(x):
    twice_as_much = x + x
    return twice_as_much
