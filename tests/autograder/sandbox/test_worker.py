"""A worker returns the right replies, and the grader learns how the worker ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from autograder import errors
from autograder.grading.judging.parts import modules_of
from autograder.suite.traits.inputs import LAYOUTS

from .conftest import Student


def test_call_returns_the_value_and_the_arguments_afterwards(
    student: Callable[[str], Student],
) -> None:
    made = student("def double_in_place(x):\n    x *= 2\n    return x + 1")
    value, after = made.ask("call", "double_in_place", [torch.ones(2, 3)])
    assert torch.equal(value, torch.full((2, 3), 3.0))
    assert torch.equal(after[0], torch.full((2, 3), 2.0))


def test_one_tensor_passed_twice_stays_one(student: Callable[[str], Student]) -> None:
    made = student("def same(a, b):\n    return a is b")
    x = torch.ones(2)
    assert made.call("same", x, x) is True
    assert made.call("same", x, torch.ones(2)) is False


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_arrives_with_the_same_memory_layout(
    student: Callable[[str], Student], layout: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    made = student("def facts(x):\n    return list(x.stride()), x.storage_offset() > 0, x")
    sent = layout(torch.arange(24.0).view(2, 3, 4))
    strides, begins_inside, got = made.call("facts", sent)
    assert strides == list(sent.stride())
    # every view begins inside its memory, as a slice does
    assert begins_inside == (sent.storage_offset() > 0 or not sent.is_contiguous())
    assert got.equal(sent)


def test_the_environment_for_cheap_forks_takes_effect(
    student: Callable[[str], Student],
) -> None:
    made = student(
        "import sys\n"
        "def facts():\n"
        "    return sys.flags.ignore_environment, sys.flags.no_user_site, sys.flags.safe_path"
    )
    assert made.call("facts") == (0, 1, True)


def test_output_may_have_another_encoding(student: Callable[[str], Student]) -> None:
    made = student(
        "import sys\n"
        "sys.stdout.reconfigure(encoding='utf-8', line_buffering=True)\n"
        "print('\u00fc')\n"
        "def facts():\n"
        "    return sys.stdout.encoding, sys.stdout.seekable()\n"
    )
    assert made.call("facts") == ("utf-8", False)


def test_the_user_is_called_nobody(student: Callable[[str], Student]) -> None:
    made = student("import getpass\nuser = getpass.getuser()\ndef facts():\n    return user\n")
    assert made.call("facts") == "nobody"


def test_a_compiler_that_is_really_needed_is_loaded(student: Callable[..., Student]) -> None:
    text = "import torch\ndef limit():\n    return torch._dynamo.config.recompile_limit\n"
    made = student(text, cpu_seconds=10)  # the import takes one of them
    assert made.call("limit") > 0


def test_an_incidental_use_of_the_compiler_does_not_load_it(
    student: Callable[[str], Student],
) -> None:
    made = student(
        "import sys, torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "def learn(x):\n"
        "    x = checkpoint(lambda y: 2 * y, x, use_reentrant=False)\n"
        "    weight = torch.nn.Parameter(torch.zeros(2))\n"
        "    torch.optim.SGD([weight], lr=1.0).step()\n"
        "    slope = torch.func.jacrev(lambda y: 2 * y)(x)\n"
        "    return slope, any(name.startswith('torch._dynamo.') for name in sys.modules)\n"
    )
    slope, compiler = made.call("learn", torch.ones(2))
    assert torch.equal(slope, 2 * torch.eye(2))
    assert not compiler


@pytest.mark.parametrize("decorator", ["torch.compile", 'torch.compile(backend="eager")'])
def test_an_answer_to_be_compiled_is_run_as_it_is(
    student: Callable[[str], Student], decorator: str
) -> None:
    made = student(f"import torch\n@{decorator}\ndef twice(x):\n    return 2 * x\n")
    assert torch.equal(made.call("twice", torch.ones(2)), torch.full((2,), 2.0))


def test_allocations_of_a_worker_are_adjacent(student: Callable[[str], Student]) -> None:
    made = student(
        "import ctypes\n"
        "malloc = ctypes.CDLL(None).malloc\n"
        "malloc.restype = ctypes.c_void_p\n"
        "def pages():\n"
        "    blocks = [malloc(size) for size in (48, 104, 200) for _ in range(1000)]\n"
        "    return len({block >> 12 for block in blocks})\n"
    )
    assert made.call("pages") < 150  # the functions fit into 86 pages


def test_parts_exist_only_for_exercises_that_are_given_them(
    student: Callable[[str], Student],
) -> None:
    text = (
        "def turned(x, places):\n"
        "    from autograder.parts import apply_rotary, rotary_angles\n"
        "    return apply_rotary(x, rotary_angles(places, x.shape[-1]))\n"
        "def seen(name):\n"
        "    try:\n"
        "        __import__(name)\n"
        "    except ImportError:\n"
        "        return False\n"
        "    return True\n"
    )
    made = student(text)
    assert made.call("seen", "autograder.parts") is False
    given = modules_of(("apply_rotary", "rotary_angles"))
    parts = [(part.name, part.text, list(part.parts)) for part in given]
    made.ask("load", "module", text, 7, parts)
    turned = made.call("turned", torch.tensor([[1.0, 0.0]]), torch.ones(1))
    assert torch.allclose(turned, torch.tensor([[0.5403, 0.8415]]), atol=1e-4)
    assert not any(made.call("seen", f"autograder.{name}") for name in ("grading", "suite", "cli"))


def test_gradients_are_those_of_the_answer(student: Callable[[str], Student]) -> None:
    made = student("def product(a, b):\n    return a @ b")
    a, b = torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    seed = torch.randn(2, 4, dtype=torch.float64)
    _, (to_a, to_b), _ = made.ask("gradients", "product", [a, b], seed)
    assert torch.allclose(to_a, seed @ b.T)
    assert torch.allclose(to_b, a.T @ seed)


def test_a_cut_gradient_is_none(student: Callable[[str], Student]) -> None:
    made = student("def cut(x):\n    return x.detach() * 2")
    _, (gradient,), _ = made.ask("gradients", "cut", [torch.ones(3)], torch.ones(3))
    assert gradient is None


def test_gradients_to_a_pair_are_a_pair(student: Callable[[str], Student]) -> None:
    made = student("def product(a, pair):\n    return a * pair[0], (pair[1] * 3, None)")
    a, b, c = torch.randn(3, 2).unbind()
    seeds = (torch.ones(2), (torch.ones(2),))
    _, (to_a, to_pair), _ = made.ask("gradients", "product", [a, (b, c)], seeds)
    assert torch.equal(to_a, b)
    assert torch.equal(to_pair[0], a)
    assert torch.equal(to_pair[1], torch.full((2,), 3.0))


def test_steps_pass_a_state_on_and_are_read_last(
    student: Callable[[str], Student],
) -> None:
    made = student(
        "import torch\n"
        "def count(x, past=None):\n"
        "    past = torch.zeros(1) if past is None else past.add_(x)\n"
        "    return x, past\n"
    )
    calls = [([torch.ones(1)], None), ([torch.full((1,), 5.0)], 0)]
    (_, first), (_, second) = made.ask("steps", "count", calls)
    assert first is second and first.item() == 5.0


def test_a_layer_takes_weights_by_name_and_gives_their_gradients(
    student: Callable[[str], Student],
) -> None:
    made = student(
        "import torch\n"
        "class Layer(torch.nn.Module):\n"
        "    def __init__(self, size):\n"
        "        super().__init__()\n"
        "        self.linear = torch.nn.Linear(size, size)\n"
        "    def forward(self, x):\n"
        "        return self.linear(x)\n"
    )
    handle = 0
    made.ask("build", handle, "Layer", [2])
    weights = {"linear.weight": torch.eye(2), "linear.bias": torch.ones(2)}
    made.ask("load_weights", handle, weights)
    value, _ = made.ask("forward", handle, [torch.tensor([[3.0, 4.0]])])
    _, _, gradients = made.ask("layer_gradients", handle, [torch.ones(1, 2)], torch.ones(1, 2))
    assert torch.equal(value, torch.tensor([[4.0, 5.0]]))
    assert set(gradients) == set(weights)


@pytest.mark.parametrize(
    "call",
    [
        "torch.softmax(x, -1)",
        "x.softmax(-1)",
        "getattr(torch, 'soft' + 'max')(x, -1)",
        "torch.ops.aten._softmax(x, -1, False)",
        "torch.nn.Softmax(-1)(x)",
    ],
)
def test_operators_are_seen_by_whatever_way_they_are_reached(
    student: Callable[[str], Student], call: str
) -> None:
    made = student(f"import torch\ndef answer(x):\n    return {call}")
    wanted = ["aten::_softmax", "aten::tanh"]
    names, _ = made.ask("operators", "answer", [torch.ones(2, 3)], False, wanted)
    assert names == ["aten::_softmax"]


def test_an_undefined_answer_is_missing(student: Callable[[str], Student]) -> None:
    with pytest.raises(errors.AnswerMissing, match="nothing_here"):
        student("x = 1").call("nothing_here")


def test_a_stub_is_not_implemented(student: Callable[[str], Student]) -> None:
    for stub in ("NotImplementedError", "NotImplementedError('later')"):
        with pytest.raises(errors.AnswerNotImplemented, match="^not implemented yet$"):
            student(f"def answer():\n    raise {stub}").call("answer")


def test_a_call_that_torch_does_not_implement_is_explained(
    student: Callable[[str], Student],
) -> None:
    made = student("import torch\ndef answer():\n    return torch.nn.Module()(1)")
    with pytest.raises(errors.AnswerNotImplemented, match='missing the required "forward"'):
        made.call("answer")


def test_an_exception_is_reported_with_the_students_own_line(
    student: Callable[[str], Student],
) -> None:
    with pytest.raises(errors.AnswerRaised, match=r"in answer: return 1 / 0") as caught:
        student("def answer():\n    return 1 / 0").call("answer")
    assert caught.value.type_name == "ZeroDivisionError"
    assert "ArithmeticError" in caught.value.bases


def test_a_failing_import_affects_only_answers_that_use_it(
    student: Callable[[str], Student],
) -> None:
    made = student("import nowhere_to_be_found as n\ndef a():\n    return 1\ndef b():\n    n.x()")
    assert made.call("a") == 1
    with pytest.raises(errors.AnswerRaised, match="nowhere_to_be_found|n could not be imported"):
        made.call("b")


def test_an_absent_library_affects_only_those_who_use_it(
    student: Callable[[str], Student],
) -> None:
    made = student(
        "import nowhere_to_be_found as n\nmade = n.make()\n"
        "def a():\n    return 1\ndef b():\n    return made + 1"
    )
    assert made.call("a") == 1
    with pytest.raises(errors.AnswerFault, match="n could not be imported"):
        made.call("b")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("while True: pass", errors.AnswerTimeout),
        ("import os; os._exit(0)", errors.AnswerCrashed),
        ("import ctypes; ctypes.string_at(0)", errors.AnswerCrashed),
        ("import os; os.abort()", errors.AnswerCrashed),
        ("import torch; return torch.ones(10**11)", errors.AnswerMemory),
        ("import torch; return [torch.empty(10**8) for _ in range(100)]", errors.AnswerMemory),
        ("while True: print('x' * 1000)", errors.AnswerOutputLimit),
        ("return (number for number in range(3))", errors.AnswerProtocol),
        ("import torch; return torch.zeros(10**7)", errors.AnswerProtocol),
        ("import os; os.close(3)", errors.AnswerCrashed),
        ("import os; os.write(3, b'x' * 64)", errors.AnswerProtocol),
        ("import os; os._exit(97)", errors.AnswerCrashed),
        ("raise SystemExit", errors.AnswerRaised),
        ("raise KeyboardInterrupt", errors.AnswerRaised),
    ],
)
def test_every_way_to_fail_has_its_own_error(
    student: Callable[[str], Student], body: str, fault: type[Exception]
) -> None:
    made = student(f"def answer():\n    {body}")
    with pytest.raises(fault):
        made.call("answer")


def test_a_worker_has_no_rights_and_no_project_modules(student: Callable[[str], Student]) -> None:
    made = student(
        "import os, sys, importlib.util\n"
        "def facts():\n"
        "    found = [importlib.util.find_spec(n) is not None\n"
        "             for n in ('autograder', 'solutions', 'nbgrader', 'pytest')]\n"
        "    return os.getuid(), found, sorted(os.environ)\n"
    )
    user, found, environment = made.call("facts")
    assert user != 0
    assert found == [False, False, False, False]
    assert not any("TOKEN" in name or "PYTEST" in name for name in environment)


def test_one_students_memory_is_not_visible_to_the_next(student: Callable[[str], Student]) -> None:
    student("import builtins\nbuiltins.mine = 1\nimport torch\ntorch.softmax = None")
    made = student(
        "import builtins, torch\n"
        "def facts():\n    return hasattr(builtins, 'mine'), torch.softmax is None"
    )
    assert made.call("facts") == (False, False)


def test_the_time_of_a_question_adds_up_over_its_calls(student: Callable[[str], Student]) -> None:
    from autograder.sandbox import Budget

    made = student("import time\ndef nap():\n    time.sleep(0.2)")
    budget = Budget(wall=0.5, cpu=1.0)
    with pytest.raises(errors.AnswerTimeout):
        for _ in range(10):
            made.session.ask(budget, "call", "nap", [])
