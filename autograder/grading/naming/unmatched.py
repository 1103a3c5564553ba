"""Describes a wrong answer that matches no known mistake."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...counts import number_of
from ...suite.raised import TABLE, cause_of, kind_of
from ...suite.raised_table import OTHER_ARGUMENTS
from .families.step_tables import CHECK, IN_PLACE, OTHER_ERROR
from .families.words import id_of, lead_of, words_of
from .kept_results import STEPS, of_kept_results
from .known import KnownMistakes
from .probe import ProbeReplies
from .record import OF_GRADIENTS, UNCHANGED, AnswerRecord, Call
from .rows import Row
from .where import SHOWN, CallFacts, cases_of, where_right

#: hints by topic
_LEADS: Mapping[str, str] = SHOWN["leads"]
#: the id and the description of answers with right values and wrong gradients
GRADIENTS = "all_values_are_right_and_gradients_are_not"
_GRADIENTS_WRONG = "all values are right, but the gradients are not"
_ONLY_NAN = "every wrong result contains nan, and no finite number except 0"
_DTYPES_WRONG = "all values are right, but their dtype is not"
#: the first wording of each sentence that has been reworded, from which the ids in results are made
_FIRST_WORDS: Mapping[str, str] = SHOWN["first_words"]
#: the maximum length of an id
_LONGEST = 60
_PARAMETER = re.compile(r"'([\w.]+)': (tuple\([^)]*\))")
#: ids for wrong parameters, as they appear in results
OTHER_NAMES = "the_trained_parameters_have_other_names_than_the_question_gives"
OTHER_SIZES = "parameters_of_{}_have_other_sizes_than_the_question_gives"
MISSING = "trained_parameters_are_missing_that_the_question_gives"
TOO_MANY = "there_are_trained_parameters_that_the_question_does_not_give"
SHARED = "a_weight_is_no_trained_parameter_of_its_own"
OTHER_LAYERS = "the_trained_parameters_have_other_names_and_sizes_than_the_question_gives"
#: the maximum number of parameters that a message names
_MOST_NAMED = 4
#: ids for results of wrong types
ONE = "one_tensor_comes_back_in_place_of_several"
SEVERAL = "several_results_come_back_in_place_of_one"
LESS = "less_comes_back_than_is_asked_for"
MORE = "more_comes_back_than_is_asked_for"
NOTHING = "nothing_comes_back"
CONTAINER = "another_container_comes_back"
DIMENSIONS = "{}_has_{}_dimensions_than_asked_for"
_CALLS, _FOLLOWING = ("call", "forward"), (*STEPS, *OF_GRADIENTS)
#: the minimum number of results that must show a common difference
_ENOUGH = 3
_OTHER_SHAPE = re.compile(r"RuntimeError: the result has shape ")
_TENSOR = re.compile(r"torch\.\w+ \(([\d, ]*)\) \w+")
_KINDS = re.compile(r"tuple\((?:(\{|None, )|(#\d+), |(?:tuple|list)\((#\d+(?:, #\d+)*)\), )")
_DICT, _LIST = "a dict", "a list"
_NUMBERS = ("no", "one", "two", "three", "four", "five")
_PLACES = ("first", "second", "third", "fourth", "fifth")

#: the records of all tests
Records = Sequence[AnswerRecord]
#: the number of dimensions of a tensor, or of each tensor in a tuple; None if None is returned
_Kind = int | tuple[int, ...] | None
#: the rows for an answer that is called again: it returns different values in an equal call, with a
#: layer that has equal weights, or in the first call to a new layer; it returns the same values
#: where they should be random; or it is right for smaller numbers
BY_CHANCE, BY_LAYER, BY_CALLS_BEFORE, NOT_BY_CHANCE, SMALL_NUMBERS = (
    Row.shown(id_of(words), words, lead) for words, lead in SHOWN["again"]
)


def unmatched_rows(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Looks for a row about parameters, errors, results or calls, in this order."""
    return described_rows(known, question, answers) or _of_calls(known, question, answers)


