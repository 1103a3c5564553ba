"""Known mistakes in the vocabulary, the ids and the lookup."""

import string
import unicodedata

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception


def _split(sentence):
    return sentence.replace(",", "").split()


# build_vocabulary


@misconception(
    "build_vocabulary",
    confuses="the order of the sentence and the sorted order of the words: words are numbered by "
    "their positions in the sentence, not in sorted order",
    hint="Should two sentences with the same words in a different order give the same ids?",
)
def last_place_in_the_sentence(sentence):
    return {word: place for place, word in enumerate(_split(sentence))}


@misconception(
    "build_vocabulary",
    confuses="sorted order and the order in which new words appear: words are numbered in the "
    "order in which they appear",
    hint="Which word would come first in a printed dictionary?",
)
def numbered_as_they_appear(sentence):
    vocabulary = {}
    for word in _split(sentence):
        vocabulary.setdefault(word, len(vocabulary))
    return vocabulary


@misconception(
    "build_vocabulary",
    confuses="the list of all words and the set of different words: the ids have no gaps",
    hint="If a word occurs twice, how many times is it in the list that you sort?",
)
def different_words_only(sentence):
    return {word: place for place, word in enumerate(sorted(set(_split(sentence))))}


@misconception(
    "build_vocabulary",
    confuses="the first and the last position of a repeated word in the sorted list: a repeated "
    "word gets its first position in the sorted list, not its last",
    hint="A word that occurs twice has two positions. Which of them does the question ask for?",
)
def first_place_in_sorted_order(sentence):
    words = sorted(_split(sentence))
    return {word: words.index(word) for word in words}


@misconception(
    "build_vocabulary",
    confuses="removing a comma and ending a word at it: a comma separates two words instead of "
    "being removed",
    hint="What is left of `a,b` when its comma is removed and nothing replaces it?",
)
def comma_becomes_a_space(sentence):
    words = sorted(sentence.replace(",", " ").split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="a word and a word with a comma at its end: commas stay at the ends of words",
    hint="Does your code treat `shoes` and `shoes,` as the same word?",
)
def commas_are_kept(sentence):
    return {word: place for place, word in enumerate(sorted(sentence.split()))}


@misconception(
    "build_vocabulary",
    confuses="all commas and the commas at the ends of words: commas inside words are left, and a "
    "comma alone leaves an empty word",
    hint="What happens to a comma between two spaces?",
)
def commas_stripped_from_the_ends(sentence):
    words = sorted(word.strip(",") for word in sentence.split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="all commas and the commas at the ends of words: commas inside words are left",
    hint="What should become of the comma in `shoes,socks`?",
)
def commas_inside_words_are_left(sentence):
    words = sorted(filter(None, (word.strip(",") for word in sentence.split())))
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="removing commas and keeping letters: everything but letters, digits and underscores "
    "is removed",
    hint="Which characters does the question tell you to remove? What is left of `don't`?",
)
def only_letters_and_digits_kept(sentence):
    letters = (c for c in sentence if c.isalnum() or c.isspace() or c == "_")
    words = sorted("".join(letters).split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="the first comma and every comma: only the first comma is removed",
    hint="How many commas can a sentence have?",
)
def one_comma_removed(sentence):
    words = sorted(sentence.replace(",", "", 1).split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="commas and all punctuation: all punctuation is removed, not only commas",
    hint="Which punctuation mark does the exercise tell you to remove, and which ones stay "
    "attached to a word?",
)
def all_punctuation_removed(sentence):
    bare = sentence.translate(str.maketrans("", "", string.punctuation))
    return {word: place for place, word in enumerate(sorted(bare.split()))}


@misconception(
    "build_vocabulary",
    confuses="commas with all punctuation at the ends of words: periods are removed as well",
    hint="Which punctuation mark does the exercise tell you to remove? What happens to a period at "
    "the end?",
)
def stripped_of_signs(sentence):
    words = [word.strip(string.punctuation) for word in _split(sentence)]
    return {word: place for place, word in enumerate(sorted(words))}


