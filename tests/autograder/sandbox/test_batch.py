"""Many requests in one frame all get their replies, and invalid frames are rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograder.errors import AnswerFault, AnswerProtocol
from autograder.records import Tier
from autograder.sandbox import Budget, ForkServer, Preparation, start_fork_server
from autograder.sandbox.replies import Batch, RawReplies, RawReply, value_of
from autograder.worker import wire

from .conftest import LIMITS, Student

MODULE = (
    "import torch\n"
    "kept = torch.zeros(2)\n"
    "def count():\n"
    "    kept.add_(1)\n"
    "    return kept\n"
    "def fail():\n"
    "    raise KeyError('x')\n"
    "def noise():\n"
    "    return torch.rand(3)\n"
)


def _values(made: Any, *requests: Any) -> Any:
    values = []
    for header, data in made.session.ask_several(Budget.of(LIMITS), Batch.of(requests)):
        try:
            values.append(value_of(wire.decode(header, bytearray(data))))
        except AnswerFault as fault:
            values.append(str(fault))
    return values


def test_each_reply_is_written_before_the_next_call_changes_it(
    student: Callable[[str], Student],
) -> None:
    made = student(MODULE)
    (one, _), (two, _) = _values(made, ("call", "count", []), ("call", "count", []))
    assert (one.tolist(), two.tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_a_failure_is_one_reply_and_the_others_come(student: Callable[[str], Student]) -> None:
    first, failed, missing, last = _values(
        student(MODULE),
        ("call", "count", []),
        ("call", "fail", []),
        ("call", "nothing", []),
        ("call", "count", []),
    )
    assert "KeyError" in failed
    assert "not defined" in missing
    assert last[0].tolist() == [2.0, 2.0]


def test_random_numbers_begin_again_with_a_seed(student: Callable[[str], Student]) -> None:
    seeded: tuple[Any, ...] = ("seed", 5), ("call", "noise", [])
    _, (one, _), _, (two, _) = _values(student(MODULE), *seeded, *seeded)
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("reply", "about"),
    [
        (wire.HEAD.pack(8, 2, 0) + b"{}", "not requested"),
        (wire.HEAD.pack(7, wire.MAX_HEADER_BYTES + 1, 0), "not requested"),
        (wire.HEAD.pack(7, 2, 101) + b"{}", "100 are left"),
        (wire.HEAD.pack(7, 2, 60) + b"{}" + bytes(60) + wire.HEAD.pack(7, 2, 60), "40 are left"),
        (2 * (wire.HEAD.pack(7, 2, 0) + b"{}") + b"more", "left over"),
    ],
)
def test_bytes_that_are_not_replies_are_refused(reply: Any, about: Any) -> None:
    replies = RawReplies(7, 2, 100)
    with pytest.raises(wire.BadFrame, match=about):
        replies.feed(reply)


def test_replies_may_come_in_pieces() -> None:
    frames = b"".join(b"".join(wire.encode(7, ("ok", torch.ones(n)))) for n in (1, 2))
    replies = RawReplies(7, 2, 100)
    for byte in frames:
        assert not replies.complete
        replies.feed(bytes([byte]))
    assert [len(data) for _, data in replies.found] == [4, 8]


def test_a_worker_that_sends_unrequested_data_is_ended(
    student: Callable[[str], Student],
) -> None:
    made = student("import os\ndef spoil():\n    os.write(3, b'x' * 100)\n    return 1\n")
    with pytest.raises(AnswerProtocol):
        _values(made, ("call", "spoil", []), ("call", "spoil", []))
    assert not made.session.alive


def test_held_batches_are_answered_like_sent_ones(parent: ForkServer) -> None:
    inputs = torch.arange(6.0).reshape(2, 3).T
    batch = Batch.of([("seed", 3), ("call", "noise", []), ("call", "twice", [inputs])])
    text = f"{MODULE}def twice(x):\n    x *= 2\n    return x\n"
    replies: list[list[RawReply]] = []
    for _ in range(3):  # the first run sends the batch, and the others reuse it
        session = parent.open(LIMITS, questions=1, batches=[batch.digest])
        try:
            session.ask(Budget.of(LIMITS), "load", "module", text, 7)
            assert len(batch.asked(0, session.held)) < 200 or not replies
            replies.append(session.ask_several(Budget.of(LIMITS), batch))
        finally:
            session.close()
        parent.hold(batch)
    assert replies[0] == replies[1] == replies[2]


def test_a_worker_keeps_only_the_batches_that_it_needs(parent: ForkServer) -> None:
    own, other = Batch.of([("call", "seen", [])]), Batch.of([("call", "theirs", [])])
    for batch in (own, other):
        parent.hold(batch)
    session = parent.open(LIMITS, questions=1, batches=[own.digest, "not held"])
    text = (
        "import sys, torch\n"
        "def seen():\n"
        "    frame, found = sys._getframe(), set()\n"
        "    while frame is not None:\n"
        "        for value in frame.f_locals.values():\n"
        "            found |= {*getattr(value, '_batches', ()), *getattr(value, '_held', ())}\n"
        "        frame = frame.f_back\n"
        "    return torch.tensor(len(found))\n"
    )
    try:
        session.ask(Budget.of(LIMITS), "load", "module", text, 7)
        ((header, data),) = session.ask_several(Budget.of(LIMITS), own)
    finally:
        session.close()
    assert value_of(wire.decode(header, bytearray(data)))[0].tolist() == 1


def test_a_restarted_fork_server_holds_the_same_batches() -> None:
    batch = Batch.of([("call", "count", [])])
    with start_fork_server() as server:
        server.hold(batch)
        server.restart()
        session = server.open(LIMITS, questions=1, batches=[batch.digest])
        session.ask(Budget.of(LIMITS), "load", "module", MODULE, 7)
        assert batch.digest in session.held
        ((header, data),) = session.ask_several(Budget.of(LIMITS), batch)
        session.close()
    assert value_of(wire.decode(header, bytearray(data)))[0].tolist() == [1.0, 1.0]


def test_modules_for_a_held_batch_are_loaded_once(
    parent_of: Callable[[Tier], ForkServer],
) -> None:
    few = Preparation(second_device=True, many_workers=False)
    with ForkServer(parent_of(Tier.A).tier, ahead=few) as own:
        assert not _has_kernels(own)
        own.hold(Batch.of([("seed", 0)], kernels=True))
        assert _has_kernels(own)


def _has_kernels(parent: ForkServer) -> bool:
    """Returns whether a new worker has already loaded torch's kernels for the second device."""
    session = parent.open(LIMITS, questions=1)
    try:
        text = "import sys\ndef loaded():\n    return 'torch._refs' in sys.modules\n"
        session.ask(Budget.of(LIMITS), "load", "module", text, 0)
        (loaded, _) = session.ask(Budget.of(LIMITS), "call", "loaded", [])
        return bool(loaded)
    finally:
        session.close()
