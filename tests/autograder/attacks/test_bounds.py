"""Hostile answers take little of the grader's time, and do not delay other students' answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.errors import AnswerFault, AnswerRaised
from autograder.grading.judging.remote import RemoteImplementation
from autograder.grading.judging.right_answers import ReferenceSubstitution
from autograder.grading.naming.probe import events_of
from autograder.grading.naming.record import Event, answered
from autograder.records import ExerciseResult, ExerciseStatus, Limits, Tier
from autograder.results.review import _of_exercise
from autograder.sandbox import Budget, ForkServer
from autograder.sandbox.replies import RawReplies, value_of
from autograder.submission import LOOK, SubmittedExercise
from autograder.suite.compare import describe, difference
from autograder.suite.forbidden_calls import evasions
from autograder.worker import wire
from autograder.worker.operator_watch import THREAD

LARGE = torch.zeros(5_000)
MANY = 5_000


@pytest.mark.parametrize(
    "reply",
    [
        [LARGE] * MANY,
        {"a": [LARGE] * MANY},
        {number: LARGE for number in range(MANY)},
        {(LARGE,) * MANY: 1},
        SimpleNamespace(a=(LARGE,) * MANY),
        [[SimpleNamespace(a={"b": [LARGE] * MANY})]],
    ],
    ids=["list", "list_in_dict", "dict", "key", "namespace", "nested"],
)
def test_a_message_prints_no_tensor_of_a_reply(reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(tensor: torch.Tensor) -> str:
        raise AssertionError("a tensor of a reply was printed")

    monkeypatch.setattr(torch.Tensor, "__repr__", printed)
    assert len(describe(reply)) < 1_000
    assert difference(reply, torch.ones(2))
    assert difference(reply, {"word": 1})


def test_many_colliding_keys_are_refused() -> None:
    def frame(count: int) -> bytes:
        return json.dumps({"D": [[number * (2**61 - 1), 0] for number in range(count)]}).encode()

    assert len(wire.decode(frame(wire.MAX_PAIRS), bytearray())) == wire.MAX_PAIRS
    with pytest.raises(wire.BadFrame):
        wire.decode(frame(wire.MAX_PAIRS + 1), bytearray())


def test_a_reply_can_not_be_larger_than_its_bytes() -> None:
    header = json.dumps({"T": ["float32", [1 << 30, 1 << 30], [0, 0]]}).encode()
    with pytest.raises(wire.BadFrame):
        wire.decode(header, bytearray(4))


@pytest.mark.parametrize("substitutes", [False, True])
def test_headers_of_replies_share_a_limit(substitutes: bool) -> None:
    replies = RawReplies(7, 100, 1 << 20, substitutes)
    header = (b'{"U": ["substitute", ' if substitutes else b"").ljust(wire.MAX_HEADER_BYTES)
    frame = wire.HEAD.pack(7, len(header), 0) + header
    for _ in range(16):
        replies.feed(frame)
    with pytest.raises(wire.BadFrame, match="headers"):
        replies.feed(frame)


def test_a_tensor_counts_once_per_reference() -> None:
    def frame(times: int) -> bytes:
        again = [{"S": 0}] * times
        return json.dumps({"L": [{"T": ["float32", [100], None]}, *again]}).encode()

    data = bytearray(400)
    assert len(wire.decode(frame(99), data, most_bytes=40_000)) == 100
    with pytest.raises(wire.BadFrame):
        wire.decode(frame(100), data, most_bytes=40_000)
    with pytest.raises(wire.BadFrame):
        wire.decode(frame(wire.MAX_TENSORS), data)


def test_the_form_of_an_answer_is_computed_without_printing_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def printed(tensor: torch.Tensor) -> str:
        raise AssertionError("a tensor of a reply was printed")

    monkeypatch.setattr(torch.Tensor, "__repr__", printed)
    kind = f"torch.float32 {tuple(LARGE.shape)} cpu"
    for reply, form in (
        ({"a": [LARGE] * MANY}, "{'a': list(" + f"{kind}, {kind}"),
        (SimpleNamespace(a={"b": LARGE}), "{'a': {'b': " + kind),
        ([{1: LARGE}], "list({1: " + kind),
        ({LARGE: 1, (LARGE, 2): 3}, "{"),
    ):
        (call,) = answered([Event("call", reply)]).calls
        assert call.form.startswith(form)
        assert len(call.form) < 10_000
        assert call.figures


def test_a_tensor_arrives_on_the_cpu_whatever_the_default_device() -> None:
    header = json.dumps({"T": ["float32", [1], None]}).encode()
    torch.set_default_device("meta")
    try:
        assert wire.decode(header, bytearray(4)).device.type == "cpu"
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize(
    "arg", [30_000, torch.tensor(30_000), 30_000.0, torch.tensor([1, 30_000])], ids=str
)
def test_a_right_answer_is_computed_with_a_workers_limits(
    parent_of: Callable[[Tier], ForkServer], arg: Any
) -> None:
    solution = (
        "import torch\n"
        "def grid(n):\n"
        "    places = torch.arange(torch.as_tensor(n).max())\n"
        "    return places[:, None] >= places\n"
    )
    limits = Limits(wall_seconds=60, cpu_seconds=5, memory_bytes=512 << 20, reply_bytes=8 << 20)
    reference = RemoteImplementation(
        lambda: parent_of(Tier.A).open(limits, 1),
        SubmittedExercise("scores", ExerciseStatus.GRADED, text=solution),
        limits,
        seed=1,
    )
    substitution = ReferenceSubstitution(reference, ["grid"])
    substitution.begin_question("scores")
    try:
        assert substitution.answer(("call", "solution", [3]))[0] == "raised"
        assert substitution.answer(("call", "grid", [arg]))[0] == "raised"
        kind, value = substitution.answer(("call", "grid", [3]))
    finally:
        reference.close()
    assert kind == "ok"
    assert value.tolist() == torch.ones(3, 3).tril().bool().tolist()


def test_naming_counts_a_tensor_once_per_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oversized reply is rejected before its gradients are searched for infinite numbers."""

    def looked_at(tensor: torch.Tensor) -> torch.Tensor:
        raise AssertionError("a reply that is too large was looked at")

    monkeypatch.setattr(torch.Tensor, "isfinite", looked_at)
    again = [{"S": 0}] * 9_000
    value = {"L": [{"T": ["bool", [1 << 20], None]}, *again]}
    header = {"U": ["ok", {"U": [value, {"L": [None]}, {"D": []}]}]}
    request: tuple[object, ...] = ("gradients", "f", [torch.ones(1)], torch.ones(1), [])
    (event,) = events_of([request], [(json.dumps(header).encode(), bytes(1 << 20))])
    assert event.raised == "no answer"