@misconception(
    "build_vocabulary",
    confuses="commas and periods: periods are removed as well as commas",
    hint="Is `big.` one of the words that the exercise shows?",
)
def full_stop_removed(sentence):
    words = sorted(sentence.replace(",", "").replace(".", "").split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="words that differ only in capitalization with equal words: capital letters are "
    "changed to lowercase",
    hint="Are `My` and `my` one entry or two?",
)
def lower_cased(sentence):
    return {word: place for place, word in enumerate(sorted(_split(sentence.lower())))}


@misconception(
    "build_vocabulary",
    confuses="Python's order of strings and an order that ignores capitals: words are sorted "
    "without regard to case",
    hint="Which does Python put first, `Z` or `a`?",
)
def sorted_without_regard_to_case(sentence):
    words = sorted(_split(sentence), key=str.lower)
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="alphabetical order and order by length: words are sorted by length",
    hint="Which of two words does your code put first: the shorter one, or the one that comes "
    "first in the alphabet?",
)
def sorted_by_length(sentence):
    return {word: place for place, word in enumerate(sorted(_split(sentence), key=len))}


@misconception(
    "build_vocabulary",
    confuses="ascending and descending order: words are sorted in descending order",
    hint="Which end of the alphabet gets the id 0?",
)
def sorted_backwards(sentence):
    words = sorted(_split(sentence), reverse=True)
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="whitespace and a single space: the sentence is split at single spaces, which gives "
    "empty words and words with tabs",
    hint="What does `split` do without an argument?",
)
def split_at_single_spaces(sentence):
    words = sorted(sentence.replace(",", "").split(" "))
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="commas with the gaps between words: the sentence is split at commas instead of "
    "spaces",
    hint="What separates two words of this sentence?",
)
def split_at_commas(sentence):
    words = sorted(part.strip() for part in sentence.split(","))
    return {word: place for place, word in enumerate(words)}


@misconception(
    "build_vocabulary",
    confuses="words and letters: single characters are numbered, not words",
    hint="What are the items of a string, and what are the items of a list of words?",
)
def letters(sentence):
    return {letter: place for place, letter in enumerate(sorted(sentence.replace(",", "")))}


@misconception(
    "build_vocabulary",
    confuses="counting from 1 and counting from 0: ids are counted from 1",
    hint="Which number does the first row of a table have in Python?",
)
def counted_from_one(sentence):
    return {word: place for place, word in enumerate(sorted(_split(sentence)), start=1)}


@misconception(
    "build_vocabulary",
    confuses="key and value: ids are mapped to words",
    hint="What do you want to look up: the id of a word, or the word for an id?",
)
def ids_to_words(sentence):
    return dict(enumerate(sorted(_split(sentence))))


@misconception(
    "build_vocabulary",
    confuses="the position of a word and the number of times it occurs: a word is mapped to the "
    "number of times it occurs, not to its position",
    hint="Do two words that occur equally often get different ids?",
)
def frequencies(sentence):
    words = _split(sentence)
    return {word: words.count(word) for word in words}


@misconception(
    "build_vocabulary",
    confuses="the words of the sentence with those that a vocabulary may need: there is an "
    "additional entry for unknown words",
    hint="Which keys of your dict are not words of the sentence?",
)
def entry_for_unknown_words(sentence):
    vocabulary = {word: position for position, word in enumerate(sorted(_split(sentence)))}
    return {**vocabulary, "<unk>": len(vocabulary)}


@misconception(
    "build_vocabulary",
    confuses="a dict and a list of pairs: a list of pairs is returned instead of a dict",
    hint="Can you look a word up in your result with square brackets?",
)
def list_of_pairs(sentence):
    return [(word, place) for place, word in enumerate(sorted(_split(sentence)))]


@misconception(
    "build_vocabulary",
    confuses="integers and tensors that hold one integer: the ids are tensors instead of integers",
    hint="What type does `type(vocabulary[word])` show?",
)
def ids_as_tensors(sentence):
    return {word: torch.tensor(place) for place, word in enumerate(sorted(_split(sentence)))}


# encode


@misconception(
    "encode",
    confuses="an unknown word and a word that may be left out: unknown words are left out",
    hint="How long is the result if one of five words is unknown?",
)
def unknown_word_skipped(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in _split(sentence) if word in vocabulary])


