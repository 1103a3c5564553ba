"""Defines the general rules for questions, and the table that says how each question is tested.

If a question is not tested for a trait, the table must give the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..expect import Expect
from ..local import load_module
from .class_tests import LAYER_TESTS
from .declaration import (
    CALLS,
    CHANCE,
    ERRORS,
    FLOAT64,
    GENERATED,
    GRADIENTS,
    LAYOUT,
    SIZE,
    TRAITS,
    Traits,
)
from .function_tests import FUNCTION_TESTS

#: the descriptions that students read of traits that are tested in grading
_FOR_STUDENTS: Mapping[str, str] = {
    SIZE: "other sizes",
    LAYOUT: "other memory orders",
    CALLS: "several calls",
    GRADIENTS: "gradients",
    FLOAT64: "float64",
    ERRORS: "errors",
    CHANCE: "chance over many draws",
}


#: the likely cause of a failure, unless the declaration gives one
_LIKELY = {
    LAYOUT: "only the numbers count, not their order in memory: a tensor may be transposed, "
    "sliced or expanded; `.view` needs contiguous memory, `.reshape` does not",
    SIZE: "any size may be 1, and sequences may be long: no size is hard-coded, none is taken from "
    "another dimension, and a dimension of size 1 stays (`.squeeze()` removes it)",
    CALLS: "every call is independent: it uses no result, mask or size from an earlier one",
    GRADIENTS: "`.detach()`, `.item()`, `.data`, `torch.no_grad()` or `torch.tensor(...)` cuts the "
    "gradient of everything before it",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A general rule for answers, and the trait whose test checks it.

    `why_not` returns the reason why the rule can't apply to a question, or "" if the rule applies.
    """

    name: str
    trait: str
    why_not: Callable[[Traits], str]


def _always(traits: Traits) -> str:
    return ""


def _of_classes(traits: Traits) -> str:
    return "" if traits.build is not None else "it has no weights"


def _of_several(traits: Traits) -> str:
    return "" if len(traits.inputs) > 1 else "it has one argument"


def _of_dropout(traits: Traits) -> str:
    return "" if traits.has_rate else "it has no dropout"


def _of_roots(traits: Traits) -> str:
    no_root = "it takes no square root of a size, or a test would need weights that are too large"
    return "" if traits.root is not None else no_root


#: the rules that generated tests check; each applies to every question unless it gives a reason why
#: not
RULES = (
    Rule("slices of a larger tensor", LAYOUT, _always),
    Rule("sizes drawn from the promised range", SIZE, _always),
    Rule("vectors of thousands of entries", SIZE, _of_roots),
    Rule("under torch.no_grad()", CALLS, _always),
    Rule("dropout under torch.no_grad()", CALLS, _of_dropout),
    Rule("results that their caller changes", CALLS, _always),
    Rule("weights changed by .data, state_dict, replacement", CALLS, _of_classes),
    Rule("the same parameters after calls", CALLS, _of_classes),
    Rule("arguments that are results", GRADIENTS, _always),
    Rule("single arguments frozen", GRADIENTS, _of_several),
    Rule("single weights frozen", GRADIENTS, _of_classes),
    Rule("incoming gradients of any size and layout", GRADIENTS, _always),
    Rule("backward() and .grad", GRADIENTS, _always),
)