@pytest.mark.parametrize("name", [1, None, {"U": ["w"]}])
def test_gradients_of_weights_have_names(name: Any) -> None:
    weights = {"D": [["w", None], [name, None]]}
    header = {"U": ["ok", {"U": [None, {"L": [None]}, weights]}]}
    request: tuple[object, ...] = ("gradients", "f", [torch.ones(1)], torch.ones(1), [])
    (event,) = events_of([request], [(json.dumps(header).encode(), b"")])
    assert event.raised == "AnswerProtocol"


def test_a_bool_is_0_or_1_in_every_place() -> None:
    header = json.dumps({"T": ["bool", [5], None]}).encode()
    assert wire.decode(header, bytearray([1, 0, 1, 0, 0])).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]
    for place in range(5):
        data = bytearray(5)
        data[place] = 2 + place
        with pytest.raises(wire.BadFrame):
            wire.decode(header, data)


@pytest.mark.parametrize("kind", ["raised", "missing", "memory", "protocol"])
def test_a_workers_report_of_a_failure_is_short(kind: str) -> None:
    """An attacker who controls a worker can send error messages of up to a header's full size."""
    text = "x " * 500_000
    rest = (text, text, [text] * 50_000, text) if kind == "raised" else (text,)
    with pytest.raises(AnswerFault) as caught:
        value_of((kind, *rest))
    assert len(str(caught.value)) < 4_000
    if isinstance(caught.value, AnswerRaised):
        assert sum(map(len, (caught.value.type_name, *caught.value.bases))) < 2_000


def test_code_that_can_evade_rules_is_a_reason_to_look() -> None:
    code = "import threading\ndef f(x): return getattr(torch, 'soft' + x.end)(x)"
    assert evasions(code) == ("getattr", "threading")
    assert evasions("def f(x): return vars(torch)[k](x)") == ("vars",)
    assert evasions("def f(x): return e.__traceback__.tb_frame.f_back.f_locals") != ()
    assert evasions("import torch\ndef f(x): return torch.exp(x) / x.sum()") == ()
    exercise = ExerciseResult(
        "e", "e.py", ExerciseStatus.GRADED, 1, 1, (), (f"{LOOK}f: it", "other")
    )
    assert list(_of_exercise(exercise)) == [(("e",), f"{LOOK}f: it")]


class _Worker:
    """A worker in which an earlier question has left a thread running."""

    alive = True
    idle = True

    def __init__(self, opened: list[_Worker]) -> None:
        opened.append(self)
        self.asked: set[str] = set()

    def ask(self, budget: Budget, kind: str, *request: Any) -> Any:
        if kind != "operators":
            return [1.0, None]
        self.asked.add(request[0])
        return [[THREAD] if len(self.asked) > 1 else [], 1.0]

    def close(self) -> None:
        self.alive = False


@pytest.fixture
def opened() -> list[_Worker]:
    return []


@pytest.fixture
def answers(opened: list[_Worker]) -> RemoteImplementation:
    limits = Limits(wall_seconds=60, cpu_seconds=5, memory_bytes=1 << 20, reply_bytes=1 << 20)
    module = SubmittedExercise("scores", ExerciseStatus.GRADED)
    worker: Any = lambda: _Worker(opened)  # noqa: E731
    return RemoteImplementation(worker, module, limits, seed=1)


@pytest.mark.parametrize("idle", [True, False])
def test_only_an_idle_worker_gets_another_question(
    answers: RemoteImplementation, opened: list[_Worker], idle: bool
) -> None:
    answers.begin_question("one")
    answers.ask("one", "call")
    opened[0].idle = idle
    answers.begin_question("two")
    answers.ask("two", "call")
    assert len(opened) == (1 if idle else 2)


def test_a_thread_left_running_does_not_count_against_another_question(
    answers: RemoteImplementation, opened: list[_Worker]
) -> None:
    for question in ("one", "two"):
        answers.begin_question(question)
        assert not answers.operators(question, [1.0], False, [THREAD]).operators
    assert len(opened) == 2