@misconception(
    "encode",
    confuses="an unknown word and the word with id 0: unknown words get the id 0",
    hint="In your result, which word's id does an unknown word get?",
)
def unknown_word_is_zero(sentence, vocabulary):
    return torch.tensor([vocabulary.get(word, 0) for word in _split(sentence)])


@misconception(
    "encode",
    confuses="an unknown word and the last row: unknown words get the id -1, which counts from the "
    "end",
    hint="Which row of a table does the index -1 give?",
)
def unknown_word_is_minus_one(sentence, vocabulary):
    return torch.tensor([vocabulary.get(word, -1) for word in _split(sentence)])


@misconception(
    "encode",
    confuses="a vocabulary that is given and one that grows while it is read: unknown words get "
    "new ids",
    hint="Does the table have a row for the word that was just added?",
)
def unknown_word_added(sentence, vocabulary):
    known = dict(vocabulary)
    return torch.tensor([known.setdefault(word, len(known)) for word in _split(sentence)])


@misconception(
    "encode",
    confuses="the caller's vocabulary and one that may be changed: unknown words are written into "
    "the caller's vocabulary",
    hint="Print the vocabulary before and after a call. Who else may use it?",
)
def unknown_word_written_into_the_vocabulary(sentence, vocabulary):
    return torch.tensor([vocabulary.setdefault(w, len(vocabulary)) for w in _split(sentence)])


@misconception(
    "encode",
    confuses="a key that is missing and a value that is wrong: an unknown word raises ValueError "
    "instead of KeyError",
    hint="Which error class does a dict raise for a missing key?",
)
def value_error_for_unknown_words(sentence, vocabulary):
    words = _split(sentence)
    for word in words:
        if word not in vocabulary:
            raise ValueError(f"unknown word: {word}")
    return torch.tensor([vocabulary[word] for word in words])


@misconception(
    "encode",
    confuses="an error that says what failed and one that says that something failed: the error "
    "does not name the unknown word",
    hint="Could you tell from this message alone which word is unknown?",
)
def unknown_word_not_named(sentence, vocabulary):
    try:
        return torch.tensor([vocabulary[word] for word in _split(sentence)])
    except KeyError:
        raise KeyError("the sentence has an unknown word") from None


@misconception(
    "encode",
    confuses="integers that index a table and floating-point numbers: the ids are floating-point "
    "numbers",
    hint="Print the dtype of your result. Can it index a table?",
)
def ids_as_floats(sentence, vocabulary):
    return torch.Tensor([vocabulary[word] for word in _split(sentence)])


@misconception(
    "encode",
    confuses="int64 with numbers that have passed through float32: the ids pass through float32, "
    "which rounds large ones",
    hint="Up to which integer n can float32 tell n and n + 1 apart?",
)
def ids_through_float32(sentence, vocabulary):
    return torch.Tensor([vocabulary[word] for word in _split(sentence)]).long()


@misconception(
    "encode",
    confuses="int32 and int64: the ids are int32 instead of int64",
    hint="Which integer dtype does torch use by default?",
)
def ids_as_int32(sentence, vocabulary):
    ids = torch.tensor([vocabulary[word] for word in _split(sentence)])
    return ids.to(torch.int32)


@misconception(
    "encode",
    confuses="a list of numbers and a tensor: a list is returned instead of a tensor",
    hint="Does your result have a `.shape`?",
)
def plain_list(sentence, vocabulary):
    return [vocabulary[word] for word in _split(sentence)]


@misconception(
    "encode",
    confuses="the id that the vocabulary holds and the position of the word in it: the position of "
    "a word in the vocabulary is used instead of its id",
    hint="Which id does the dict hold for the word, and how many entries come before it?",
)
def place_in_the_vocabulary(sentence, vocabulary):
    order = list(vocabulary)
    for word in _split(sentence):
        vocabulary[word]
    return torch.tensor([order.index(word) for word in _split(sentence)])


