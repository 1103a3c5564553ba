"""Provides an exercise's known mistakes (catalog entries and families) and their results.

The probe's inputs depend only on the suite, so the results are computed once and kept in tables.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...course import Course
from ...records import Exercise
from ...sandbox.replies import Batch
from ...suite.local import LocalImplementation
from ...suite.traits import declarations
from ...suite.variants import Variant, digest_of_code, module_texts, variants_read, without_words
from ...worker import wire
from ..judging.suites import SuiteRunner
from .changed_entries import AskText, ChangedEntries
from .families import Member, is_left_out, is_small, members
from .families.details import words_in_details
from .families.words import FREQUENT
from .pairs import known_pairs
from .probe import Probe, Replies, events_of, replies_of, silence
from .record import PASSED, AnswerRecord, Call, Request, answered
from .rows import Row
from .store import Store
from .table import SAMPLES, Samples, Table, TableMaker
from .where import CallDeclaration, RequestFacts

#: the version of the tables' contents. Increase it if rows, figures or the choice of members change
#: in a way that the solution's results do not show
VERSION = 15
_FAMILIES = Path(__file__).with_name("families")
#: the files on which members and their details depend
_TABLES = ("steps", "details")
#: the number of digits of the digest that is a table's key
_DIGITS = 32

#: an entry's results are sampled in this many of the tests that it fails by chance: in those with
#: the fewest requests
_SAMPLED = 2
#: the maximum number of family members in a table; more would take minutes and rarely name anything
_MOST_MEMBERS = 450
#: in each turn, `likeliest` takes one member of every family, but this many left-out steps; changes
#: that apply to any step begin in turn `_LATER`
_STEPS_A_TURN, _LATER = 20, 6
#: small changes from the same family are this many turns apart
_WAIT = 3


class KnownMistakes:
    """The known mistakes in one exercise; `ask_text` executes the catalog's entries."""

    def __init__(
        self, runner: SuiteRunner, course: Course, exercise: Exercise, ask_text: AskText
    ) -> None:
        self._runner = runner
        self._exercise = exercise
        self._ask_text = ask_text
        self._path = course.variants("misconceptions", exercise)
        self._course = course.root

    @cached_property
    def _store(self) -> Store:
        return Store(self._course)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The catalog's entries."""
        return variants_read(self._path)

    @cached_property
    def seed(self) -> int:
        """The seed for the probe's inputs; it depends on the suite and the solution."""
        files = (self._exercise.hidden_suite, self._exercise.solution)
        texts = b"".join(path.read_bytes() for path in files)
        return int.from_bytes(hashlib.sha256(texts).digest()[:6], "big")

    @cache  # noqa: B019 - one of these lives as long as the run
    def members(self, question: str) -> tuple[Member, ...]:
        """Returns all single changes to the solution; a table refers to them by number."""
        return tuple(members(self._exercise.solution, question, self._namespace))

    @cache  # noqa: B019
    def probe(self, question: str) -> Probe:
        return Probe(self._runner, self._exercise.hidden_suite, question, self.seed)

    @cache  # noqa: B019
    def columns(self, question: str) -> Mapping[str, slice]:
        """Returns, for each test, the columns of a question's table that belong to the test."""
        columns, start = {}, 0
        for test, requests in self.probe(question).requests.items():
            columns[test] = slice(start, start + len(requests))
            start += len(requests)
        return columns

    @cache  # noqa: B019
    def facts(self, question: str, test: str) -> Sequence[RequestFacts | None]:
        """Returns facts about a test's requests, as far as the suite declares the calls.

        There are none if the suite compares something other than the results themselves.
        """
        requests = self.probe(question).requests[test]
        for traits in declarations(self._exercise.hidden_suite):
            if traits.question == question and traits.after is None:
                return CallDeclaration(traits, self._namespace[question]).facts(requests)
        return [None] * len(requests)

    @cache  # noqa: B019
    def table(self, question: str) -> Table:
        """Returns the table with the results of a question's mistakes; makes it if necessary."""
        place, key, fits = self._place(question)
        entries = {v.name: Row.of_entry(v) for v in self.variants if v.question == question}
        return self._store.get(place, key, lambda: self._made(question), fits).with_words(entries)

    def renew_table(self, question: str) -> None:
        """Writes a question's table to the course, and replaces any existing one."""
        place, key, fits = self._place(question)
        self._store.renew(place, key, lambda: self._made(question), fits)

    def has_table(self, question: str) -> bool:
        """Returns whether the course has a question's table for the current suite."""
        return self._store.is_current(*self._place(question))

    def _place(self, question: str) -> tuple[str, str, Callable[[Table], bool]]:
        """Returns a table's name and key, and a function to check if a table suits this machine."""
        right = [c for test in self.tests(question) for c in self.right(question, test).calls]
        name = f"{self._exercise.name}-{question}"
        return name, self._key(question), lambda table: table.fits(right, self._checks)

    def _key(self, question: str) -> str:
        """Returns a digest of everything that a table depends on, except the numbers in inputs.

        The solution's results show whether these numbers are the same.
        """
        digest = hashlib.sha256(f"{VERSION} {question} {digest_of_families()}".encode())
        for test, requests in self.probe(question).requests.items():
            digest.update(test.encode())
            digest.update(wire.header_of(requests))
        for path in (self._exercise.hidden_suite, self._exercise.solution):
            digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
        catalogue = self._path.read_text(encoding="utf-8") if self._path.is_file() else ""
        digest.update(without_words(catalogue).encode())
        return digest.hexdigest()[:_DIGITS]

    @cached_property
    def _checks(self) -> str:
        """Returns a digest of the code that makes messages, because tables contain messages.

        The digest covers the code of `autograder.suite`, and of the checks that the hidden suite
        imports.
        """
        nodes = ast.walk(ast.parse(self._exercise.hidden_suite.read_text(encoding="utf-8")))
        modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        checks = {name for name in modules if ".suites." in name}
        found = map(find_spec, {declarations.__module__, LocalImplementation.__module__, *checks})
        return _digest_of(frozenset(Path(s.origin).parent for s in found if s and s.origin))

    def tests(self, question: str) -> Sequence[str]:
        """Returns the names of a question's tests."""
        return tuple(self.probe(question).requests)

    @cache  # noqa: B019
    def right(self, question: str, test: str, time: int = 0) -> AnswerRecord:
        """Returns the solution's results in a test; each `time` has different random numbers."""
        probe = self.probe(question)
        if time == 0 and test in probe.right:
            return probe.right[test]
        return probe.answered(test, probe.ask(self._namespace, test, time=time))

    def right_to(self, requests: Sequence[Request]) -> Call:
        """Returns the solution's result for the last of some requests."""
        replies = replies_of(self._namespace, Batch.of(requests))
        return answered(events_of(requests, replies)).calls[-1]

    def answered(
        self, question: str, changed: Callable[[], Any], test: str, count: int | None = None
    ) -> AnswerRecord | None:
        """Returns a changed solution's results in a test, or None if it can't be executed.

        If `count` is given, only the test's first `count` requests are made.
        """
        with silence():  # some changes cause compiler warnings
            own, probe = changed(), self.probe(question)
        names = {**self._namespace, question: own}
        return probe.answered(test, probe.ask(names, test, count)) if own else None

    @lru_cache(maxsize=4096)  # noqa: B019
    def of_member(self, question: str, number: int, test: str) -> AnswerRecord | None:
        """Returns a family member's results in a test, or None if it can't be executed."""
        return self.answered(question, self.members(question)[number].change.answer, test)

    @lru_cache(maxsize=4096)  # noqa: B019
    def of_pair(
        self, question: str, one: int, other: int, test: str, count: int | None = None
    ) -> AnswerRecord | None:
        """Returns the results of two combined members in a test, or None if they can't be combined.

        If `count` is given, only the test's first `count` requests are made.
        """
        own = self.members(question)
        both = own[one].change.with_(own[other].change)
        return self.answered(question, both.answer, test, count) if both else None

    @cache  # noqa: B019
    def changed_entries(self, question: str) -> ChangedEntries:
        """Returns the catalog's entries for a question, to which a second mistake can be added."""
        texts = {name: text for (of, name), text in self._texts.items() if of == question}
        members, probe = self.members(question), self.probe(question)
        return ChangedEntries(question, texts, members, probe, self._ask_text)

    def entry_replies(
        self, variant: Variant, times: Sequence[int] = (0,), tests: Sequence[str] = ()
    ) -> Replies | None:
        """Runs an entry in a separate worker; returns its replies to all requests or to some tests.

        The requests are made once for each of `times`, with different random numbers each time.
        """
        return self.ask_entry(variant, self.probe(variant.question).batch_of(times, tests))

    def ask_entry(self, variant: Variant, batch: Batch) -> Replies | None:
        """Runs an entry in a separate worker; returns its replies to a batch."""
        return self._ask_text(self._texts[variant.question, variant.name], batch)

    @cached_property
    def _texts(self) -> Mapping[tuple[str, str], str]:
        texts = module_texts(self._exercise.solution, self._path)
        return {(variant.question, variant.name): text for variant, text in texts}

    def _made(self, question: str) -> Table:
        probe = self.probe(question)
        right = {test: self.right(question, test) for test in probe.requests}
        maker = TableMaker(probe.requests, right)
        for variant in self.variants:
            if variant.question == question:
                self._add_entry(maker, probe, variant)
        for number, member in likeliest(self.members(question)):

            def ask(
                tests: Sequence[str], number: int = number
            ) -> Mapping[str, AnswerRecord] | None:
                found = {test: self.of_member(question, number, test) for test in tests}
                return {t: a for t, a in found.items() if a} if all(found.values()) else None

            maker.add_member(Row.of_member(member, number), ask)
        table = maker.table()
        pairs = known_pairs(table, self.columns(question), self.changed_entries(question))
        return replace(table, pairs=pairs, checks=self._checks)

    def _add_entry(self, maker: TableMaker, probe: Probe, variant: Variant) -> None:
        replies = self.entry_replies(variant, range(2))
        if replies is None:  # together, they may exceed the limit for one answer
            apart = [self.entry_replies(variant, (time,)) for time in range(2)]
            replies = [one for own in apart if own is not None for one in own]
            if None in apart:
                return
        drawn = probe.split_times(replies)
        answers = {test: probe.answered(test, drawn[0][test]) for test in probe.requests}
        by_chance = [
            test
            for test in probe.requests
            if drawn[0][test] != drawn[1][test]
            and not probe.answered(test, drawn[1][test]).equals(answers[test])
        ]
        samples = _samples(probe, maker.right, drawn, by_chance)
        failing = [test for test in samples if samples[test].judged[0].words != PASSED]
        failing.sort(key=lambda test: len(probe.requests[test]))
        some = tuple(failing[:_SAMPLED])
        if some and (more := self.entry_replies(variant, range(SAMPLES), some)):
            samples |= _samples(probe, maker.right, probe.split_times(more, some), some)
        is_right = all(answers[test].equals(maker.right[test]) for test in answers)
        words = {t: probe.judged(t, drawn[0][t]).words for t in answers} if is_right else {}
        maker.add_entry(Row.of_entry(variant), answers, samples, words)

    @cached_property
    def _namespace(self) -> Mapping[str, Any]:
        own = LocalImplementation.from_file(self._exercise.solution).namespace
        return MappingProxyType(dict(own))


