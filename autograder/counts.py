"""Writes numbers of things for messages and pages."""


def number_of(count: float | str, noun: str, nouns: str = "") -> str:
    """Returns a number with a noun, such as `1 page`, `2 pages` or `two pages`.

    `nouns` is the plural, if it is not the noun with an `s`. A count may already be formatted.
    """
    text = f"{count:g}" if isinstance(count, float) else str(count)
    return f"{text} {noun if text in ('1', 'one') else nouns or f'{noun}s'}"