@misconception(
    "encode",
    confuses="the id that the vocabulary holds and the position of the word in it: the position of "
    "a word in a list is used instead of its id, so an unknown word raises ValueError, not "
    "KeyError",
    hint="Which id does the dict hold for the word, and how many entries come before it?",
)
def place_in_a_list_of_words(sentence, vocabulary):
    order = list(vocabulary)
    return torch.tensor([order.index(word) for word in _split(sentence)], dtype=torch.int64)


@misconception(
    "encode",
    confuses="the given vocabulary and a new one from this sentence: a new vocabulary is made "
    "from the sentence",
    hint="Change the ids that the vocabulary holds. Does your result change?",
)
def vocabulary_made_anew(sentence, vocabulary):
    own = {word: place for place, word in enumerate(sorted(_split(sentence)))}
    return torch.tensor([own[word] for word in _split(sentence)])


@misconception(
    "encode",
    confuses="the order of the sentence and the order of the ids: the ids are sorted",
    hint="Could you recover the sentence from your result?",
)
def ids_sorted(sentence, vocabulary):
    return torch.tensor(sorted(vocabulary[word] for word in _split(sentence)))


@misconception(
    "encode",
    confuses="the order of the sentence and the order of the vocabulary: the ids are in the order "
    "of the vocabulary",
    hint="Do two sentences with the same words in a different order give the same ids?",
)
def order_of_the_vocabulary(sentence, vocabulary):
    words = _split(sentence)
    for word in words:
        vocabulary[word]
    return torch.tensor([place for word, place in vocabulary.items() if word in words])


@misconception(
    "encode",
    confuses="all words and different words: repeated words are encoded only once",
    hint="How many ids does a sentence of five words have?",
)
def different_words_once(sentence, vocabulary):
    words = dict.fromkeys(_split(sentence))
    return torch.tensor([vocabulary[word] for word in words])


@misconception(
    "encode",
    confuses="a word and a word with a comma at its end: commas stay at the ends of words",
    hint="How did the words get into the vocabulary, with or without commas?",
)
def commas_are_kept_in_words(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sentence.split()])


@misconception(
    "encode",
    confuses="removing a comma and ending a word at it: a comma separates two words instead of "
    "being removed",
    hint="Is `a,b` one word or two in `build_vocabulary`?",
)
def comma_splits_words(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sentence.replace(",", " ").split()])


@misconception(
    "encode",
    confuses="words that differ only in capitalization with equal words: words are looked up in "
    "lowercase",
    hint="The vocabulary may hold `My` and `my`: which one does your code find?",
)
def looked_up_in_lower_case(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in _split(sentence.lower())])


@misconception(
    "encode",
    confuses="whitespace and a single space: the sentence is split at every single space",
    hint="What does `split` do without an argument?",
)
def split_at_each_space(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in sentence.replace(",", "").split(" ")])


@misconception(
    "encode",
    confuses="commas and periods: periods are removed as well as commas",
    hint="Are `big` and `big.` the same entry of the vocabulary?",
)
def full_stop_cut_off(sentence, vocabulary):
    return torch.tensor([vocabulary[word.rstrip(".")] for word in _split(sentence)])


@misconception(
    "encode",
    confuses="one sentence and a batch of one sentence: the result is a batch of one sentence",
    hint="How many dimensions does a tensor of shape `(T,)` have?",
)
def batch_of_one(sentence, vocabulary):
    return torch.tensor([[vocabulary[word] for word in _split(sentence)]])


@misconception(
    "encode",
    confuses="one word with no dimension: a sentence of one word gives a tensor without dimensions",
    hint="What is the shape of the result for a sentence with one word?",
)
def dimension_squeezed_away(sentence, vocabulary):
    return torch.tensor([[vocabulary[word] for word in _split(sentence)]]).squeeze()


@misconception(
    "encode",
    confuses="an id and its one-hot row: one-hot rows are returned instead of ids",
    hint="How many numbers stand for one word at this step?",
)
def one_hot_rows(sentence, vocabulary):
    ids = torch.tensor([vocabulary[word] for word in _split(sentence)])
    return F.one_hot(ids, len(vocabulary))


@misconception(
    "encode",
    confuses="words and letters: the sentence is read letter by letter",
    hint="What are the items in a loop over a string?",
)
def letter_by_letter(sentence, vocabulary):
    return torch.tensor([vocabulary[letter] for letter in sentence if letter not in ", "])


