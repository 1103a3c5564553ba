"""Tables of known mistakes' results are made once, stored, read and searched."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from autograder.course import TABLES, graded_files, load_course
from autograder.grading.naming import search as search_module
from autograder.grading.naming.families.words import lead_of, words_of
from autograder.grading.naming.known import KnownMistakes
from autograder.grading.naming.pairs import known_pairs, pair
from autograder.grading.naming.partly import PartialSearch
from autograder.grading.naming.probe import ProbeReplies
from autograder.grading.naming.record import AnswerRecord, Event, answered
from autograder.grading.naming.rows import Row
from autograder.grading.naming.search import Search, SearchResult
from autograder.grading.naming.store import Store
from autograder.grading.naming.table import UNKNOWN, Pairs, Samples, Table, TableMaker
from autograder.suite.variants import digest_of_code, variants_read, without_words

X = torch.linspace(0.5, 2.0, 60).reshape(6, 10)

ROOT = Path(__file__).resolve().parents[4]
REQUESTS = {"short": (("call",),) * 2, "long": (("call",),) * 80}
COLUMNS = {"short": slice(0, 2), "long": slice(2, 82)}


def _answers(short: float, long: float) -> dict[str, AnswerRecord]:
    return {
        "short": answered([Event("call", short * X)] * 2),
        "long": answered([Event("call", long * X)] * 80),
    }


RIGHT = _answers(1, 1)
#: the factor by which each member's results are wrong, in the short and in the long test
MEMBERS = {"twice": (2, 2), "twice, then thrice": (2, 3), "right": (1, 1), "late": (1, 4)}


ENTRY = Row("entry", "an entry", code=("word",))


def _chosen(answers: dict[str, AnswerRecord], tests: Sequence[str]) -> dict[str, AnswerRecord]:
    return {test: answers[test] for test in tests}


def _table() -> Table:
    maker = TableMaker(REQUESTS, RIGHT)
    entry = _answers(5, 5)
    samples = {"long": Samples((replace(entry["long"], words="said"),) * 2, (False,) * 80)}
    maker.add_entry(ENTRY, entry, samples, {"short": "passed"})
    for number, (name, wrong) in enumerate(MEMBERS.items()):
        of_member = _answers(*wrong)
        row = Row(name, f"as if {name}", 5, words=name, member=number)
        maker.add_member(row, partial(_chosen, of_member))
    maker.add_member(Row("none", "", member=9), lambda tests: None)
    return maker.table()


class _Given(ProbeReplies):
    def __init__(self, short: float, long: float) -> None:
        self._answers = _answers(short, long)

    def answered(self, test: str) -> AnswerRecord:
        return self._answers[test]

    def judged(self, test: str) -> AnswerRecord:
        return self._answers[test]


def _search(table: Table, short: float, long: float) -> Search:
    def ask(number: int, test: str) -> AnswerRecord:
        return _answers(*list(MEMBERS.values())[number])[test]

    return Search(table, COLUMNS, _Given(short, long), ask)


def test_a_table_requests_only_answers_that_it_needs() -> None:
    table = _table()
    assert [row.name for row in table.rows] == ["entry", "twice", "twice, then thrice", "late"]
    is_known = (table.cells != UNKNOWN).all(axis=1).tolist()
    assert is_known == [True, False, False, True]


def test_a_table_is_the_same_after_it_was_read_again() -> None:
    pairs = Pairs(np.array([[3, 1, 7], [4, 2, 300]], np.int16), np.array([0.5, 1e6], np.float32))
    table = replace(_table(), pairs=pairs, checks="of chance")
    again = Table.from_bytes(table.to_bytes()).with_words({"entry": ENTRY})
    assert np.array_equal(again.cells, table.cells)
    assert again.checks == "of chance"
    assert again.pairs.ids.tolist() == pairs.ids.tolist()
    assert again.pairs.sums.tolist() == pairs.sums.tolist()
    assert (again.rows, again.right, again.words) == (table.rows, table.right, table.words)
    assert again.to_bytes() == table.to_bytes()


def test_a_table_does_not_depend_on_the_words_of_entries() -> None:
    assert b"an entry" not in _table().to_bytes()
    for path in (ROOT / "tests" / "misconceptions").rglob("*.py"):
        text = without_words(path.read_text(encoding="utf-8"))
        assert not re.search("confuses|hint=", text), path
        assert "@misconception(" in text


@pytest.mark.parametrize(
    "own", ["attention/suites/chance.py", "suite/raised.py", "suite/traits/trait_table.py"]
)
def test_a_table_depends_on_the_code_that_makes_messages(tmp_path: Path, own: str) -> None:
    course = load_course(ROOT)
    exercise = next(e for a in course.assignments for e in a.exercises if e.name == "dropout")
    known = KnownMistakes(cast(Any, None), course, exercise, lambda text, batch: None)
    folders = [ROOT / "autograder" / own for own in ("attention/suites", "suite", "suite/traits")]
    modules = [path for folder in folders for path in folder.glob("*.py")]
    assert known._checks == digest_of_code(modules)
    changed = tmp_path / "changed.py"
    text = (ROOT / "autograder" / own).read_text(encoding="utf-8")
    changed.write_text(f"{text}\n_WORDS = 'a new message'\n", encoding="utf-8")
    others = [path for path in modules if path != ROOT / "autograder" / own]
    assert digest_of_code([*others, changed]) != known._checks


def test_a_table_holds_no_words_of_families() -> None:
    family = "a_bound_is_one_too_high_or_too_low"
    row = Row.from_json([family, 3, "", 7, True])
    assert (row.name, row.words, row.lead) == (family, words_of(family), lead_of(family))
    assert row.to_json() == [family, 3, "", 7, True]


@pytest.mark.parametrize(
    ("wrong", "name"), [((2, 2), "twice"), ((2, 3), "twice, then thrice"), ((1, 4), "late")]
)
def test_questions_that_a_table_leaves_open_are_computed(
    wrong: tuple[float, float], name: str
) -> None:
    assert [row.name for row in _search(_table(), *wrong).members()] == [name]
    assert [row.name for row in _search(_table(), 5, 5).entries()] == ["entry"]


def test_beyond_the_budget_nothing_is_called_or_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = _table()
    monkeypatch.setattr(search_module, "MOST_CALLS", 79)
    assert _search(table, 2, 2).members() == []
    assert [row.name for row in _search(table, 1, 4).members()] == ["late"]


def test_a_test_without_a_call_is_not_an_error() -> None:
    none = answered([])
    maker = TableMaker({**REQUESTS, "none": ()}, {**RIGHT, "none": none})
    wrong = {**_answers(2, 2), "none": none}
    maker.add_entry(Row("twice", "twice"), wrong, {}, {})
    given = _Given(2, 3)
    given._answers["none"] = none
    columns = {**COLUMNS, "none": slice(82, 82)}
    search = Search(maker.table(), columns, given, lambda number, test: None)
    assert PartialSearch(search).found() == SearchResult()


class _Multiplied:
    """Combines each mistake with a second mistake that multiplies results by two or three."""

    def __init__(self) -> None:
        self.executed: list[int] = []

    def second(self, base: Row) -> Any:
        rows = [Row(f"times {factor}", "", words=f"times {factor}") for factor in (2, 3)]
        return [(row, partial(_together, base, row)) for row in rows]

    def answered(
        self, answers: Sequence[Any], tests: Sequence[str], count: int | None = None
    ) -> list[list[AnswerRecord]]:
        self.executed.append(len(answers))
        return [
            [AnswerRecord(_answers(factor, factor)[test].calls[:count]) for test in tests]
            for factor in answers
        ]


def _together(base: Row, row: Row) -> list[int]:
    return [FREQUENT[base.name] * int(row.name.split()[1])]


FREQUENT = {"softmax_is_left_out": 5, "the_mask_has_no_effect": 7, "a rare one": 11}


def _pair(factor: float, entries: Any) -> list[str]:
    """Returns the names of the two mistakes that explain results which are wrong by this factor."""
    maker = TableMaker(REQUESTS, RIGHT)
    for number, (name, wrong) in enumerate(FREQUENT.items()):
        row = Row(name, "as if", 0, words=name, member=number)
        maker.add_member(row, partial(_chosen, _answers(wrong, wrong)))
    table = maker.table()
    table = replace(table, pairs=known_pairs(table, COLUMNS, entries))
    search = Search(table, COLUMNS, _Given(factor, factor), lambda number, test: None)
    return [row.words for row in pair(search, lambda *numbers: None, entries)]


def test_two_mistakes_are_found_though_neither_shows_alone() -> None:
    entries = _Multiplied()
    assert _pair(21, entries) == ["the_mask_has_no_effect; and times 3"]
    # two pairs for each mistake are executed, and then the pair that fits, in two steps
    made, tried = [2, 2, 2], [1, 1]
    assert entries.executed == made + tried
    assert _pair(22, entries) == ["a rare one; and times 2"]
    assert _pair(6, entries) == []


def test_few_of_many_pairs_that_give_one_result_are_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Pairs, "like", lambda self, at, call: [(0, 0)] * 1000)
    entries = _Multiplied()
    assert _pair(6, entries) == []
    assert max(entries.executed) == 30


def test_equal_errors_name_only_a_member_that_changes_a_check() -> None:
    fails = {"short": answered([Event("call", X)] * 2)}
    fails["long"] = answered([Event("call", raised="ValueError")] * 80)
    for in_check in (False, True):
        maker = TableMaker(REQUESTS, RIGHT)
        row = Row("refuses", "as if refused", words="refused", member=0, in_check=in_check)
        maker.add_member(row, lambda tests: {test: fails[test] for test in tests})
        given = _Given(1, 1)
        given._answers = fails
        found = Search(maker.table(), COLUMNS, given, lambda number, test: fails[test]).members()
        assert [row.name for row in found] == ["refuses"] * in_check


@pytest.mark.parametrize("words", ["twice", "0 / 0 makes nan"])
def test_only_a_member_whose_words_mention_nan_explains_nan_alone(words: str) -> None:
    maker = TableMaker(REQUESTS, RIGHT)
    given = _Given(math.nan, math.nan)
    row = Row("member", "as if", 5, words=words, member=0)
    maker.add_member(row, lambda tests: {test: given.answered(test) for test in tests})
    search = Search(maker.table(), COLUMNS, given, lambda number, test: given.answered(test))
    names = ["member"] * ("nan" in words)
    assert [row.name for row in search.members()] == names
    assert pair(search, lambda *numbers: None, cast(Any, None)) == []


def _counted(made: list[int]) -> Callable[[], Table]:
    def make() -> Table:
        made.append(1)
        time.sleep(0.05)
        return _table()

    return make


QUESTION, KEY = "a-b", "1"


def _got(
    course: Path,
    make: Callable[[], Table],
    key: str = KEY,
    *,
    fits: bool = True,
    of: str = QUESTION,
) -> Table:
    return Store(course).get(of, key, make, lambda table: fits)


def _files(tmp_path: Path) -> list[Path]:
    cache = tmp_path / "cache" / "autograder" / "mistakes"
    return [tmp_path / TABLES / f"{QUESTION}.npz", cache / f"{QUESTION}-{KEY}.npz"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_table_is_made_once_whoever_asks(tmp_path: Path) -> None:
    made: list[int] = []
    threads = [threading.Thread(target=_got, args=(tmp_path, _counted(made))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_file_that_is_not_a_table_is_made_again(tmp_path: Path) -> None:
    made: list[int] = []
    _got(tmp_path, _counted(made))
    kept = _files(tmp_path)[0].read_bytes()
    for broken in (b"", kept[:100], b"1\n[]", b"1\n" + kept[2:-100]):
        for path in _files(tmp_path):
            path.write_bytes(broken)
        _got(tmp_path, _counted(made))
    assert len(made) == 5


def test_a_course_has_the_table_of_its_current_suite(tmp_path: Path) -> None:
    made: list[int] = []
    for key in ("1", "2", "2", "1"):  # the cache still has the table of the first key
        _got(tmp_path, _counted(made), key)
    assert len(made) == 2
    assert [path.name for path in (tmp_path / TABLES).iterdir()] == [f"{QUESTION}.npz"]
    assert Store(tmp_path).is_current(QUESTION, "2", lambda table: True)


def test_a_table_from_another_machine_stays_but_is_not_used(tmp_path: Path) -> None:
    made: list[int] = []
    _got(tmp_path, _counted(made))
    kept = _files(tmp_path)[0].stat().st_mtime_ns
    _got(tmp_path, _counted(made), fits=False)
    assert len(made) == 2
    assert _files(tmp_path)[0].stat().st_mtime_ns == kept


def test_a_renewed_table_replaces_one_with_the_same_key(tmp_path: Path) -> None:
    _got(tmp_path, _table)
    new = replace(_table(), words={(0, "short"): "said of other inputs"})

    def is_new(table: Table) -> bool:
        return table.words == new.words

    for course in (tmp_path, tmp_path / "a copy, which finds it in the cache"):
        Store(course).renew(QUESTION, KEY, lambda: new, is_new)
        assert Store(course).is_current(QUESTION, KEY, is_new)


def test_another_copy_of_a_course_takes_tables_from_the_cache(tmp_path: Path) -> None:
    made: list[int] = []
    for copy in ("one", "other"):
        _got(tmp_path / copy, _counted(made))
    assert len(made) == 1


def test_a_read_only_course_has_its_tables_in_the_cache(tmp_path: Path) -> None:
    made: list[int] = []
    (tmp_path / "course").write_text("")
    for _ in range(2):
        _got(tmp_path / "course", _counted(made))
    assert len(made) == 1
    assert _files(tmp_path)[1].is_file()
    (tmp_path / "other").write_text("")
    with pytest.MonkeyPatch.context() as patch:  # no folder is writable
        patch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        found = _got(tmp_path / "course", _counted(made))
        assert found.with_words({"entry": ENTRY}).rows == _table().rows


def test_a_table_travels_with_its_course(tmp_path: Path) -> None:
    course = load_course(Path(__file__).resolve().parents[4])
    assignment = course.assignment("simplified_attention")
    _got(tmp_path, _table, of="softmax-naive_softmax")
    files = [
        path.relative_to(tmp_path)
        for path in graded_files(replace(course, root=tmp_path), assignment)
    ]
    assert files == [Path(TABLES, "softmax-naive_softmax.npz")]


def test_tables_that_are_not_used_are_removed_from_the_cache(tmp_path: Path) -> None:
    folder, week = _files(tmp_path)[1].parent, 7 * 24 * 3600
    folder.mkdir(parents=True)
    for number in range(5):
        for name in ("mine-softmax", "other-softmax"):
            path = folder / f"{name}-{number}.npz"
            path.write_text("")
            os.utime(path, (0, time.time() - number * week))
    _got(tmp_path, _table, "new", of="mine-softmax")
    left = {p.name.partition(".")[0].removesuffix("-softmax") for p in folder.glob("*.npz")}
    assert left == {
        *("mine-softmax-new", "mine-softmax-0", "mine-softmax-1"),
        *(f"other-softmax-{number}" for number in range(5)),
    }


def test_every_entry_is_in_its_table() -> None:
    course = load_course(Path(__file__).resolve().parents[4])
    left_out = []
    for exercise in (exercise for one in course.assignments for exercise in one.exercises):
        entries = variants_read(course.variants("misconceptions", exercise))
        for question in (question.name for question in exercise.questions):
            file = course.root / TABLES / f"{exercise.name}-{question}.npz"
            table = Table.from_bytes(file.read_bytes().partition(b"\n")[2])
            rows = {row.name for row in table.rows if row.is_entry}
            left_out += sorted({e.name for e in entries if e.question == question} - rows)
    assert left_out == [], "entries without answers: are their results too large?"
