"""The statements that are needed run in order, and a failure affects as few answers as possible."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograder.submission import module_of_notebook
from autograder.worker.loading import Timer
from autograder.worker.statements import StatementTimeout, execute


def module(*cells: str, names: tuple[str, ...] = ("f",)) -> Any:
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    return module_of_notebook(json.dumps(document).encode(), names)


def executed(*cells: str, names: tuple[str, ...] = ("f",)) -> dict[str, Any]:
    """Returns the namespace after executing a notebook with these cells."""
    namespace: dict[str, Any] = {"__name__": "answers"}
    execute(module(*cells, names=names).text, "answers.py", namespace, names)
    return namespace


def value(*cells: str) -> object:
    """Returns the result of `f()` after executing these cells."""
    return executed(*cells)["f"]()


VALUES: dict[str, tuple[tuple[str, ...], object]] = {
    "last_definition": (("def f(): return 1", "def f(): return 2"), 2),
    "lambda_after_a_def": (("def f(): return 1", "f = lambda: 2"), 2),
    "def_after_a_lambda": (("f = lambda: 2", "def f(): return 1"), 1),
    "result_does_not_shadow": (("def f(): return 1", "f = f()"), 1),
    "alias": (("def f(): return 1", "def g(): return 2", "f = g"), 2),
    "alias_of_a_value": (("def f(): return 1", "g = 2", "f = g"), 1),
    "wrapped": (("def f(): return 1", "def w(g): return lambda: g() + 1", "f = w(f)"), 2),
    "wrapped_twice": (
        ("def f(): return 1", "def w(g): return lambda: g() + 1", "f = w(f)", "f = w(f)"),
        3,
    ),
    "helper_later": (("def f(): return g()", "def g(): return K", "K = 3"), 3),
    "executed_helper_later": (("K = g()", "def f(): return K", "def g(): return C", "C = 4"), 4),
    "comprehension": (
        ("T = [g(i) for i in range(2)]\ndef f(): return T", "g = lambda i: i"),
        [0, 1],
    ),
    "default": (("def f(x=g()): return x", "def g(): return 5"), 5),
    "decorator": (("@w\ndef f(): return 1", "def w(g): return lambda: g() + 1"), 2),
    "class_body": (("def f(): return A.x", "class A:\n    x = K", "K = 6"), 6),
    "base_class": (
        ("def f(): return B().g()", "class B(A): pass", "class A:\n def g(s): return 7"),
        7,
    ),
    "class_in_parts": (
        ("class A: pass\ndef f(): return A().g()", "class A(A):\n def g(s): return 8"),
        8,
    ),
    "patch": (("class A: pass\ndef f(): return A().g()", "def g(s): return 9\nA.g = g"), 9),
    "patch_in_a_loop": (("T = {}\nfor i in range(3):\n    T[i] = i", "def f(): return T[2]"), 2),
    "append": (("T = []", "T.append(4)", "def f(): return T[0]"), 4),
    "counter": (("K = 1", "K += 1", "def f(): return K"), 2),
    "added_in_order": (
        ("T = []", "T.append('a')", "T += 'b'", "T.extend('cd')", "def f(): return ''.join(T)"),
        "abcd",
    ),
    "added_in_cells_of_any_order": (
        ("def f(): return T", "T['a'] = 1", "T = {}", "T.update(b=2)"),
        {"a": 1, "b": 2},
    ),
    "joined_anew": (("T = [1]", "T.append(2)", "T = T + [3]", "def f(): return T"), [1, 2, 3]),
    "registered": (
        ("T = {}\ndef w(g):\n T[g.__name__] = g\n return g", "@w\ndef g(): return 1")
        + ("def f(): return T['g']()",),
        1,
    ),
    "registered_in_order": (
        ("T = []\ndef w(g): T.append(g)", "@w\ndef a(): return 1", "@w\ndef b(): return 2")
        + ("def f(): return [g() for g in T]",),
        [1, 2],
    ),
    "registered_under_a_name": (
        ("T = {}\ndef w(k):\n def put(g):\n  T[k] = g\n  return g\n return put",)
        + ("@w('a')\ndef g(): return 1", "def f(): return T['a']()"),
        1,
    ),
    "registered_by_a_call": (
        ("T = []", "def w(g): T.append(g)", "w(lambda: 3)", "def f(): return T[0]()"),
        3,
    ),
    "registered_by_an_object": (
        ("class R(list):\n def put(s, g):\n  s.append(g)\n  return g\nr = R()",)
        + ("@r.put\ndef g(): return 4", "def f(): return r[0]()"),
        4,
    ),
    "dispatched": (
        ("import functools\n@functools.singledispatch\ndef g(x): return 0",)
        + ("@g.register\ndef _(x: int): return 5", "def f(): return g(1)"),
        5,
    ),
    "patched_by_annotation": (
        ("def w(g):\n setattr(g.__annotations__['self'], g.__name__, g)\n return g",)
        + ("class A: pass", "@w\ndef g(self: A): return 6", "def f(): return A().g()"),
        6,
    ),
    "match": (
        ("mode = 1\nmatch mode:\n case 1:\n  def g(): return 7\n case _:\n  g = None",)
        + ("def f(): return g()",),
        7,
    ),
    "guarded": (
        ('if __name__ == "__main__":\n    K = 1\n    def g(): return K', "def f(): return g()"),
        1,
    ),
    "set_by_a_call": (
        ("def g():\n    global K\n    K = 2", "g()", "def f(): return K"),
        2,
    ),
    "hung_on_a_library": (
        ("import fractions", "def g(s): return 8\nfractions.Fraction.g = g")
        + ("def h(): return fractions.Fraction(1)", "def f(): return h().g()"),
        8,
    ),
    "hung_on_what_is_not_named": (
        ("import fractions", "def g(s): return 9\nfractions.Fraction.g = g")
        + ("from fractions import Fraction as F", "def f(): return F(1).g()"),
        9,
    ),
    "written_out": (("globals()['K'] = 3", "def f(): return K"), 3),
    "named_on_the_way": (("print(K := 3)", "def f(): return K"), 3),
    "same_name_in_a_class": (
        ("def g(s): return 4", "class A:\n    g = g", "def f(): return A().g()"),
        4,
    ),
    "own_name_in_a_class": (
        ("x = 1 / 0", "class A:\n    x = 5\n    y = x", "def f(): return A.y"),
        5,
    ),
    "tuple": (("a, b = 1, 2", "def f(): return b"), 2),
    "with": (
        ("import contextlib\nwith contextlib.nullcontext(3) as K: pass", "def f(): return K"),
        3,
    ),
    "if_else": (("if True:\n    def g(): return 1\nelse:\n    g = None", "def f(): return g()"), 1),
    "try_import": (
        ("try:\n    import nothere as m\nexcept ImportError:\n    m = 2", "def f(): return m"),
        2,
    ),
    "imported_and_bound_anew_above": (("from math import pi", "pi = 3", "def f(): return pi"), 3),
    "imported_again": (("t = 5", "import math as t", "def f(): return t.floor(3.5)"), 3),
    "imported_for_one_and_bound_anew_for_the_other": (
        ("from math import pi", "def g(): return pi", "pi = 3", "def f(): return pi, g()"),
        (3, 3),
    ),
    "imported_below_and_called_above": (
        ("K = g()", "import math as t", "def g(): return t.floor(3.5)", "t = 1")
        + ("def f(): return K",),
        3,
    ),
    "submodules": (("import os.path\nimport os", "def f(): return os.path.sep"), "/"),
    "recursion": (("def f(n=2): return 0 if not n else f(n - 1)",), 0),
    "two_of_one_name": (
        (
            "class A: pass\nclass B: pass",
            "def g(s): return 1\nA.g = g",
            "def g(s): return 2\nB.g = g",
        )
        + ("def f(): return A().g(), B().g()",),
        (1, 2),
    ),
    "semicolons": (("a = 1; b = 2; K = a + b", "def f(): return K"), 3),
    "umlauts": (("ü = 'ä'; K = ü", "def f(): return K"), "ä"),
    "multi_line_string": (('K = """a\n  %b\n!c"""', "def f(): return K"), "a\n  %b\n!c"),
    "future": (("def f(x: nothere = 1): return x", "from __future__ import annotations"), 1),
}


@pytest.mark.parametrize("case", VALUES)
def test_the_module_computes_what_the_notebook_does(case: str) -> None:
    cells, expected = VALUES[case]
    assert value(*cells) == expected


_PUT = "def put(m, name, value):\n    m[name] = value"
_ANSWER = "def f():\n    return M['a']"

KEPT = {
    "a function fills what it is given": ["def put(m):\n    m['a'] = 1", "M = {}", "put(M)"],
    "by a keyword": ["def put(*, m):\n    m['a'] = 1", "M = {}", "put(m=M)"],
    "a function fills a name outside": ["M = {}", "def put():\n    M['a'] = 1", "put()"],
    "by way of another function": [
        *("M = {}", "def inner():\n    M['a'] = 1", "def outer():\n    inner()", "outer()"),
    ],
    "its result is kept": ["M = {}", "def put():\n    M['a'] = 1\n    return 2", "n = put()"],
    "a lambda": ["M = {}", "put = lambda k: M.__setitem__(k, 1)", "put('a')"],
    "a function sets a global name again": [
        *("M = None", "def make():\n    global M\n    M = {'a': 1}", "make()"),
    ],
    "another name of the object": ["M = {}", "c = M", "c['a'] = 1"],
    "the name of a loop": ["M, N = {}, {}", "for one in (M, N):\n    one['a'] = 1"],
    "a method of its own class": [
        "class Table(dict):\n    def learn(self, name):\n        self[name] = 1",
        *("M = Table()", "M.learn('a')"),
    ],
    "an object is the decorator": [
        "class Table(dict):\n    def __call__(self, f):\n        self[f.__name__] = 1\n"
        "        return f",
        *("M = Table()", "@M\ndef a():\n    pass"),
    ],
    "a class is the decorator": [
        "M = {}",
        "class add:\n    def __init__(self, name):\n        self.name = name\n"
        "    def __call__(self, f):\n        M[self.name] = 1",
        "@add('a')\ndef g():\n    pass",
    ],
    "a function in two steps": [
        "M = {}",
        "def add(name):\n    def to(value):\n        M[name] = value\n    return to",
        "add('a')(1)",
    ],
    "subclasses register themselves": [
        "M = {}",
        "class Base:\n    def __init_subclass__(cls):\n        M[cls.__name__] = 1",
        *("class Middle(Base):\n    pass", "class a(Middle):\n    pass"),
    ],
    "a metaclass registers": [
        "M = {}",
        "class Meta(type):\n    def __init__(cls, name, bases, own):\n        M[name] = 1",
        "class a(metaclass=Meta):\n    pass",
    ],
    "a class asks for its subclasses": [
        *("class Base:\n    pass", "class a(Base):\n    pass"),
        "class M:\n    def __class_getitem__(cls, name):\n"
        "        return [1 for c in Base.__subclasses__() if c.__name__ == name][0]",
    ],
    "a context manager": [
        "M = {}",
        "class On:\n    def __enter__(self):\n        M['a'] = 1\n"
        "    def __exit__(self, *error):\n        pass",
        "with On():\n    pass",
    ],
    "an element is taken out": ["M = {'a': 1, 'b': 2}", "M.pop('b')", "assert len(M) == 1"],
    "a pattern": ["match {'m': {'a': 1}}:\n    case {'m': M}:\n        pass"],
    "the name of a loop was an experiment's": [
        *("for i in range(2):\n    print(f, i)", "M = {}", _PUT),
        "for i, name in enumerate(['a']):\n    put(M, name, i + 1)",
    ],
    "a name held what an answer made": [
        *("x = str(f)", "M = {}", _PUT, "x = 1", "put(M, 'a', x)"),
    ],
    "a name is bound anew in a block": [
        *("x = str(f)", "M = {}", _PUT, "for i in 'a':\n    x = 1\n    put(M, i, x)"),
    ],
    "a name on the way of a loop": ["for one in (M := {'a': 1}):\n    pass"],
}


@pytest.mark.parametrize("cells", KEPT.values(), ids=KEPT)
def test_a_statement_that_changes_a_needed_object_is_executed(cells: list[str]) -> None:
    assert value(*cells, _ANSWER) == 1


NEEDED_OF_AN_ANSWER = {
    "table": "T = {'a': g}",
    "item": "T = {}\nT['a'] = g",
    "method": "T = {}\nT.update(a=g)",
    "loop": "T = {}\nfor name, one in [('a', g)]:\n    T[name] = one",
    "function": "T = {}\ndef put(one): T['a'] = one\nput(g)",
    "filled": "T = {}\ndef put(m, one): m['a'] = one\nput(T, g)",
    "loop of calls": "T = {}\ndef put(one): T['a'] = one\nfor one in (g,): put(one)",
    "by way of a name": "h = g\nT = {'a': h}",
    "by way of a result": "h = g()\nT = {'a': lambda: h}",
    "alias of a library": "import types\ntypes.g = g\nT = {'a': lambda: types.g()}",
    "decorator": "T = {}\ndef put(one): T['a'] = g\n@put\ndef h(): pass",
    "written out": "T = {'a': globals()['g']}",
}


@pytest.mark.parametrize("cell", NEEDED_OF_AN_ANSWER.values(), ids=NEEDED_OF_AN_ANSWER)
def test_code_that_reads_an_answer_runs_if_another_needs_it(cell: str) -> None:
    cells = ("def g(): return 1", cell, "def f(): return T['a']()")
    assert executed(*cells, names=("f", "g"))["f"]() == 1


@pytest.mark.parametrize(
    "cell",
    [
        "LOG.append(f())",
        "def train():\n    LOG.append(f())\ntrain()",
        "model = f()\nLOG.append(model)",
        "for step in range(3):\n    LOG.append(f)",
        "class Trainer:\n    def __init__(self): LOG.append(f())\nTrainer()",
        "check = lambda: LOG.append(f())\nloss = check()",
        "with open('x') as file:\n    LOG.append(f())",
        "if f():\n    LOG.append(1)",
        "LOG.append(lambda: f())",
    ],
)
def test_an_experiment_with_an_answer_is_left_out(cell: str) -> None:
    assert executed("LOG = []", "def f(): return 1", cell)["LOG"] == []


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1 / 0",
        "import nowhere_to_be_found",
        "%matplotlib inline\n!pip install x",
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "import sys\nsys.exit(1)",
        "raise KeyboardInterrupt",
        "class Odd(Exception):\n    def __str__(self): raise self\nraise Odd",
        "f = 3",
        "f = f() + 1",
        "del f",
        "assert f() == 2",
    ],
)
def test_a_demonstration_costs_no_answer(cell: str) -> None:
    assert value("K = 1\ndef f(): return K", cell) == 1


def test_a_failure_costs_what_reads_its_names_with_its_line() -> None:
    own = executed("T = 1 / 0\nU = T + 1", "def f(): return U + 1", "def g(): return 2")
    assert own["g"]() == 2
    with pytest.raises(
        NameError, match=r"U has no value: `U = T \+ 1` .* `T = 1 / 0` fails with Zero"
    ):
        own["f"]()


@pytest.mark.parametrize(
    "loop",
    ["while True:\n    K = 1", "for K in iter(int, 1):\n    pass"]
    + ["K = [0]\nwhile True:\n    K[0] = 1", "K = []\nwhile True:\n    K.append(K.clear())"],
)
def test_an_endless_loop_costs_only_what_reads_its_names(loop: str) -> None:
    source = f"{loop}\ndef f(): return K\ndef g(): return 2\nwhile True: pass\nwhile True: pass"
    own: dict[str, Any] = {}
    with Timer(idle=0.05, needed=0.2).installed() as timer:
        execute(source, "answers.py", own, ["f", "g"], timer)
    assert own["g"]() == 2
    with pytest.raises(StatementTimeout, match="longer than 0.2 s"):
        own["f"]().fail()


def test_a_statement_that_an_answer_needs_may_take_longer() -> None:
    source = "import time\nend = time.process_time() + 0.2\n"
    source += "while (K := time.process_time()) < end: pass\ndef f(): return K\n"
    own: dict[str, Any] = {}
    with Timer(idle=0.02, needed=10).installed() as timer:
        execute(source, "answers.py", own, ["f"], timer)
    assert own["f"]() >= own["end"]


def test_memory_that_a_statement_cannot_get_is_reported_so() -> None:
    own = executed("T = bytearray(1 << 60)", "def f(): return T[0]")
    with pytest.raises(MemoryError):
        own["f"]()


def test_an_earlier_statement_that_waited_does_not_override() -> None:
    assert value("K = later", "K = 2", "later = 1", "def f(): return K") == 2


def test_a_name_that_never_gets_a_value_raises_an_error() -> None:
    with pytest.raises(NameError, match="K has no value"):
        value("K = g()", "def g(): return L", "L = K", "def f(): return K + 1")


def test_a_statement_that_had_to_wait_is_executed_once() -> None:
    cells = ("T = []", "T.append(K)", "K = 1", "K = 2", "def f(): return T")
    assert value(*cells) == [1]


def test_a_broken_statement_costs_only_its_own_name() -> None:
    found = module("def g(a, a): pass\ndef f(): return 1", names=("f", "g"))
    assert list(found.broken) == ["g"]
    assert "duplicate argument" in found.broken["g"]
    assert "def f" in found.text


def test_two_imports_in_one_line_do_not_fail_together() -> None:
    assert value("import math, nothere\ndef f(): return math.floor(1.5)") == 1


@pytest.mark.parametrize(
    "answer", ["def f(): return 1", "f = lambda: 1", "def g(): return 1\nf = g"]
)
def test_an_untouched_stub_below_the_answer_does_not_count(answer: str) -> None:
    stub = 'def f():\n    """What it is."""\n    raise NotImplementedError'
    found = module(stub, answer, stub)
    assert value(stub, answer, stub) == 1
    assert any("copy of the stub: delete it" in note for note in found.notes)
    assert not module(stub, answer).notes


def test_a_stub_that_was_begun_below_the_answer_counts() -> None:
    with pytest.raises(NotImplementedError):
        value("def f(): return 1", "def f():\n    x = 2\n    raise NotImplementedError")


@pytest.mark.parametrize("magic", ["%%writefile answers.py", "%%script python", "%%html"])
def test_an_answer_in_a_cell_of_text_magic_is_reported(magic: str) -> None:
    hints = module("import torch", f"{magic}\ndef f(): return 1").hints
    assert magic.split()[0] in hints["f"]
    assert not module(f"{magic}\ndef f(): return 1", "%%time\ndef f(): return 2").hints


def test_stand_ins_reach_everything_made_with_their_names() -> None:
    source = """
from functools import partial
def _g(): return 1
g = _g
alias = g
T = {"g": g}
bound = partial(lambda one: one(), g)
class A:
    own = staticmethod(g)
def f(one=g): return g(), one(), alias(), _g(), T["g"](), bound(), A.own(), globals()["g"](), h()
def h(): return 1
"""
    own: dict[str, Any] = {"__name__": "answers"}
    stand_ins = {name: lambda own: lambda: 2 for name in ("g", "h")}
    execute(source, "answers.py", own, ["f", "g", "h"], stand_ins=stand_ins)
    assert own["f"]() == (2,) * 9


def test_a_stand_in_is_there_where_the_module_defines_nothing() -> None:
    own: dict[str, Any] = {}
    source = "g = 1 / 0\ndef f(): return g(), h()"
    execute(source, "answers.py", own, ["f"], stand_ins={n: lambda own: lambda: 2 for n in "gh"})
    assert own["f"]() == (2, 2)