def _samples(
    probe: Probe,
    right: Mapping[str, AnswerRecord],
    drawn: Sequence[Mapping[str, Replies]],
    tests: Iterable[str],
) -> dict[str, Samples]:
    """Returns samples of an entry's results in some tests; `drawn` has replies for each draw."""
    found = {}
    for test in tests:
        judged = tuple(probe.judged(test, replies[test]) for replies in drawn)
        records = right[test], *(probe.answered(test, replies[test]) for replies in drawn)
        calls = zip(*(record.calls for record in records), strict=True)
        may_be_right = tuple(any(o.equals(asked) for o in draws) for asked, *draws in calls)
        found[test] = Samples(judged, may_be_right)
    return found


def likeliest(all_members: Sequence[Member]) -> list[tuple[int, Member]]:
    """Returns the members to include in a table, each with its number.

    In a large Python class, hundreds of changes to known steps are possible, so only the likeliest
    are included, from as many families as possible. Members of the same family often give equal
    results, so a family's second member is chosen only after the first members of all other
    families. Members that change all parallel steps are chosen first; within a family, members that
    change a result or confuse two layers are chosen first. Members that leave out a step, or that
    confuse two values named in the question, are chosen before most others.
    """
    turns: Counter[tuple[int, str, bool]] = Counter()
    ordered: list[tuple[float, int, Member]] = []
    for number, member in sorted(enumerate(all_members), key=lambda item: not _is_first(item[1])):
        family = member.rank, member.key, member.is_confusion
        turn = 0 if len(member.change.parts) > 1 else turns[family]
        turns[family] += len(member.change.parts) == 1
        ordered.append((_place(member, turn), number, member))
    ordered.sort(key=lambda item: item[:2])
    return sorted(((n, m) for _, n, m in ordered[:_MOST_MEMBERS]), key=lambda item: item[0])


def _is_first(member: Member) -> bool:
    """Returns whether a member changes the value that is returned, or the layer that is used."""
    return isinstance(member.change.parts[0][1], ast.Return | ast.Attribute)


def _place(member: Member, turn: int) -> float:
    """Returns the number of the turn in which `likeliest` chooses a member."""
    if is_left_out(member) or member.is_confusion:
        return turn / _STEPS_A_TURN
    if member.rank == 0:
        return turn
    return 1 + _WAIT * turn if is_small(member.rank) else _LATER + turn


@cache
def _digest_of(folders: frozenset[Path]) -> str:
    """Returns a digest of the code in folders of the grader; a running grader reads them once."""
    return digest_of_code(path for folder in folders for path in folder.glob("*.py"))


@cache
def digest_of_families() -> str:
    """Returns a digest of the families' code, on which the members' numbers depend.

    The digest does not depend on docstrings, on comments on separate lines, on the file in which a
    function or table is defined, or on descriptions that are looked up when a table is read.
    """
    tables = [(_FAMILIES / f"{name}.toml").read_text(encoding="utf-8") for name in _TABLES]
    return digest_of_code(_FAMILIES.glob("*.py"), [*tables, *FREQUENT, *words_in_details()])