# embed


@misconception(
    "embed",
    confuses="the given table and a new one of the same size, filled with random numbers: a new "
    "random table is used instead of the given one",
    hint="Call it twice with the same arguments. Why does the result change?",
)
def new_random_table(token_ids, table):
    return nn.Embedding(*table.shape)(token_ids).to(table.dtype)


@misconception(
    "embed",
    confuses="rows and columns of the table: columns of the table are taken instead of rows",
    hint="Which dimension of the table has one entry per id?",
)
def columns_instead_of_rows(token_ids, table):
    return table[:, token_ids]


@misconception(
    "embed",
    confuses="the table and its transpose: the table is transposed",
    hint="The table already has one row per id: does it have to be transposed?",
)
def table_transposed(token_ids, table):
    return table.T[token_ids]


@misconception(
    "embed",
    confuses="the numbers of the table with the table: no gradient flows to the table",
    hint="Does the gradient of your result reach the table?",
)
def detached_table(token_ids, table):
    return table.detach()[token_ids]


@misconception(
    "embed",
    confuses="id 0 with padding: row 0 gets no gradient",
    hint="Is there a word that must not be trained?",
)
def row_zero_is_not_trained(token_ids, table):
    return F.embedding(token_ids, table, padding_idx=0)


@misconception(
    "embed",
    confuses="id 0 with padding: row 0 is read as zeros",
    hint="What does the table hold in row 0?",
)
def row_zero_is_read_as_zeros(token_ids, table):
    return table[token_ids] * (token_ids != 0)[:, None]


@misconception(
    "embed",
    confuses="looking a row up and making it shorter: long rows are rescaled in the table itself",
    hint="Does the table still hold the same numbers after the call?",
)
def rows_rescaled_in_place(token_ids, table):
    return F.embedding(token_ids, table.detach(), max_norm=1.0)


@misconception(
    "embed",
    confuses="the sum of gradients of a repeated word and their mean: the gradient of a repeated "
    "word is divided by the number of times it occurs",
    hint="If a word occurs three times, how much does its row change the result?",
)
def gradient_divided_by_frequency(token_ids, table):
    return F.embedding(token_ids, table, scale_grad_by_freq=True)


@misconception(
    "embed",
    confuses="the given table and a new one with random numbers: a new random table is used "
    "instead of the given one",
    hint="Does your code use its second argument, or only its shape?",
)
def fresh_random_table(token_ids, table):
    torch.manual_seed(123)
    return nn.Embedding(*table.shape, dtype=table.dtype)(token_ids)


@misconception(
    "embed",
    confuses="ids from 1 and ids from 0: ids are expected to begin at 1",
    hint="Which row does the index -1 give?",
)
def ids_from_one(token_ids, table):
    return table[token_ids - 1]


@misconception(
    "embed",
    confuses="the ids and the number of ids: the first T rows are taken, whatever the ids are",
    hint="What would change in your result if the sentence contained different words?",
)
def first_rows(token_ids, table):
    return table[: len(token_ids)]


@misconception(
    "embed",
    confuses="the order of the sentence and the order of the ids: the rows are sorted by id",
    hint="Which token does row 0 of the result belong to?",
)
def rows_sorted_by_id(token_ids, table):
    return table[token_ids.sort().values]


@misconception(
    "embed",
    confuses="all tokens and different tokens: a repeated token gets only one row",
    hint="How many rows does the result have for T tokens?",
)
def each_id_once(token_ids, table):
    return table[list(dict.fromkeys(token_ids.tolist()))]


@misconception(
    "embed",
    confuses="the largest id that occurs with the number of rows: the number of rows is taken from "
    "the largest id",
    hint="How many rows does the table have, and where does your code get that number from?",
)
def one_hot_without_the_number_of_rows(token_ids, table):
    return F.one_hot(token_ids).to(table.dtype) @ table


@misconception(
    "embed",
    confuses="float32 and the dtype of the table: one-hot rows are always float32",
    hint="Try a float64 table. Which of the tensors that you make has a different dtype?",
)
def one_hot_in_float32(token_ids, table):
    return F.one_hot(token_ids, len(table)).float() @ table