def described_rows(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Looks for a row about parameters, errors or results, in this order."""
    return (
        of_parameters(known, question, answers)
        or of_causes(known, question, answers)
        or _of_results(known, question, answers)
    )


def of_parameters(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row about wrong parameters in a layer."""
    name, sentence = parameter_sentences(*_came_and_right(known, question, answers))
    lead = _LEADS["trained" if name == SHARED else "parameters"]
    return [_shown(name, lead, sentence)] if name else []


def of_causes(
    known: KnownMistakes, question: str, answers: ProbeReplies, beside: bool = False
) -> list[Row]:
    """Returns a row about the cause of the errors, if all known causes are the same.

    Errors without a known cause may be its consequences, but must not outnumber those that have it.
    If values are wrong as well, the errors may be a consequence of a different mistake, so an empty
    list is returned. If `beside` is true, this is done only if wrong values outnumber the errors.
    """
    triples = [*_triples(known, question, answers)]
    failing = sum(call.is_failing(right) for _, call, right in triples)
    if sum(call.is_wrong(right) for _, call, right in triples) > failing * beside:
        return []
    raised = Counter(cause_of(e) for e, call, _ in triples if call.raised and call.is_asked)
    unknown = raised.pop("", 0)
    if len(raised) != 1 or raised.total() < unknown:
        return []
    # no line of the answer raises an error about the shape of its result
    is_shape = any(_OTHER_SHAPE.match(error) for error, *_ in triples if cause_of(error))
    return [_shown(next(iter(raised)), _LEADS["returned" if is_shape else "errors"])]


def _of_results(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    came, right = _came_and_right(known, question, answers)
    if writes_into_arguments(came, right):
        return [_of_family(IN_PLACE)]
    name, sentence = kind_returned(came, right)
    if name:
        return [_shown(name, _LEADS["returned"], sentence)]
    wrong = _wrong(came, right)
    if wrong and all(own.raised and own.is_asked and asked.raised for own, asked in wrong):
        return [_of_family(OTHER_ERROR)]
    values = [(own, asked) for own, asked in wrong if own.is_wrong(asked)]
    if values and all(own.is_only_nan(asked) for own, asked in values):
        return [_shown(_ONLY_NAN, _LEADS["nan"])]
    only_dtypes = values and all(own.has_equal_numbers(asked) for own, asked in values)
    return [_shown(_DTYPES_WRONG, _LEADS["dtypes"])] if only_dtypes else []


def _of_calls(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row about what correct calls have in common, or about the error in wrong calls."""
    wrong = _wrong(*_came_and_right(known, question, answers))
    if wrong and all(o.operation in OF_GRADIENTS and not o.raised for o, _ in wrong):
        return [_shown(GRADIENTS, _LEADS["gradients"], _GRADIENTS_WRONG)]
    if kept := of_kept_results(known, question, answers):
        return kept
    if wrong and all(asked.raised and not own.raised for own, asked in wrong):
        return [_of_family(CHECK)]
    cases: list[CallFacts] = []
    for test in known.tests(question):
        calls = answers.answered(test).calls, known.right(question, test).calls
        cases += cases_of(known.facts(question, test), *calls)
    words, sentence, lead = where_right(cases)
    if words:
        return [_shown(words, lead, sentence)]
    only_errors = all(case.is_right or case.is_raised for case in cases)
    triples = _triples(known, question, answers)
    errors = {e for e, own, asked in triples if own.is_failing(asked) and own.is_asked and e}
    if words := kind_of(errors, question) if only_errors else "":
        return [_shown(words, _LEADS["errors"])]
    return []


def is_description(name: str) -> bool:
    """Returns whether the name of a family, or of a row from this module, is `name`."""
    with contextlib.suppress(KeyError, TypeError):
        return bool(words_of(name))
    return name in _IDS or bool(_MADE_IDS.fullmatch(name))


def _of_family(key: str) -> Row:
    return Row.shown(id_of(key), words_of(key), lead_of(key))


def _shown(words: str, lead: str, sentence: str = "") -> Row:
    """Returns a row that shows `sentence` (default: `words`) to students."""
    return Row.shown(_short_id(words), sentence or words, lead)


def _short_id(words: str) -> str:
    """Returns the id that is made from the first wording of `words`."""
    return f"{id_of(_FIRST_WORDS.get(words, words))}_"[:_LONGEST].rpartition("_")[0]


_ON_PURPOSE = kind_of(["ValueError: raised on purpose"], "")
_WORDS = (
    *(GRADIENTS, _ONLY_NAN, _DTYPES_WRONG, SHARED, OTHER_LAYERS, *SHOWN["parameters"]),
    *(ONE, SEVERAL, LESS, MORE, NOTHING, CONTAINER, OTHER_ARGUMENTS, _ON_PURPOSE),
    *(
        *_FIRST_WORDS,
        *(row.shows for row in TABLE),
        *(words for words, _ in (*SHOWN["again"], *SHOWN["kept"])),
    ),
)
_IDS = frozenset(map(_short_id, _WORDS))
#: ids that contain names from an answer or from a question
_MADE_IDS = re.compile(
    r"it_(?:is_right|works)_\w+|parameters_of_\w+"
    r"|the_(?:\w+_)?result_has_(?:more|fewer)_dimensions_than_asked_for"
)


def _pairs(answer: Records, right: Records) -> Iterator[tuple[Call, Call]]:
    """Yields all of the answer's calls, each with the solution's result for the same call."""
    for came, asked in zip(answer, right, strict=True):
        yield from zip(came.calls, asked.calls, strict=False)


def _wrong(answer: Records, right: Records) -> list[tuple[Call, Call]]:
    """Returns the answer's wrong calls, each with the solution's result for the same call."""
    return [(own, asked) for own, asked in _pairs(answer, right) if not own.equals(asked)]


def _triples(
    known: KnownMistakes, question: str, answers: ProbeReplies
) -> Iterator[tuple[str, Call, Call]]:
    """Yields each call's error message, the answer's result, and the solution's result."""
    for test in known.tests(question):
        calls = answers.answered(test).calls, known.right(question, test).calls
        yield from zip(answers.errors(test), *calls, strict=True)


def _came_and_right(
    known: KnownMistakes, question: str, answers: ProbeReplies
) -> tuple[list[AnswerRecord], list[AnswerRecord]]:
    tests = known.tests(question)
    return [answers.answered(t) for t in tests], [known.right(question, t) for t in tests]


# functions about wrong parameters, with which further tests are impossible


def parameter_sentences(answer: Records, right: Records) -> tuple[str, str]:
    """Returns an id for a problem with a layer's parameters, and a sentence about the problem.

    If all layers accepted the weights, reports only additional parameters, and weights that are not
    trained. All layers are compared, because a wrong size may be right by chance in a layer with
    two equal sizes.
    """
    calls = [*_pairs(answer, right)]
    loads = [c.raised for c, _ in calls if c.operation == "load_weights" and c.is_asked]
    found = [
        (dict(_PARAMETER.findall(came.form)), dict(_PARAMETER.findall(asked.form)))
        for came, asked in calls
        if came.operation == "weights" and not came.raised
    ]
    if not found:
        return "", ""
    if not any(loads):
        return _of_loaded(found)
    if all(own.keys() == others.keys() for own, others in found):
        unequal = {name for own, others in found for name in own if own[name] != others[name]}
        layers = {name.partition(".")[0] for name in unequal}
        if not layers:
            return "", ""
        shown = " and ".join(sorted(layers))
        name = OTHER_SIZES.format(id_of(shown))
        return name, SHOWN["parameters"][OTHER_SIZES].format(layers=shown)
    if not all(loads) or any(own.keys() == others.keys() for own, others in found):
        return "", ""
    missing = sorted({name for own, others in found for name in others.keys() - own.keys()})
    too_many = sorted({name for own, others in found for name in own.keys() - others.keys()})
    same = all(sorted(own.values()) == sorted(others.values()) for own, others in found)
    name = OTHER_NAMES if same else OTHER_LAYERS
    name = MISSING if not too_many else TOO_MANY if not missing else name
    names = {"extra": _some_names(too_many), "missing": _some_names(missing)}
    return name, SHOWN["parameters"][name].format(**names)


def _of_loaded(found: Sequence[tuple[Mapping[str, str], Mapping[str, str]]]) -> tuple[str, str]:
    """Returns an id and a sentence for layers that accept the weights but have wrong parameters."""
    lost = [others.keys() - own.keys() for own, others in found]
    extra = [own.keys() - others.keys() for own, others in found]
    if any(extra) and not any(lost):
        names = _some_names(sorted(set().union(*extra)))
        return TOO_MANY, SHOWN["parameters"][TOO_MANY].format(extra=names)
    if not all(lost) or any(extra):
        return "", ""
    missing = sorted(set().union(*lost))
    one = "is not a separate trained parameter"
    what = one if len(missing) == 1 else "are not separate trained parameters"
    return SHARED, f"{_some_names(missing)} {what}"


def _some_names(names: Sequence[str]) -> str:
    some = [f"`{name}`" for name in names[:_MOST_NAMED]]
    return f"{', '.join(some)}{', ...' if len(names) > _MOST_NAMED else ''}"


# functions about the type of the results, if every result has the wrong type


def kind_returned(answer: Records, right: Records) -> tuple[str, str]:
    """Returns an id and a sentence for the wrong type that all results have.

    Both the id and the sentence are empty if any result has the right type, or if there are
    different wrong types.
    """
    calls = [
        (own.form, asked.form)
        for own, asked in _pairs(answer, right)
        if own.operation in _CALLS and not own.raised and not asked.raised
    ]
    if len(calls) < _ENOUGH:
        return "", ""
    found = {_difference(_kind(own), _kind(asked)) for own, asked in calls}
    if {name for name, _ in found} == {SEVERAL, CONTAINER}:  # a tensor for each head
        return SEVERAL, "a list or a tuple of tensors is returned where one tensor is required"
    return found.pop() if len(found) == 1 else ("", "")


def writes_into_arguments(answer: Records, right: Records) -> bool:
    """Returns whether writing into arguments explains all wrong calls and occurs in several calls.

    Other calls may be wrong as a consequence: calls that use the same tensors again, that need
    gradients, or whose arguments can't be written to.
    """
    wrong = _wrong(answer, right)
    changed = [own for own, asked in wrong if _changes_arguments(own, asked)]
    follow = [own for own, asked in wrong if own.operation in _FOLLOWING or own.is_failing(asked)]
    return len(changed) >= _ENOUGH and len(changed) + len(follow) == len(wrong)


def _changes_arguments(own: Call, asked: Call) -> bool:
    unchanged = f"'{UNCHANGED}')"
    is_other = asked.form.endswith(unchanged) and not own.form.endswith(unchanged)
    return own.operation in _CALLS and is_other and not own.raised


def _kind(form: str) -> _Kind | str:
    """Returns the kind of a value with this form, or the form itself if it has no known kind."""
    short = _TENSOR.sub(lambda found: f"#{len(found[1].replace(',', ' ').split())}", form)
    short = short.replace(", None", "")
    match = _KINDS.match(short)
    if not match:
        return _LIST if form.startswith("tuple(list(") and "#" not in short else form
    other, one, several = match.groups()
    if other:
        return _DICT if other == "{" else None
    return int(one[1:]) if one else tuple(int(item[1:]) for item in several.split(", "))


def _difference(own: _Kind | str, asked: _Kind | str) -> tuple[str, str]:
    if isinstance(asked, str) or asked is None or own == asked:
        return "", ""
    wanted = len(asked) if isinstance(asked, tuple) else 1
    required = f"{_NUMBERS[wanted]} tensor{'s are' if wanted > 1 else ' is'} required"
    if own in (_DICT, _LIST):
        return CONTAINER, f"{own} is returned where {required}"
    if isinstance(own, str):
        return "", ""
    if own is None:
        return NOTHING, "None is returned"
    if isinstance(own, int) and isinstance(asked, int):
        return _other_dimensions("the result", own - asked)
    if isinstance(own, tuple) and isinstance(asked, tuple) and len(own) == len(asked):
        (place, *more) = (at for at, n in enumerate(own) if n != asked[at])
        if more or place >= len(_PLACES):
            return "", ""
        return _other_dimensions(f"the {_PLACES[place]} result", own[place] - asked[place])
    came = len(own) if isinstance(own, tuple) else 1
    is_in_parts = isinstance(asked, int) and own == (asked - 1,) * came
    if came == wanted or is_in_parts:
        return CONTAINER, f"a list or a tuple is returned where {required}"
    if came >= len(_NUMBERS):
        return "", ""
    words = MORE if came > wanted else LESS
    words = ONE if isinstance(own, int) else SEVERAL if isinstance(asked, int) else words
    results = "tensor is" if came == 1 else "tensors are"
    return words, f"{_NUMBERS[came]} {results} returned where {required}"


def _other_dimensions(what: str, more: int) -> tuple[str, str]:
    than = f"{'more' if more > 0 else 'fewer'} than required"
    name = DIMENSIONS.format(id_of(what), "more" if more > 0 else "fewer")
    if abs(more) >= len(_NUMBERS):
        return name, f"{what} has too {'many' if more > 0 else 'few'} dimensions"
    return name, f"{what} has {number_of(_NUMBERS[abs(more)], 'dimension')} {than}"
