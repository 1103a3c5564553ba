"""Every attack gets the expected verdict, costs nobody else points, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autograder
from autograder.records import SubmissionResult, SubmissionStatus, Tier, Verdict

from .conftest import ATTACKS, MARK, Attack, attacks_in

TIERS = (Tier.A, Tier.B, Tier.C)
IN_TIERS = [
    pytest.param(tier, attack, id=f"{tier}-{attack.kind}-{attack.name}")
    for tier in TIERS
    for attack in attacks_in(tier)
]


#: locks a file in a separate process, because a process does not see its own locks
_LOCKS = """
import fcntl, sys
with open(sys.argv[1], "rb+") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("taken")
    else:
        print("free")
"""


def _verdicts(result: SubmissionResult, exercise: str) -> dict[str, str]:
    return {
        question.question: question.verdict.value
        for graded in result.exercises
        if graded.exercise == exercise
        for question in graded.questions
    }


@pytest.mark.parametrize(("tier", "attack"), IN_TIERS)
def test_attack_has_its_verdict_and_costs_its_own_question_only(
    graded: Any, tier: Tier, attack: Attack
) -> None:
    result = graded(tier).results[attack.name]
    assert result.status is SubmissionStatus.GRADED, result.error
    verdicts = _verdicts(result, "attacked")
    assert set(verdicts) == {"first", "target", "Scale", "ruled", "last"}
    messages = [t.message for e in result.exercises for q in e.questions for t in q.tests]
    for question, verdict in verdicts.items():
        assert attack.allows(question, verdict), (question, verdict, messages)
    assert _verdicts(result, "beside") == {"neighbour": "correct"}


@pytest.mark.parametrize("tier", TIERS)
def test_honest_students_among_attackers_have_full_marks(graded: Any, tier: Tier) -> None:
    done = graded(tier)
    assert len(done.honest) > 15
    scores = {name: done.results[name].score for name in done.honest}
    assert set(scores.values()) == {11.0}


@pytest.mark.parametrize("tier", TIERS)
def test_a_reply_that_is_not_an_answer_costs_earned_points(graded: Any, tier: Tier) -> None:
    questions = [q for r in graded(tier).results.values() for e in r.exercises for q in e.questions]
    broken = [q for q in questions if q.verdict in (Verdict.PROTOCOL, Verdict.FORBIDDEN)]
    assert any(test.passed for question in broken for test in question.tests)
    assert {question.score for question in broken} == {0.0}


@pytest.mark.parametrize("tier", TIERS)
def test_no_file_of_the_course_or_the_class_is_changed(graded: Any, tier: Tier) -> None:
    done = graded(tier)
    assert done.after == done.before
    assert len(done.place.results.read_text().splitlines()) == len(done.results)


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_is_left_on_the_machine(graded: Any, tier: Tier) -> None:
    graded(tier)
    places = [Path(name) for name in ("/tmp", "/dev/shm", "/var/tmp", "/dev/mqueue", ".", "/")]
    found = [path for place in places if place.is_dir() for path in place.glob(f"*{MARK}*")]
    assert not found


@pytest.mark.parametrize("tier", TIERS)
def test_no_lock_is_left(graded: Any, tier: Tier) -> None:
    done = graded(tier)
    of_the_class = [path for path in done.place.submitted.rglob("*.py") if path.is_file()]
    for path in (Path(os.__file__), done.place.results, *of_the_class[:20]):
        assert _is_free(path), path


def test_a_lock_that_is_left_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    path.touch()
    for lock in (fcntl.flock, fcntl.lockf):
        assert _is_free(path)
        with open(path, "rb+") as file:
            lock(file, fcntl.LOCK_EX)
            assert not _is_free(path)


def _is_free(path: Path) -> bool:
    """Returns whether another process can lock a file with both `flock` and `lockf`."""
    run = subprocess.run([sys.executable, "-S", "-c", _LOCKS, path], capture_output=True, text=True)
    assert run.stdout in ("free\n", "taken\n"), run.stderr
    return run.stdout == "free\n"


@pytest.mark.parametrize("tier", TIERS)
def test_no_process_is_left(graded: Any, parent_of: Any, tier: Tier) -> None:
    graded(tier)
    pid = parent_of(tier).pid
    waiting = _chain(pid, {Tier.A: 3, Tier.B: 2, Tier.C: 0}[tier])
    for left in _below(pid) - waiting:
        assert _ends(left), Path(f"/proc/{left}/cmdline").read_bytes()


def _below(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found |= {child} | _below(child)
    return found


def _chain(pid: int, length: int) -> set[int]:
    """Returns the ids of the oldest child, its oldest child, and so on, for `length` generations.

    In tier A, these are bubblewrap, the first process in its namespace, and the fork server.
    """
    found: set[int] = set()
    for _ in range(length):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pid = min(map(int, children))
        found.add(pid)
    return found


def _ends(pid: int) -> bool:
    """Returns whether a process has ended or ends within ten seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


def test_the_same_submission_has_the_same_result_whatever_the_tier(graded: Any) -> None:
    def outcome(result: SubmissionResult) -> list[tuple[str, float, str]]:
        questions = [q for e in result.exercises for q in e.questions]
        return [(q.question, q.score, q.verdict.value) for q in questions]

    by_tier = [graded(tier).results for tier in TIERS]
    common = set.intersection(*(set(results) for results in by_tier))
    assert len(common) > 120
    for name in sorted(common):
        outcomes = [outcome(results[name]) for results in by_tier]
        assert outcomes[0] == outcomes[1] == outcomes[2], name


def test_the_corpus_is_large_and_every_name_is_its_own() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) >= 120
    assert len(set(names)) == len(names)


def test_modules_that_attacks_reach_for_are_there() -> None:
    # an attack that used a renamed module's old name would raise KeyError and prove nothing
    package = Path(autograder.__file__).parent
    named = {name for attack in ATTACKS for name in re.findall(r"\bworker\.(\w+)", attack.text)}
    assert len(named) > 1
    assert not [name for name in named if not (package / "worker" / f"{name}.py").exists()]
