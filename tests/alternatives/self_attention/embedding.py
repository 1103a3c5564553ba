"""Right but unusual ways to compute the vocabulary, the ids and the lookup."""

import bisect
import itertools
import operator
import re
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import alternative

# build_vocabulary


@alternative("build_vocabulary")
def loop_over_sorted_words(sentence):
    vocabulary = {}
    words = sentence.replace(",", "").split()
    words.sort()
    for i in range(len(words)):
        vocabulary[words[i]] = i
    return vocabulary


@alternative("build_vocabulary")
def zip_with_a_range(sentence):
    words = sorted("".join(sentence.split(",")).split())
    return dict(zip(words, range(len(words)), strict=True))


@alternative("build_vocabulary")
def how_many_words_are_not_greater(sentence):
    words = sentence.replace(",", "").split()
    return {word: sum(other <= word for other in words) - 1 for word in words}


@alternative("build_vocabulary")
def bisected(sentence):
    words = sorted(re.sub(",", "", sentence).split())
    return {word: bisect.bisect_right(words, word) - 1 for word in set(words)}


@alternative("build_vocabulary")
def running_total_of_counts(sentence):
    counts = sorted(Counter(re.findall(r"\S+", sentence.replace(",", ""))).items())
    totals = itertools.accumulate(count for _, count in counts)
    return {word: total - 1 for (word, _), total in zip(counts, totals, strict=True)}


@alternative("build_vocabulary")
def from_the_end_and_first_wins(sentence):
    words = sorted(sentence.translate({ord(","): None}).split())
    vocabulary = {}
    for place in reversed(range(len(words))):
        vocabulary.setdefault(words[place], place)
    return vocabulary


@alternative("build_vocabulary")
def grouped(sentence):
    words = sorted("".join(c for c in sentence if c != ",").split())
    groups = itertools.groupby(enumerate(words), key=operator.itemgetter(1))
    return {word: max(place for place, _ in group) for word, group in groups}


@alternative("build_vocabulary")
def word_by_word(sentence):
    pieces = [piece.replace(",", "") for piece in sentence.split()]
    words = sorted(piece for piece in pieces if piece)
    return {word: len(words) - 1 - words[::-1].index(word) for word in words}


# encode


@alternative("encode")
def list_comprehension_without_dtype(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sentence.replace(",", "").split()])


@alternative("encode")
def mapped(sentence, vocabulary):
    words = "".join(sentence.split(",")).split()
    return torch.LongTensor(list(map(vocabulary.__getitem__, words)))


@alternative("encode")
def filled_in_a_loop(sentence, vocabulary):
    words = re.findall(r"\S+", sentence.replace(",", ""))
    ids = torch.zeros(len(words), dtype=torch.long)
    for i, word in enumerate(words):
        ids[i] = vocabulary[word]
    return ids


@alternative("encode")
def stacked_scalars(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    return torch.stack([torch.tensor(vocabulary[word]) for word in words])


@alternative("encode")
def concatenated(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    return torch.cat([torch.full((1,), vocabulary[word], dtype=torch.int64) for word in words])


@alternative("encode")
def own_error_message(sentence, vocabulary):
    words = sentence.replace(",", "").split()
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        raise KeyError(f"not in the vocabulary: {', '.join(unknown)}")
    return torch.as_tensor([vocabulary[word] for word in words])


class _UnknownWordError(KeyError):
    """Raised for a word without an id."""


@alternative("encode")
def error_class_of_its_own(sentence, vocabulary):
    ids = []
    for word in sentence.replace(",", "").split():
        try:
            ids.append(vocabulary[word])
        except KeyError as error:
            raise _UnknownWordError(f"no id for the word {word!r}") from error
    return torch.tensor(ids).long()


@alternative("encode")
def words_read_one_by_one(sentence, vocabulary):
    ids = torch.empty(0, dtype=torch.int64)
    for piece in sentence.split():
        word = piece.replace(",", "")
        if word:
            ids = torch.cat((ids, ids.new_tensor([operator.getitem(vocabulary, word)])))
    return ids


# embed


@alternative("embed")
def torchs_embedding_function(token_ids, table):
    return F.embedding(token_ids, table)


@alternative("embed")
def embedding_with_sparse_gradient(token_ids, table):
    return F.embedding(token_ids, table, sparse=True)


@alternative("embed")
def selected_by_index(token_ids, table):
    return torch.index_select(table, 0, token_ids)


@alternative("embed")
def gathered_numbers(token_ids, table):
    return table.gather(0, token_ids[:, None].expand(-1, table.shape[1]))


@alternative("embed")
def taken_along_dimension(token_ids, table):
    return torch.take_along_dim(table, token_ids.unsqueeze(-1), dim=0)


@alternative("embed")
def one_hot_times_table(token_ids, table):
    return F.one_hot(token_ids, num_classes=table.shape[0]).to(table.dtype) @ table


@alternative("embed")
def compared_with_all_ids(token_ids, table):
    picks = token_ids[:, None] == torch.arange(table.size(0))[None, :]
    return torch.einsum("tv,vd->td", picks.to(table), table)


@alternative("embed")
def rows_stacked_in_a_loop(token_ids, table):
    return torch.stack([table[int(i)] for i in token_ids])


@alternative("embed")
def rows_unbound(token_ids, table):
    rows = table.unbind(0)
    return torch.cat([rows[i].reshape(1, -1) for i in token_ids.tolist()])


@alternative("embed")
def list_as_index(token_ids, table):
    return table[token_ids.tolist(), :]


@alternative("embed")
def bags_of_one_word(token_ids, table):
    return F.embedding_bag(token_ids, table, torch.arange(len(token_ids)), mode="sum")


@alternative("embed")
def layer_with_the_table_put_in(token_ids, table):
    layer = nn.Embedding(*table.shape, dtype=table.dtype)
    return torch.func.functional_call(layer, {"weight": table}, (token_ids,))


@alternative("embed")
def filled_row_by_row(token_ids, table):
    rows = table.new_empty(len(token_ids), table.shape[1])
    for t, i in enumerate(token_ids):
        rows[t] = table[i]
    return rows


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, token_ids, table):
        ctx.save_for_backward(token_ids)
        ctx.rows = table.shape[0]
        return table[token_ids]

    @staticmethod
    def backward(ctx, gradient):
        (token_ids,) = ctx.saved_tensors
        zeros = gradient.new_zeros(ctx.rows, gradient.shape[-1])
        return None, zeros.index_add(0, token_ids, gradient)


@alternative("embed")
def backward_adds_rows(token_ids, table):
    return _Rows.apply(token_ids, table)


@alternative("build_vocabulary")
def sorted_by_insertion(sentence):
    words = []
    for word in sentence.replace(",", "").split():
        bisect.insort(words, word)
    return {word: position for position, word in enumerate(words)}


@alternative("encode")
def generator_of_array(sentence, vocabulary):
    words = sentence.translate({ord(","): None}).split()
    return torch.as_tensor([*map(vocabulary.__getitem__, words)], dtype=torch.long)


@alternative("embed")
def mapped_over_ids(token_ids, table):
    return torch.vmap(lambda i: torch.index_select(table, 0, i.reshape(1)).squeeze(0))(token_ids)