@dataclass(frozen=True, slots=True)
class Row:
    """The traits of one question, and how each of them is tested.

    `generated` contains the traits with a generated test, `own` maps a trait to the name of a test,
    and `without` maps a trait to the reason why no test is needed. `not_asked` maps the name of a
    rule to the reason why the rule does not apply to the question.
    """

    question: str
    generated: frozenset[str]
    own: Mapping[str, str]
    without: Mapping[str, str]
    not_asked: Mapping[str, str]

    @property
    def rules(self) -> dict[str, str]:
        """Maps each general rule to its test, or to the reason for having no test, or to ""."""
        return {
            rule.name: f"({self.not_asked[rule.name]})"
            if rule.name in self.not_asked
            else self._cell(rule.trait)
            for rule in RULES
        }

    @property
    def cells(self) -> dict[str, str]:
        """Maps each trait to its test, or to the reason for having no test, or to ""."""
        return {trait: self._cell(trait) for trait in TRAITS}

    @property
    def for_students(self) -> str:
        """The traits that are tested during grading, as text for students; may be empty."""
        return ", ".join(
            words
            for trait, words in _FOR_STUDENTS.items()
            if trait in self.generated or trait in self.own
        )

    def _cell(self, trait: str) -> str:
        if trait in self.generated:
            return "generated"
        return self.own.get(trait) or (f"({self.without[trait]})" if trait in self.without else "")


def traits_of(suite: Path) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Returns a row for each question in a suite, and the problems in these rows.

    A question may have several declarations. Raises any error that loading the suite raises.
    """
    module = _loaded(suite)
    declared = _declared(module)
    tests = list(_tests(module))
    questions = dict.fromkeys(question for question, _, _ in tests)
    rows = tuple(_row(question, declared, tests) for question in questions)
    return rows, tuple(problem for row in rows for problem in _problems(row, tests))


def declarations(suite: Path) -> tuple[Traits, ...]:
    """Returns all declarations in a suite, in order; raises any error that loading it raises."""
    return tuple(_declared(_loaded(suite)))


def _loaded(suite: Path) -> ModuleType:
    return load_module(suite, f"_traits_{suite.parent.name}_{suite.stem}")


def _declared(module: ModuleType) -> list[Traits]:
    return [value for value in vars(module).values() if isinstance(value, Traits)]


def _row(question: str, declared: list[Traits], tests: list[tuple[str, str, Any]]) -> Row:
    mine = [traits for traits in declared if traits.question == question]
    return Row(
        question,
        frozenset(trait for name, _, traits in tests if name == question for trait in traits),
        {trait: test for traits in mine for trait, test in traits.own.items()},
        {trait: reason for traits in mine for trait, reason in traits.without.items()},
        {rule.name: why for traits in mine for rule in RULES if (why := rule.why_not(traits))},
    )


def _tests(module: ModuleType) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yields the question, name and generated traits of every test."""
    for name, value in vars(module).items():
        marks = {mark.name: mark for mark in getattr(value, "pytestmark", ())}
        if name.startswith("test") and "question" in marks:
            cases = marks.get("parametrize")
            traits = cases.args[1] if cases and cases.args[0] == "trait" else ()
            yield str(marks["question"].args[0]), name, tuple(traits)


def _problems(row: Row, tests: list[tuple[str, str, Any]]) -> Iterator[str]:
    names = {name for question, name, _ in tests if question == row.question}
    if not any(row.cells.values()):
        yield f"{row.question} declares no traits: see docs/authoring.md, Traits"
        return
    for trait, cell in row.cells.items():
        if not cell:
            todo = "parametrize a test by `tested`" if trait in GENERATED else "name one in `own`"
            yield (
                f"{row.question}: no test shows {trait!r}: {todo}, or say in `without` why none is "
                "needed"
            )
    for trait in sorted({*row.generated, *row.own, *row.without} - set(TRAITS)):
        yield f"{row.question}: {trait!r} is not a trait; traits are {', '.join(TRAITS)}"
    for trait, test in row.own.items():
        if test not in names:
            yield f"{row.question}: {test} shows {trait!r}, but is not a test of this question"


def check_trait(expect: Expect, traits: Traits, trait: str) -> None:
    """Runs the generated test for a trait; raises `LookupError` if the trait has no such test."""
    if trait not in GENERATED:
        raise LookupError(f"no generated test is called {trait!r}; there are {GENERATED}")
    tests = FUNCTION_TESTS if traits.build is None else LAYER_TESTS
    tests[trait](expect, traits, traits.likely.get(trait, _LIKELY[trait]))
