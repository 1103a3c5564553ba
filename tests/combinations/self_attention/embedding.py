"""Wrong answers written from the questions alone, and what each of them means to do."""

import torch
import torch.nn.functional as F

from autograder.suite import intended


@intended("build_vocabulary", "no gaps: different words only")
def different_words_only(sentence):
    return {word: i for i, word in enumerate(sorted(set(sentence.replace(",", "").split())))}


@intended("build_vocabulary", "small letters")
def small_letters(sentence):
    return {w: i for i, w in enumerate(sorted(sentence.replace(",", "").lower().split()))}


@intended("build_vocabulary", "the first occurrence")
def first_occurrence(sentence):
    vocabulary = {}
    for i, word in enumerate(sorted(sentence.replace(",", "").split())):
        vocabulary.setdefault(word, i)
    return vocabulary


@intended("build_vocabulary", "not sorted")
def not_sorted(sentence):
    return {word: i for i, word in enumerate(sentence.replace(",", "").split())}


@intended("build_vocabulary", "full stops removed")
def stops_removed(sentence):
    words = sentence.replace(",", "").replace(".", "").split()
    return {word: i for i, word in enumerate(sorted(words))}


@intended("build_vocabulary", "counted from one")
def from_one(sentence):
    return {word: i for i, word in enumerate(sorted(sentence.replace(",", "").split()), 1)}


@intended("build_vocabulary", "from id to word")
def id_to_word(sentence):
    return dict(enumerate(sorted(sentence.replace(",", "").split())))


@intended("build_vocabulary", "commas kept")
def commas_kept(sentence):
    return {word: i for i, word in enumerate(sorted(sentence.split()))}


@intended("build_vocabulary", "letters, not words")
def letters(sentence):
    return {letter: i for i, letter in enumerate(sorted(sentence.replace(",", "")))}


@intended("encode", "zero for an unknown word")
def zero_for_unknown(sentence, vocabulary):
    return torch.tensor([vocabulary.get(word, 0) for word in sentence.replace(",", "").split()])


@intended("encode", "floating point ids")
def floating_ids(sentence, vocabulary):
    return torch.Tensor([vocabulary[word] for word in sentence.replace(",", "").split()])


@intended("encode", "sorted words")
def sorted_words(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sorted(sentence.replace(",", "").split())])


@intended("encode", "a list")
def a_list(sentence, vocabulary):
    return [vocabulary[word] for word in sentence.replace(",", "").split()]


@intended("encode", "unknown words left out")
def unknown_left_out(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    return torch.tensor([vocabulary[w] for w in words if w in vocabulary], dtype=torch.int64)


@intended("encode", "a vocabulary of its own")
def own_vocabulary(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    own = {word: i for i, word in enumerate(sorted(words))}
    return torch.tensor([own[word] for word in words], dtype=torch.int64)


@intended("embed", "columns of the table")
def columns_of_the_table(token_ids, table):
    return table[:, token_ids]


@intended("embed", "a table without gradient")
def no_gradient(token_ids, table):
    return table.detach()[token_ids]


@intended("embed", "ids counted from one")
def ids_from_one(token_ids, table):
    return table[token_ids - 1]


@intended("embed", "one-hot rows")
def one_hot(token_ids, table):
    return F.one_hot(token_ids, table.shape[0]).to(table.dtype)


@intended("embed", "rows brought to length one")
def length_one(token_ids, table):
    rows = table[token_ids]
    return rows / rows.norm(dim=-1, keepdim=True)