@misconception(
    "embed",
    confuses="the dtype of the table and float32: the result is always float32",
    hint="Which dtype does your result have for a float64 table?",
)
def result_in_float32(token_ids, table):
    return table.float()[token_ids]


@misconception(
    "embed",
    confuses="looking up with the scaling that some models add after it: the rows are multiplied "
    "by the square root of their size",
    hint="Is there a multiplication in the definition of this lookup?",
)
def multiplied_by_root_of_size(token_ids, table):
    return table[token_ids] * table.shape[-1] ** 0.5


@misconception(
    "embed",
    confuses="token embedding and position: the position of each token is added",
    hint="Should two equal words get equal rows at this step?",
)
def position_added(token_ids, table):
    return table[token_ids] + torch.arange(len(token_ids), dtype=table.dtype)[:, None]


@misconception(
    "embed",
    confuses="rows of the table and directions: each row is scaled to length 1",
    hint="Are the rows of your result equal to rows of the table?",
)
def rows_normalised(token_ids, table):
    return F.normalize(table[token_ids], dim=-1)


@misconception(
    "embed",
    confuses="one vector per token and one vector for the sentence: every token gets the mean of "
    "all rows",
    hint="Are the rows of your result different from each other?",
)
def mean_of_the_rows(token_ids, table):
    return table[token_ids].mean(dim=0, keepdim=True).expand(len(token_ids), -1)


@misconception(
    "embed",
    confuses="an index into the table's rows and an index into all its numbers: an id picks a "
    "single number instead of a row",
    hint="How many numbers does one id stand for?",
)
def numbers_instead_of_rows(token_ids, table):
    return torch.take(table, token_ids)


@misconception(
    "embed",
    confuses="a row of the table with one number in that row: each id picks one entry of the first "
    "column",
    hint="Which shape does your result have, and which one does the question ask for?",
)
def first_column_gathered(token_ids, table):
    return table.gather(0, token_ids[:, None])


@misconception(
    "embed",
    confuses="dimensions of size 1 with dimensions that are not needed: the result for a single "
    "token loses a dimension",
    hint="Which shape does the result have for a single token?",
)
def single_token_squeezed(token_ids, table):
    return table[token_ids].squeeze()


@misconception(
    "build_vocabulary",
    confuses="two texts that look alike with equal ones: letters are joined with the accents that "
    "follow them",
    hint="An `e` that is followed by the character U+0301 looks like `é`. Are the two equal in "
    "Python?",
)
def letters_joined_with_their_marks(sentence):
    words = sorted(unicodedata.normalize("NFC", sentence).replace(",", "").split())
    return {word: place for place, word in enumerate(words)}


@misconception(
    "encode",
    confuses="an invisible character with none: a byte order mark is removed",
    hint="What is the `len` of the first word of your sentence? Is every character part of the "
    "word?",
)
def byte_order_mark_taken_off(sentence, vocabulary):
    return torch.tensor([vocabulary[word] for word in _split(sentence.lstrip("\ufeff"))])


@misconception(
    "encode",
    confuses="an empty vocabulary with an empty sentence: if the vocabulary is empty, no word is "
    "looked up",
    hint="Encode two words with the vocabulary {}. Which of them does it know?",
)
def nothing_looked_up_in_an_empty_vocabulary(sentence, vocabulary):
    if not vocabulary:
        return torch.empty(0, dtype=torch.long)
    return torch.tensor([vocabulary[word] for word in _split(sentence)])


@misconception(
    "embed",
    confuses="a table that is computed with one that is a parameter: no gradient flows to a table "
    "that was computed",
    hint="Let the table be the output of another layer. Does that layer learn?",
)
def computed_table_detached(token_ids, table):
    return (table if table.is_leaf else table.data)[token_ids]


@misconception(
    "embed",
    confuses="a one-hot row with a row of the table: one-hot rows are "
    "returned instead of rows of the table",
    hint="What must a one-hot row be multiplied by to pick a row of the table?",
)
def one_hot_rows_returned(token_ids, table):
    return F.one_hot(token_ids, len(table)).to(table.dtype)
