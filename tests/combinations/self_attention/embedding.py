"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch
import torch.nn.functional as F

from autograder.suite import intended


@intended("build_vocabulary", "no gaps: different words only", "different_words_only")
def different_words_only(sentence):
    return {word: i for i, word in enumerate(sorted(set(sentence.replace(",", "").split())))}


@intended("build_vocabulary", "small letters", "lower_cased")
def small_letters(sentence):
    return {w: i for i, w in enumerate(sorted(sentence.replace(",", "").lower().split()))}


@intended("build_vocabulary", "the first occurrence", "first_place_in_sorted_order")
def first_occurrence(sentence):
    vocabulary = {}
    for i, word in enumerate(sorted(sentence.replace(",", "").split())):
        vocabulary.setdefault(word, i)
    return vocabulary


@intended("build_vocabulary", "not sorted", "last_place_in_the_sentence")
def not_sorted(sentence):
    return {word: i for i, word in enumerate(sentence.replace(",", "").split())}


@intended("build_vocabulary", "full stops removed", "full_stop_removed")
def stops_removed(sentence):
    words = sentence.replace(",", "").replace(".", "").split()
    return {word: i for i, word in enumerate(sorted(words))}


@intended("build_vocabulary", "counted from one", "counted_from_one")
def from_one(sentence):
    return {word: i for i, word in enumerate(sorted(sentence.replace(",", "").split()), 1)}


@intended("build_vocabulary", "from id to word", "ids_to_words")
def id_to_word(sentence):
    return dict(enumerate(sorted(sentence.replace(",", "").split())))


@intended("build_vocabulary", "commas kept", "commas_are_kept")
def commas_kept(sentence):
    return {word: i for i, word in enumerate(sorted(sentence.split()))}


@intended("build_vocabulary", "letters, not words", "letters")
def letters(sentence):
    return {letter: i for i, letter in enumerate(sorted(sentence.replace(",", "")))}


@intended("encode", "zero for an unknown word", "unknown_word_is_zero")
def zero_for_unknown(sentence, vocabulary):
    return torch.tensor([vocabulary.get(word, 0) for word in sentence.replace(",", "").split()])


@intended("encode", "floating point ids", "ids_as_floats")
def floating_ids(sentence, vocabulary):
    return torch.Tensor([vocabulary[word] for word in sentence.replace(",", "").split()])


@intended("encode", "sorted words", "things_are_put_in_order_that_should_stay_in_their_places")
def sorted_words(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sorted(sentence.replace(",", "").split())])


@intended("encode", "a list", "plain_list")
def a_list(sentence, vocabulary):
    return [vocabulary[word] for word in sentence.replace(",", "").split()]


@intended("encode", "unknown words left out", "unknown_word_skipped")
def unknown_left_out(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    return torch.tensor([vocabulary[w] for w in words if w in vocabulary], dtype=torch.int64)


@intended("encode", "a vocabulary of its own", "vocabulary_made_anew")
def own_vocabulary(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    own = {word: i for i, word in enumerate(sorted(words))}
    return torch.tensor([own[word] for word in words], dtype=torch.int64)


@intended("embed", "columns of the table", "columns_instead_of_rows")
def columns_of_the_table(token_ids, table):
    return table[:, token_ids]


@intended("embed", "a table without gradient", "detached_table")
def no_gradient(token_ids, table):
    return table.detach()[token_ids]


@intended("embed", "ids counted from one", "ids_from_one")
def ids_from_one(token_ids, table):
    return table[token_ids - 1]


@intended("embed", "one-hot rows", "one_hot_rows_returned")
def one_hot(token_ids, table):
    return F.one_hot(token_ids, table.shape[0]).to(table.dtype)


@intended(
    "embed", "rows brought to length one", "rows_normalised", "vectors_are_brought_to_length_one"
)
def length_one(token_ids, table):
    rows = table[token_ids]
    return rows / rows.norm(dim=-1, keepdim=True)
